public import RTCEngine
public import RTCWire

/// At which address a peer is reached, for the owner of the sockets, which hands datagrams to it.
public enum PeerPath: Sendable, Equatable {
    /// The connection has ended, by the peer's goodbye or ours: no datagram belongs to it any more.
    case over
    /// The connection has no path yet.
    case unknown
    /// The peer's address on the path in use, and when the peer was last heard there: by an ICE check, or by SRTP
    /// packets that only this peer can have protected.
    case heard(at: TransportAddress, Instant)
}
