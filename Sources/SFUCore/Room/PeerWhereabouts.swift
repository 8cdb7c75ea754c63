public import RTCEngine
public import RTCWire

/// Where a connection is to be found, for who passes datagrams on to it.
public enum PeerWhereabouts: Sendable, Equatable {
    /// It has ended, by its peer's goodbye or ours: nothing that comes is its any more.
    case over
    /// It has no path yet.
    case unknown
    /// The address of the path that it uses, and when it was last heard there: by a check, or by media that nobody else
    /// can have protected.
    case heard(at: TransportAddress, Instant)
}
