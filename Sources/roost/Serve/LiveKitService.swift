internal import LiveKitServer
internal import SocketIO
internal import Synchronization

/// LiveKit's protocol beside the page: its paths on every port, and what LiveKit's own port answers besides.
final class LiveKitService: Sendable {
    let server: LiveKitServer
    /// Of each worker.
    let media: [MediaWorker.Ports]
    /// LiveKit's own port, once it is taken; set before anybody is served there.
    private let ownPort = Mutex<Int?>(nil)

    init(server: LiveKitServer, media: [MediaWorker.Ports]) {
        self.server = server
        self.media = media
    }

    var port: Int? {
        get { ownPort.withLock { $0 } }
        set { ownPort.withLock { $0 = newValue } }
    }

    /// Nil for what is not LiveKit's.
    func answer(_ request: SocketIOHTTPRequest) async -> SocketIOHTTPResponse? {
        // What LiveKit's server tells balancers, where the page would be.
        if request.path == "/", request.localPort == port { return .text("OK") }
        return await server.answer(request)
    }
}
