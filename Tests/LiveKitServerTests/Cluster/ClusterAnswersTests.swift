import LiveKitProtocol
import Testing

@testable import LiveKitServer
@testable import SocketIO

/// Requests that go through to a cluster, with real sockets on loopback.
@Suite(.timeLimit(.minutes(2))) struct ClusterAnswersTests {
    private static func request(
        _ method: String, _ path: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) -> SocketIOHTTPRequest {
        SocketIOHTTPRequest(
            method: method, path: path, query: EngineIOQuery(""), headers: headers, body: body,
            remoteAddress: "127.0.0.1:1", localPort: 2)
    }

    @Test func `whoever looks at an endpoint or a session finds nothing, without the cluster`() async throws {
        let key = try #require(TestServer.key)
        // Nobody is there to be asked.
        let cluster = LiveKitCluster(
            LiveKitClusterConfiguration(
                server: try RemoteServer(url: "ws://127.0.0.1:9"), keys: APIKeys(key), signingKey: key))
        for path in ["/whip", "/whep/kitchen", "/whip/sessions/x", "/whip/v1/x"] {
            #expect(await cluster.answer(Self.request("GET", path))?.status == 204)
            #expect(await cluster.answer(Self.request("HEAD", path))?.status == 204)
            #expect(await cluster.answer(Self.request("PUT", path))?.status == 405)
        }
        #expect(cluster.statistics.refused.isEmpty && cluster.statistics.failed.isEmpty)
        await cluster.finish()
    }

    @Test func `an answer that is too large is said to be so, and the cluster can still be reached`() async throws {
        var options = SocketIOServerConfiguration()
        options.fallback = { request in
            let count = request.path == "/" ? 1 : HTTPRequester.Limits().responseBytes + 1
            return SocketIOHTTPResponse(body: .bytes([UInt8](repeating: 120, count: count)))
        }
        let server = SocketIOServer(configuration: options)
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        let key = try #require(TestServer.key)
        var configuration = LiveKitClusterConfiguration(
            server: try RemoteServer(url: "ws://127.0.0.1:\(port)"), keys: APIKeys(key), signingKey: key)
        configuration.checkTimeout = .seconds(60)
        let cluster = LiveKitCluster(configuration)
        await cluster.start()
        let type = (name: "Content-Type", value: "application/json")
        let service = [(name: "Authorization", value: "Bearer \(try TestServer.serviceToken { $0.roomList = true })"), type]
        let listed = await cluster.answer(
            Self.request(
                "POST", "/twirp/livekit.RoomService/ListRooms", headers: service, body: Array("{}".utf8)))
        #expect(listed?.text == TwirpError(.internal, "The cluster's answer is too large.").response.text)
        #expect(listed?.status == 500)
        let person = [(name: "Authorization", value: "Bearer \(try TestServer.token())")]
        let validated = await cluster.answer(Self.request("GET", "/rtc/validate", headers: person))
        #expect(validated?.status == 502 && validated?.text.hasPrefix("The cluster's answer is too large.") == true)
        #expect(cluster.statistics.isReachable && cluster.statistics.failed == [.service: 1, .validation: 1])
        cluster.stop()
        await cluster.finish()
        await server.shutdown()
    }

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
            Self.request(
                "POST", "/twirp/livekit.RoomService/PerformRpc",
                headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")],
                body: Array("{}".utf8)))
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
