/// The state of ICE and DTLS together (W3C WebRTC §4.3.3).
public enum PeerConnectionState: String, Sendable, Hashable {
    case new, connecting, connected, disconnected, failed, closed
}

/// The state of the DTLS association (W3C WebRTC §5.5.1).
public enum DTLSTransportState: String, Sendable, Hashable {
    case new, connecting, connected, closed, failed
}
