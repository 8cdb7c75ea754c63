import LiveKitProtocol
import Testing

@testable import LiveKitServer
@testable import SocketIO

/// Requests that go through to a cluster, with real sockets on loopback.
@Suite(.timeLimit(.minutes(2))) struct ClusterAnswersTests {
    @Test func `a service that is answered too late is told so, and the cluster can still be reached`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        var options = SocketIOServerConfiguration()
        options.fallback = { request in
            if request.path.hasPrefix("/twirp/") { for await _ in held {} }
            return .text("here\n")
        }
        let server = SocketIOServer(configuration: options)
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        let key = try #require(TestServer.key)
        var configuration = LiveKitClusterConfiguration(
            server: try RemoteServer(url: "ws://127.0.0.1:\(port)"), keys: APIKeys(key), signingKey: key)
        // `PerformRpc` may wait for ten minutes.
        #expect(configuration.rpcTimeout > .seconds(600))
        configuration.rpcTimeout = .milliseconds(100)
        configuration.checkTimeout = .seconds(60)
        let cluster = LiveKitCluster(configuration)
        await cluster.start()
        #expect(cluster.statistics.isReachable)
        let token = try TestServer.serviceToken { $0.roomAdmin = true }
        let answer = await cluster.answer(
            SocketIOHTTPRequest(
                method: "POST", path: "/twirp/livekit.RoomService/PerformRpc", query: EngineIOQuery(""),
                headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")],
                body: Array("{}".utf8), remoteAddress: "127.0.0.1:1", localPort: 2))
        let error = TwirpError(.deadlineExceeded, "The cluster has not answered in time.")
        #expect(answer?.status == 408 && answer?.text == error.response.text)
        #expect(cluster.statistics.isReachable && cluster.statistics.failed == [.service: 1])
        release.finish()
        cluster.stop()
        await cluster.finish()
        await server.shutdown()
    }
}

extension SocketIOHTTPResponse {
    fileprivate var text: String {
        guard case .bytes(let bytes) = body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
