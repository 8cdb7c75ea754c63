internal import ChatCore
internal import Foundation

// What is read of the files of a Slack export, by https://slack.com/help/articles/220556107: names are Slack's, as
// `convertFromSnakeCase` makes them. All of it may be missing, but for what names a thing.

struct SlackUser: Decodable {
    struct Profile: Decodable {
        var displayName: String?
        var realName: String?
        var email: String?
    }

    var id: String
    var teamId: String?
    var name: String?
    var realName: String?
    var profile: Profile?
    var deleted: Bool?
    var isBot: Bool?
    var isPrimaryOwner: Bool?
    var isOwner: Bool?
    var isAdmin: Bool?
    var isRestricted: Bool?
    var isUltraRestricted: Bool?
}

/// Of `channels.json`, `groups.json`, `dms.json` or `mpims.json`.
struct SlackChannel: Decodable {
    struct Note: Decodable { var value: String? }

    var id: String
    var name: String?
    /// Seconds since 1970.
    var created: Int64?
    var creator: String?
    var isArchived: Bool?
    var members: [String]?
    var topic: Note?
    var purpose: Note?
}

struct SlackMessage: Decodable {
    struct Edit: Decodable { var ts: String? }
    struct Reaction: Decodable {
        var name: String
        var users: [String]?
    }
    struct File: Decodable {
        var name: String?
        var title: String?
        var permalink: String?
        var urlPrivate: String?
    }
    struct Attachment: Decodable {
        var title: String?
        var text: String?
        var fallback: String?
    }
    struct Profile: Decodable {
        var name: String?
        var realName: String?
        var displayName: String?
    }

    /// Seconds since 1970 with six digits of a fraction: names a message within its channel.
    var ts: String
    var threadTs: String?
    var subtype: String?
    var user: String?
    var username: String?
    var text: String?
    var edited: Edit?
    var reactions: [Reaction]?
    var pinnedTo: [String]?
    var files: [File]?
    var attachments: [Attachment]?
    var userProfile: Profile?
    var botProfile: Profile?
    var replyCount: Int?
}

/// The folder of an unpacked archive. What its names and links lead to outside of it is refused.
struct SlackFolder {
    let url: URL

    /// A file's records are not larger than that.
    private static let largest = 512 << 20

    /// Elements of a list that are of another kind than expected are passed over.
    private struct Lossy<Element: Decodable>: Decodable {
        let element: Element?

        init(from decoder: any Decoder) throws { element = try? Element(from: decoder) }
    }

    /// The list in a file; nil where there is none.
    func list<Element: Decodable>(_ path: String..., of type: Element.Type) throws(ImportFault) -> [Element]? {
        var file = url
        for (index, name) in path.enumerated() {
            try Self.check(name)
            file.append(path: name)
            guard let kind = Self.kind(of: file) else { return nil }
            guard kind == (index < path.count - 1 ? .typeDirectory : .typeRegular) else {
                throw .refused("The archive has something at '\(name)' that is no part of an export of Slack's.")
            }
        }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
            guard let size, size <= Self.largest else { throw ImportFault.unreadable("it is too large") }
            return try decoder.decode([Lossy<Element>].self, from: try Data(contentsOf: file)).compactMap(\.element)
        } catch let fault as ImportFault {
            throw .at(path.joined(separator: "/"), fault)
        } catch {
            throw .at(path.joined(separator: "/"), .unreadable("it is no list of JSON"))
        }
    }

    /// The names of a channel's files, one for each day.
    func days(of folder: String) throws(ImportFault) -> [String] {
        try Self.check(folder)
        let directory = url.appending(path: folder)
        guard let kind = Self.kind(of: directory) else { return [] }
        guard kind == .typeDirectory else {
            throw .refused("The archive has something at '\(folder)' that is no part of an export of Slack's.")
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.filter { name in
            name.utf8.count == 15 && name.hasSuffix(".json")
                && name.utf8.prefix(10).allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
        }.sorted()
    }

    func size(of path: String) -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: url.appending(path: path).path)
        return attributes?[.size] as? Int ?? 0
    }

    private static func check(_ name: String) throws(ImportFault) {
        guard !name.isEmpty, name != ".", name != "..", !name.contains("/"), !name.utf8.contains(0) else {
            throw .refused("The archive names '\(name)', which would be outside of it.")
        }
    }

    /// Of what is there, and not of what a link leads to.
    private static func kind(of file: URL) -> FileAttributeType? {
        (try? FileManager.default.attributesOfItem(atPath: file.path))?[.type] as? FileAttributeType
    }
}
