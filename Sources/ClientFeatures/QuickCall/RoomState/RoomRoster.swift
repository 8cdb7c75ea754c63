internal import ClientKit

/// Whether somebody to call is in the room.
public enum PeerPresence: Hashable, Sendable {
    /// Not connected, or connected to a server that tells a newcomer nothing: somebody may be there.
    case unknown
    /// Nobody.
    case absent
    /// Somebody; the name is unknown for a caller of whom only the offer came.
    case present(name: String?)

    /// The name, where there is one.
    public var name: String? {
        switch self {
        case .present(let name): name
        case .unknown, .absent: nil
        }
    }
}

/// Who is in the room, as far as the server's announcements tell.
struct RoomRoster: Hashable, Sendable {
    /// What the announcements are worth.
    private enum Knowledge: Hashable {
        /// Whoever was there before us may be missing.
        case partial
        case complete
    }

    /// One entry a connection. A name can stand here twice for a moment: somebody whose connection broke joins again
    /// before the server notices the break, and the old connection's leaving must not remove the new one.
    private(set) var entries: [CallParticipant] = []
    private var knowledge = Knowledge.partial
    private var hasUnnamedPartner = false

    /// More than a call room ever holds; a server that announces without end costs no memory.
    private static let limit = 1_000

    mutating func listed(_ participants: [CallParticipant]) {
        entries = Array(participants.prefix(RoomRoster.limit))
        knowledge = .complete
    }

    mutating func joined(_ participant: CallParticipant) {
        guard entries.count < RoomRoster.limit else { return }
        entries.append(participant)
    }

    /// Returns who left; nil for somebody of whom nothing was known.
    mutating func left(_ username: String, partnerRole: CallRole) -> CallParticipant? {
        guard let index = entries.firstIndex(where: { $0.username == username }) else {
            hasUnnamedPartner = false
            return nil
        }
        let entry = entries.remove(at: index)
        if entry.role == partnerRole {
            // Seen coming and going: from now on an empty room is known to be empty.
            knowledge = .complete
            hasUnnamedPartner = false
        }
        return entry
    }

    /// An offer came, so a caller is there.
    mutating func offered() {
        hasUnnamedPartner = true
    }

    /// Whether the server has told of everybody who is there.
    var isComplete: Bool { knowledge == .complete }

    func names(of role: CallRole) -> [String] {
        entries.filter { $0.role == role }.map(\.username)
    }

    func contains(_ username: String, role: CallRole) -> Bool {
        entries.contains(CallParticipant(username: username, role: role))
    }

    /// Whether somebody of this name is there, in whichever role.
    func contains(_ username: String) -> Bool {
        entries.contains { $0.username == username }
    }

    /// Whether somebody with the role is there.
    func presence(of role: CallRole) -> PeerPresence {
        if let name = names(of: role).first { return .present(name: name) }
        if hasUnnamedPartner { return .present(name: nil) }
        switch knowledge {
        case .partial: return .unknown
        case .complete: return .absent
        }
    }
}
