/// Where a client's connection stands.
public enum SocketIOClientState: Hashable, Sendable {
    /// Not asked to connect, or disconnected for good.
    case disconnected(SocketIOClientDisconnectReason?)
    /// The first attempt is under way.
    case connecting
    /// In the namespace, under this id.
    case connected(id: String)
    /// Lost; the next attempt (counted from 1) begins after the wait.
    case reconnecting(attempt: Int, wait: Duration, because: SocketIOClientDisconnectReason)
}

/// What `SocketIOClient.happenings` tells.
public enum SocketIOClientHappening: Sendable {
    /// The connection's state has changed.
    case state(SocketIOClientState)
    /// The server sent an event.
    case event(SocketIOEvent)
}

/// Why a client is not connected (any more).
public enum SocketIOClientDisconnectReason: Error, Hashable, Sendable {
    /// `disconnect` was called.
    case local
    /// The server took us out of the namespace. It would do so again: there is no reconnection.
    case serverDisconnected
    /// The server refused the namespace, with its message and data. There is no reconnection.
    case refused(message: String, data: RawJSON?)
    /// The connection was closed.
    case transportClosed
    /// The connection could not be made, or failed.
    case transportFailed(String)
    /// The server refused the transport with an HTTP status.
    case serverRefused(status: Int, message: String)
    /// The server did not ping in time.
    case heartbeatMissed
    /// Nobody joined us to the namespace in time.
    case timedOut
    /// The server sent something that is not the protocol.
    case protocolError(String)
    /// A reader of `events()` did not keep up.
    case readerTooSlow

    /// One sentence for a person.
    public var sentence: String {
        switch self {
        case .local: "The connection was closed on request."
        case .serverDisconnected: "The server ended the connection."
        case .refused(let message, _): "The server refused to let us in: \(message)."
        case .transportClosed: "The connection to the server was lost."
        case .transportFailed(let text): "The server cannot be reached: \(text)."
        case .serverRefused(let status, let message): "The server answered \(status): \(message)."
        case .heartbeatMissed: "The server has not been heard of for too long."
        case .timedOut: "The server did not answer in time."
        case .protocolError(let text): "The server does not speak Socket.IO as expected: \(text)."
        case .readerTooSlow: "Events came faster than they were taken."
        }
    }

    /// Whether trying again may help.
    public var mayReconnect: Bool {
        switch self {
        case .local, .serverDisconnected, .refused, .readerTooSlow: false
        case .transportClosed, .transportFailed, .serverRefused, .heartbeatMissed, .timedOut, .protocolError: true
        }
    }

    init(_ reason: EngineIOClientCloseReason) {
        switch reason {
        case .local: self = .local
        case .serverClosed: self = .transportClosed
        case .transportFailed(let text): self = .transportFailed(text)
        case .heartbeatMissed: self = .heartbeatMissed
        case .protocolError(let text): self = .protocolError(text)
        case .refused(let status, let message): self = .serverRefused(status: status, message: message)
        }
    }
}

/// Why a call to a `SocketIOClient` failed.
public enum SocketIOClientError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not `http`, `https`, `ws` or `wss`, or no host.
    case invalidURL(String)
    /// The connection could not be made, or ended while we waited.
    case disconnected(SocketIOClientDisconnectReason)
    /// No acknowledgement came in time.
    case acknowledgementTimedOut
    /// Too much waits for the connection already.
    case bufferFull

    public var description: String {
        switch self {
        case .invalidURL(let text) where !text.isEmpty && !text.contains("://"):
            "\(text) is not the URL of a server: did you mean http://\(text)?"
        case .invalidURL(let text): "\(text) is not the URL of a server: one looks like http://localhost:3000."
        case .disconnected(let reason): reason.sentence
        case .acknowledgementTimedOut: "The server did not acknowledge in time."
        case .bufferFull: "Too much waits to be sent."
        }
    }
}
