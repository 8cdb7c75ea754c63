internal import ClientKit

/// Who in the room the call is with, and so whose leaving ends it. The protocol's messages do not say who sent them;
/// what is known comes from the room's list and, with our own clients, from their descriptions.
struct CallPartner: Hashable, Sendable {
    private enum Knowledge: Hashable {
        /// Nobody has called or answered yet: it can become anybody of the opposite role, or only whom we call.
        case open(calling: String?)
        /// One of those who were there when somebody called or answered; nobody of them: somebody whom the server never
        /// announced.
        case among(Set<String>)
        /// They said so themselves.
        case named(String)
    }

    private var knowledge: Knowledge

    /// - Parameter callee: whom we call, by name; nil when whoever is there may answer.
    init(calling callee: String? = nil) {
        knowledge = .open(calling: callee)
    }

    /// Their name, as far as it is certain.
    var name: String? {
        switch knowledge {
        case .open: nil
        case .among(let names): names.count == 1 ? names.first : nil
        case .named(let name): name
        }
    }

    /// Whether somebody has called or answered.
    var isSettled: Bool {
        switch knowledge {
        case .open: false
        case .among, .named: true
        }
    }

    /// Somebody's offer or answer was taken.
    ///
    /// - Parameters:
    ///   - name: what they call themselves; nil from clients that do not say it.
    ///   - present: everybody of the opposite role at this moment.
    mutating func settle(name: String?, present: [String]) {
        knowledge = name.map { .named($0) } ?? .among(Set(present))
    }

    /// Somebody left. Returns whether that ends the call; where several could be the partner, their media tells.
    ///
    /// - Parameters:
    ///   - before: the room's list before they left.
    ///   - after: the list now.
    ///   - role: our own role.
    mutating func left(_ username: String, before: RoomRoster, after: RoomRoster, as role: CallRole) -> Bool {
        // An old connection of somebody who is back already.
        if after.contains(username, role: role.opposite) { return false }
        switch knowledge {
        case .open(let callee?):
            return callee == username
        case .open(nil):
            guard after.names(of: role.opposite).isEmpty else { return false }
            // Nobody known to have our own role can become the partner; anybody else can.
            return !before.contains(username, role: role)
        case .among(let names) where names.isEmpty:
            // Whoever was announced is somebody else.
            return !before.contains(username)
        case .among(let names):
            guard names.contains(username) else { return false }
            let rest = names.filter { $0 != username }
            if rest.isEmpty { return true }
            knowledge = .among(rest)
            return false
        case .named(let name):
            return name == username
        }
    }
}
