package import ChatModel

/// How far an import has come: what the lines that follow can name. It goes from one transaction to the next.
package struct ImportProgress: Sendable {
    /// Somebody as the file calls them, and as this server does.
    struct Person: Sendable {
        let id: UserID
        let formerName: String
        let name: String
    }

    /// What the workspace's address is to be; nil for what the file says.
    package let slug: String?
    /// Takes accounts for the people of the file although nobody has confirmed their addresses.
    package let trustsAddresses: Bool
    /// Nil before the first line.
    var source: String?
    package internal(set) var workspace: WorkspaceID?
    var people: [String: Person] = [:]
    /// Those who had been put out over there, and have an account here that is in use.
    var gone: Set<String> = []
    var channels: [String: ChannelID] = [:]
    /// Kept until the last line: before it nobody is to see a half of the workspace.
    var members: [(user: UserID, role: Role, joinedAt: Timestamp)] = []
    var messages = 0
    /// What is new on this server.
    package internal(set) var added = Counts()
    /// The last line has come, now or in an import before.
    package internal(set) var isComplete = false

    package struct Counts: Sendable, Equatable {
        package internal(set) var accounts = 0
        package internal(set) var channels = 0
        package internal(set) var messages = 0

        init() {}
    }

    package init(slug: String?, trustsAddresses: Bool) {
        self.slug = slug
        self.trustsAddresses = trustsAddresses
    }

    func person(_ key: String) throws -> UserID {
        guard let person = people[key] else { throw ImportFault.unknown("user") }
        return person.id
    }

    func channel(_ key: String) throws -> ChannelID {
        guard let channel = channels[key] else { throw ImportFault.unknown("channel") }
        return channel
    }

    func place() throws -> (source: String, workspace: WorkspaceID) {
        guard let source, let workspace else { throw ImportFault.order }
        return (source, workspace)
    }
}

/// Why a file is not imported, or not to its end. What came before stays, and importing the file again goes on there.
package enum ImportFault: Error, Equatable, CustomStringConvertible {
    case newer(version: Int)
    /// Nothing can be before the lines that begin a file.
    case order
    /// It names something that was not before it.
    case unknown(String)
    case unconfirmedAddress(username: String)
    case brokenOff
    /// What cannot be read, and where.
    case unreadable(String)
    indirect case at(String, ImportFault)
    case refused(String)

    package var description: String {
        switch self {
        case .newer(let version):
            "This export is of version \(version), which a newer Roost reads: at most \(ExportHeader.currentVersion)."
        case .order: "This is no export of a workspace, or its beginning is missing."
        case .unknown(let what): "It names a \(what) that is not before it."
        case .unconfirmedAddress(let username):
            "The account '\(username)' has an address of the file, and nobody has confirmed it: whoever made the "
                + "account would read what the file has of its owner. With --trust-addresses it is taken all the same."
        case .brokenOff: "The file breaks off. What is in it is kept for when the whole of it is imported."
        case .unreadable(let what): "It cannot be read: \(what)."
        case .at(let place, let fault): "\(place): \(fault.description)"
        case .refused(let sentence): sentence
        }
    }
}
