internal import LiveKitProtocol
internal import LiveKitServer
internal import SocketIO
internal import Synchronization

/// LiveKit's protocol beside the page: its paths on every port, and what LiveKit's own port answers besides.
final class LiveKitService: Sendable {
    /// Who has the rooms.
    enum Rooms: Sendable {
        /// This process, with the ports for media of each worker.
        case embedded(LiveKitServer, media: [MediaWorker.Ports])
        /// Somebody else, whom we ask.
        case cluster(LiveKitCluster, url: String)
    }

    let rooms: Rooms
    /// Signs the tokens of the page's rooms; nil where it has none.
    let pageKey: APIKey?
    /// Signs the tokens of calls, and what we ask of a cluster ourselves.
    let signingKey: APIKey
    /// Whether anybody else has a key: without one LiveKit's own port would serve nobody.
    let servesOthers: Bool
    /// LiveKit's own port, once it is taken; set before anybody is served there.
    private let ownPort = Mutex<Int?>(nil)

    init(_ rooms: Rooms, pageKey: APIKey?, signingKey: APIKey, servesOthers: Bool) {
        self.rooms = rooms
        self.pageKey = pageKey
        self.signingKey = signingKey
        self.servesOthers = servesOthers
    }

    var port: Int? {
        get { ownPort.withLock { $0 } }
        set { ownPort.withLock { $0 = newValue } }
    }

    /// Nil for what is not LiveKit's.
    func answer(_ request: SocketIOHTTPRequest) async -> SocketIOHTTPResponse? {
        // What LiveKit's server tells balancers, where the page would be; and its JavaScript SDK, from pages of
        // anywhere, which looks here whether the network is back.
        if request.path == "/", request.localPort == port {
            var response = SocketIOHTTPResponse.text("OK")
            response.headers.append(("Access-Control-Allow-Origin", "*"))
            return response
        }
        switch rooms {
        case .embedded(let server, _): return await server.answer(request)
        case .cluster(let cluster, _): return await cluster.answer(request)
        }
    }

    func webSocket(_ request: SocketIOHTTPRequest) async -> WebSocketAnswer? {
        switch rooms {
        case .embedded(let server, _): await server.webSocket(request)
        case .cluster(let cluster, _): await cluster.webSocket(request)
        }
    }

    func bodyLimit(of request: SocketIOHTTPRequest) -> Int? {
        switch rooms {
        case .embedded(let server, _): server.bodyLimit(of: request)
        case .cluster(let cluster, _): cluster.bodyLimit(of: request)
        }
    }

    /// What a request is answered with whose body is too large; nil for what is not LiveKit's.
    func tooLarge(_ request: SocketIOHTTPRequest) -> SocketIOHTTPResponse? { LiveKitServer.tooLarge(request) }

    var metrics: String {
        switch rooms {
        case .embedded(let server, _): Metrics.text(server)
        case .cluster(let cluster, _): Metrics.text(cluster)
        }
    }

    /// Takes no new rooms, and waits until nobody is left in those of this process; what a cluster has goes on.
    ///
    /// - Returns: how many are still there after that time.
    func drain(within time: Duration) async -> Int {
        switch rooms {
        case .embedded(let server, _): await server.drain(within: time)
        case .cluster: 0
        }
    }

    func stop() async {
        switch rooms {
        case .embedded(let server, _): await server.stop()
        case .cluster(let cluster, _): cluster.stop()
        }
    }

    /// After the HTTP server has ended.
    func finish() async {
        switch rooms {
        case .embedded(let server, _): await server.finish()
        case .cluster(let cluster, _): await cluster.finish()
        }
    }
}
