/// Which side of a call somebody takes. The caller makes the offer; the callee waits for it.
public enum CallRole: String, Hashable, Sendable, Codable {
    case caller
    case callee

    /// The role for the wire's `isCaller`.
    public init(isCaller: Bool) {
        self = isCaller ? .caller : .callee
    }

    /// The wire's `isCaller`.
    public var isCaller: Bool {
        self == .caller
    }

    /// The role that a partner must have for a call to be possible.
    public var opposite: CallRole {
        switch self {
        case .caller: .callee
        case .callee: .caller
        }
    }
}

/// The number of a call room.
public struct CallRoomID: Hashable, Sendable, CustomStringConvertible {
    /// The whole numbers that survive a JavaScript server unchanged (±(2⁵³ − 1)).
    public static let range = -9_007_199_254_740_991...9_007_199_254_740_991

    /// The number as it stands on the wire.
    public let number: Int

    /// Nil for a number that a JavaScript server could not represent.
    public init?(_ number: Int) {
        guard CallRoomID.range.contains(number) else { return nil }
        self.number = number
    }

    public var description: String {
        String(number)
    }
}

/// Somebody in a call room, as the signaling server announces them.
public struct CallParticipant: Hashable, Sendable {
    /// What they are called.
    public var username: String
    /// Which side of a call they take.
    public var role: CallRole

    public init(username: String, role: CallRole) {
        self.username = username
        self.role = role
    }
}

/// What a client tells the signaling server about itself when it connects.
public struct CallIdentity: Hashable, Sendable {
    /// What the others are shown.
    public var username: String
    /// The room to join.
    public var room: CallRoomID
    /// Which side of a call we take.
    public var role: CallRole

    public init(username: String, room: CallRoomID, role: CallRole) {
        self.username = username
        self.room = room
        self.role = role
    }
}
