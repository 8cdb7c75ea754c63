/// Which packets leave first when they have to wait.
public enum PacketPriority: UInt8, Sendable, Hashable, CaseIterable {
    /// Never waits: it is small, and heard at once when it is late.
    case audio
    /// The receiver has waited a round trip for it already.
    case retransmission
    case video
    /// Leaves only where there is nothing else.
    case padding
}
