/// An HTTP request outside the Socket.IO path.
public struct SocketIOHTTPRequest: Sendable {
    /// As `GET`.
    public var method: String
    /// The path without the query, percent encoded as it came.
    public var path: String
    /// The query's items.
    public var query: EngineIOQuery
    /// Names and values in the order they came.
    public var headers: [(name: String, value: String)]
    /// At most as many bytes as `SocketIOServerConfiguration.fallbackBodyLimit` says, or `fallbackBodyLimitOf`.
    public var body: [UInt8]
    /// The client's address, as `127.0.0.1:5000`.
    public var remoteAddress: String
    /// The port of ours that it came to.
    public var localPort: Int

    /// The first value of a header, whatever its case.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// What `SocketIOServerConfiguration.fallback` answers. `Content-Length` is added.
public struct SocketIOHTTPResponse: Sendable {
    /// Where the body comes from.
    public enum Body: Sendable {
        case bytes([UInt8])
        /// A file that is streamed; 404 if it cannot be opened.
        case file(path: String)
        /// Chunks that have `length` bytes together. Each is asked for when the one before has left, so that a client
        /// that reads slowly fills no memory; where they fail or end too early the connection is broken, for nothing
        /// else can tell the client any more. Of an answer to HEAD none is asked for.
        case chunks(any AsyncSequence<[UInt8], any Error> & Sendable, length: Int)
    }

    /// As 200.
    public var status: Int
    /// Names and values, written in this order.
    public var headers: [(name: String, value: String)]
    /// What follows the headers.
    public var body: Body

    public init(status: Int = 200, headers: [(name: String, value: String)] = [], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A text.
    public static func text(_ text: String, status: Int = 200, contentType: String = "text/plain; charset=utf-8")
        -> SocketIOHTTPResponse
    {
        SocketIOHTTPResponse(
            status: status, headers: [("Content-Type", contentType)], body: .bytes(Array(text.utf8)))
    }
}
