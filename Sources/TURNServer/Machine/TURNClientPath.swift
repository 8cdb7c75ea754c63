public import RTCWire

/// How a client talks to the server: the 5-tuple of RFC 8656 §3, by which an allocation is known.
public struct TURNClientPath: Hashable, Sendable {
    public enum Transport: UInt8, Hashable, Sendable {
        case udp, tcp, tls
    }

    public let transport: Transport
    /// The owner's number for the socket: of a listening one for UDP, of the connection otherwise. Numbers are not used
    /// again while the server runs.
    public let socket: Int
    /// Where the client is seen.
    public let remote: TransportAddress

    public init(_ transport: Transport, socket: Int, remote: TransportAddress) {
        self.transport = transport
        self.socket = socket
        self.remote = remote
    }
}

/// Names a relayed address. Places are small numbers that are used again, so that owners keep sockets in an array; with
/// the generation a name is unique.
public struct TURNRelayID: Hashable, Sendable {
    public let place: Int
    public let generation: UInt32

    /// Both addresses of an allocation live in its slot.
    init(slot: Int, generation: UInt32, family: TURNAddressFamily) {
        place = slot * 2 + (family == .ipv6 ? 1 : 0)
        self.generation = generation
    }

    var slot: Int { place / 2 }
    var family: TURNAddressFamily { place & 1 == 1 ? .ipv6 : .ipv4 }
}
