/// What is known about a client that wants to join a namespace.
public struct SocketIOHandshake: Sendable {
    /// The namespace, as `/` or `/admin`.
    public var namespace: String
    /// The query of the connection's first request, where `connectParams` puts its values; what a client wrote
    /// behind the namespace's name (`/admin?token=…`) comes first.
    public var query: EngineIOQuery
    /// The object that the client sent with CONNECT.
    public var auth: RawJSON?
    /// The headers of the connection's first request.
    public var headers: [(name: String, value: String)]
    /// The client's address, as `127.0.0.1:5000`.
    public var remoteAddress: String
    /// What the connection began with.
    public var transport: EngineIOTransport

    public init(
        namespace: String, query: EngineIOQuery = EngineIOQuery(items: []), auth: RawJSON? = nil,
        headers: [(name: String, value: String)] = [], remoteAddress: String = "",
        transport: EngineIOTransport = .webSocket
    ) {
        self.namespace = namespace
        self.query = query
        self.auth = auth
        self.headers = headers
        self.remoteAddress = remoteAddress
        self.transport = transport
    }

    /// The first value of a header, whatever its case.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// The answer to a client that wants to join a namespace.
public enum SocketIOAdmission: Hashable, Sendable {
    /// Come in. `data`, if any, goes into the CONNECT reply beside `sid`, as `data`.
    case accept(data: RawJSON? = nil)
    /// Stay out: the client gets `connect_error` with this message and `data`.
    case refuse(message: String, data: RawJSON? = nil)
}
