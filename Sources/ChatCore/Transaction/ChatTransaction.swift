package import ChatModel
internal import Foundation

/// One change of a server's chat, or one look at it: all of it happens, or nothing does.
///
/// Its extensions are everything that people can ask for, one file for each kind of thing. Each method reads who asks,
/// asks `Permission` whether they may, writes, and appends what has changed to the workspace's events. Neither clock
/// nor network is used: the time is given, and what comes back is what was asked for.
package final class ChatTransaction {
    package let session: any SQLSession
    package let now: Timestamp
    package let limits: Limits
    package let lifetimes: Lifetimes
    var random: any RandomNumberGenerator
    /// What who follows it is to look at, once all of it is written.
    package internal(set) var changes = ChatChanges()

    package init(
        _ session: any SQLSession, at now: Timestamp, limits: Limits = Limits(), lifetimes: Lifetimes = Lifetimes(),
        random: any RandomNumberGenerator = SystemRandomNumberGenerator()
    ) {
        self.session = session
        self.now = now
        self.limits = limits
        self.lifetimes = lifetimes
        self.random = random
    }

    /// RFC 9562 §5.7: 48 bits of the time in milliseconds, then what nobody can guess.
    ///
    /// - Parameter time: when it was made, what it names; nil for now.
    func makeID<Named>(at time: Timestamp? = nil) -> Identifier<Named> {
        let time = UInt64(truncatingIfNeeded: (time ?? now).milliseconds)
        let (high, low) = (random.next(), random.next())
        let bytes: [UInt8] = [
            UInt8(truncatingIfNeeded: time >> 40), UInt8(truncatingIfNeeded: time >> 32),
            UInt8(truncatingIfNeeded: time >> 24), UInt8(truncatingIfNeeded: time >> 16),
            UInt8(truncatingIfNeeded: time >> 8), UInt8(truncatingIfNeeded: time),
            0x70 | UInt8(truncatingIfNeeded: high >> 8) & 0x0f, UInt8(truncatingIfNeeded: high),
            0x80 | UInt8(truncatingIfNeeded: low >> 56) & 0x3f, UInt8(truncatingIfNeeded: low >> 48),
            UInt8(truncatingIfNeeded: low >> 40), UInt8(truncatingIfNeeded: low >> 32),
            UInt8(truncatingIfNeeded: low >> 24), UInt8(truncatingIfNeeded: low >> 16),
            UInt8(truncatingIfNeeded: low >> 8), UInt8(truncatingIfNeeded: low),
        ]
        return Identifier(
            UUID(
                uuid: (
                    bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9],
                    bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
                )))
    }

    /// Makes other writers of a workspace wait until this transaction ends: what is read afterwards stays true, and its
    /// events are numbered in the order in which they become visible. SQLite has one writer anyway.
    func lock(_ workspace: WorkspaceID) throws {
        guard session.dialect == .postgres else { return }
        _ = try session.row("SELECT sequence FROM workspaces WHERE id = $1 FOR UPDATE", .id(workspace))
    }

    /// The same of an account, for what changes it or hangs on it. Rows that only name it are written meanwhile.
    func lockUser(_ user: UserID) throws {
        guard session.dialect == .postgres else { return }
        _ = try session.row("SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE", .id(user))
    }
}

/// What a transaction has touched, for those who are connected.
package struct ChatChanges: Sendable, Equatable, Codable {
    /// Have new events.
    package var workspaces: Set<WorkspaceID> = []
    /// Have come into a workspace.
    package var arrivals: Set<UserID> = []
    /// Have fewer sessions than before.
    package var loggedOut: Set<UserID> = []
    /// Have read something.
    package var marks: [UserID: ReadMark] = [:]
    /// Have less unread than before, although they have read nothing of a channel: it was taken back, they are not to
    /// hear of it, or it was in a thread.
    package var relieved: Set<UserID> = []
    /// Have read a thread, or follow it now, or no longer.
    package var threadMarks: [UserID: ThreadMark] = [:]
    package var calls = CallEffects()
    /// Files have lost their place, and their bytes are to be taken away.
    package var hasLeftovers = false
    /// A workspace is deleted, and what it had is to be taken away.
    package var hasDeletedWorkspaces = false
    package var tally = ChangeTally()

    package init() {}

    /// A server of a version before, or after, does not name everything that this one knows.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func value<Value: Decodable>(_ key: CodingKeys, else missing: Value) throws -> Value {
            try values.decodeIfPresent(Value.self, forKey: key) ?? missing
        }
        workspaces = try value(.workspaces, else: [])
        arrivals = try value(.arrivals, else: [])
        loggedOut = try value(.loggedOut, else: [])
        marks = try value(.marks, else: [:])
        relieved = try value(.relieved, else: [])
        threadMarks = try value(.threadMarks, else: [:])
        calls = try value(.calls, else: CallEffects())
        hasLeftovers = try value(.hasLeftovers, else: false)
        hasDeletedWorkspaces = try value(.hasDeletedWorkspaces, else: false)
        tally = try value(.tally, else: ChangeTally())
    }

    /// What of it is for other servers: devices are told by one.
    package var forOthers: ChatChanges {
        var changes = self
        changes.calls.rings = [:]
        (changes.hasLeftovers, changes.hasDeletedWorkspaces) = (false, false)
        changes.tally = ChangeTally()
        return changes
    }

    package var isEmpty: Bool { self == ChatChanges() }
}

/// What a server remembers of itself.
extension ChatTransaction {
    /// A setting, which is this if there was none.
    package func setting(_ name: String, ifMissing value: String) throws -> String {
        try session.run(
            "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", .text(name), .text(value))
        guard var row = try session.row("SELECT value FROM settings WHERE name = $1", .text(name)) else {
            return value
        }
        return try row.text()
    }
}
