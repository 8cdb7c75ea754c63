/// Names a TCP or TLS connection to a TURN server. Each connection has a name of its own, also to the same server.
public struct RelayStreamID: Hashable, Sendable {
    public let rawValue: Int

    init(_ rawValue: Int) { self.rawValue = rawValue }
}

/// What the owner of a machine is to do about its streams; told by `PeerMachine.pollRelayCommand`.
public enum RelayCommand: Hashable, Sendable {
    /// Connect, with TLS if the server's transport says so, and report `relayStreamOpened` or `relayStreamClosed`.
    case open(RelayStreamID, TURNServer)
    /// Not needed any more. What was to be sent goes out first, as far as the system takes it at once.
    case close(RelayStreamID)
}
