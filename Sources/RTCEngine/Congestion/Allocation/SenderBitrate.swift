/// What one sender wants of the connection's bitrate.
public struct SenderBitrateLimits: Sendable, Hashable {
    /// How much of what is left it gets beside others (W3C: RTCPriorityType).
    public enum Priority: Sendable, Hashable, CaseIterable {
        case veryLow, low, medium, high

        /// RFC 8831 §6.4 and W3C webrtc-priority: each is twice the one before.
        var weight: Double {
            switch self {
            case .veryLow: 1
            case .low: 2
            case .medium: 4
            case .high: 8
            }
        }
    }

    /// Its weight where there is less than all senders can use.
    public var priority: Priority
    /// Below this it is of no use.
    public var minimum: Bitrate
    /// More than this it cannot use; nil: it can use any rate. Said, it is also probed for.
    public var maximum: Bitrate?

    public init(priority: Priority = .low, minimum: Bitrate = .zero, maximum: Bitrate? = nil) {
        self.priority = priority
        self.minimum = minimum
        self.maximum = maximum
    }

    /// Sound needs little, and needs it first.
    public static let audio = SenderBitrateLimits(
        priority: .high, minimum: .kilobits(16), maximum: .kilobits(64))
    /// From 30 kbit/s to whatever there is, with `Priority.low`.
    public static let video = SenderBitrateLimits(minimum: .kilobits(30))
}

/// What encoders should make together, and each of them (W3C has no name for it; browsers steer their encoders inside).
public struct TargetBitrate: Sendable, Hashable {
    /// One sender's part.
    public struct Share: Sendable, Hashable {
        /// Whose sender it is.
        public var transceiver: TransceiverID
        /// What its encoder should make, all layers together.
        public var bitrate: Bitrate
    }

    /// What the path is thought to carry, retransmissions included.
    public var available: Bitrate
    /// Of the transceivers that send, one each.
    public var shares: [Share]

    /// What the encoder of a transceiver should make; nil when it does not send.
    public subscript(transceiver: TransceiverID) -> Bitrate? {
        shares.first { $0.transceiver == transceiver }?.bitrate
    }
}
