/// Whoever speaks over a WebSocket outside the Socket.IO path (`SocketIOServerConfiguration.webSockets`). Called on the
/// loop of its connection, in order.
public protocol WebSocketPeer: AnyObject, Sendable {
    /// The handshake is done: what is sent from now on goes out.
    func webSocketOpened(_ socket: ServerWebSocket)
    /// A whole message; a text is valid UTF-8.
    func webSocketReceived(_ message: [UInt8], isText: Bool)
    /// The client closes, with this code and reason if it gave any; it is answered without our doing, and
    /// `webSocketClosed` follows.
    func webSocketSaidGoodbye(code: UInt16?, reason: String)
    /// It is over, by whoever's wish; also when the connection went before the handshake was done. Nothing follows.
    func webSocketClosed()
}

extension WebSocketPeer {
    public func webSocketSaidGoodbye(code: UInt16?, reason: String) {}
}

/// What becomes of a request to open a WebSocket.
public enum WebSocketAnswer: Sendable {
    case accepted(by: any WebSocketPeer, WebSocketTerms)
    case refused(SocketIOHTTPResponse)
}

/// The limits of one WebSocket.
public struct WebSocketTerms: Sendable {
    /// The largest message that is taken, in bytes.
    public var messageLimit: Int
    /// With more than this waiting to be sent beside the largest message, in bytes, the connection is dropped as slow.
    public var outboundLimit: Int
    /// How often it is pinged (RFC 6455 §5.5.2). Silent for three of them, it is closed.
    public var pingInterval: Duration
    /// How fast the client may send; faster, the connection is closed.
    public var flood: SocketIOServerConfiguration.FloodLimit

    public init(
        messageLimit: Int = 1_000_000, outboundLimit: Int = 4 * 1024 * 1024, pingInterval: Duration = .seconds(10),
        flood: SocketIOServerConfiguration.FloodLimit = .init()
    ) {
        self.flood = flood
        self.messageLimit = messageLimit
        self.outboundLimit = outboundLimit
        self.pingInterval = pingInterval
    }
}
