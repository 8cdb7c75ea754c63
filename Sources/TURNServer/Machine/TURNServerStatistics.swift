/// What a server has done since it was made. Counters, but for `allocations`.
public struct TURNServerStatistics: Sendable, Equatable {
    /// Why something was not relayed.
    public enum Drop: String, Sendable, Hashable, CaseIterable {
        /// No allocation, channel or permission, or one that has run out.
        case notPermitted = "not_permitted"
        /// An address that the server does not relay to.
        case forbidden
        /// More than its allocation's share.
        case tooMuch = "too_much"
        /// Of a stream, what is larger than a datagram that is relayed.
        case tooLarge = "too_large"
    }

    /// Those that exist now.
    public var allocations = 0
    public var allocationsMade = 0
    /// From clients, as peers got it.
    public var bytesToPeers = 0
    public var packetsToPeers = 0
    /// From peers, as clients got it, without what goes in front of it.
    public var bytesToClients = 0
    public var packetsToClients = 0
    /// Datagrams that were not relayed.
    public var drops: [Drop: Int] = [:]
    /// Datagrams that the system has dropped because those before them waited to be read.
    public var overrun = 0
    /// Requests that were refused, by the number of the error.
    public var errors: [UInt16: Int] = [:]
    /// Datagrams of strangers that got no answer because too many came from there.
    public var strangersIgnored = 0

    public init() {}
}
