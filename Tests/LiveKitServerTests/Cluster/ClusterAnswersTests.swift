import Foundation
import LiveKitProtocol
import Logging
import SwiftProtobuf
import Synchronization
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

    /// Of a cluster that nobody is there of.
    private static func cluster() throws -> LiveKitCluster {
        let key = try #require(TestServer.key)
        return LiveKitCluster(
            LiveKitClusterConfiguration(
                server: try RemoteServer(url: "ws://127.0.0.1:9"), keys: APIKeys(key), signingKey: key))
    }

    @Test func `an event of the cluster's may be large, and what anybody else posts there may not`() async throws {
        let cluster = try Self.cluster()
        func limit(_ authorization: String, _ path: String = LiveKitCluster.webhookPath) -> Int? {
            cluster.bodyLimit(of: Self.request("POST", path, headers: [("Authorization", authorization)]))
        }
        let key = try #require(TestServer.key)
        let stranger = try APIKey("test", secret: "another secret that is as long as the first one")
        let event = try SignedWebhook(body: [1], key: key, at: Date()).authorization
        #expect(limit(event) == 10 << 20 && limit(event, "/whip") == nil)
        let forged = try SignedWebhook(body: [1], key: stranger, at: Date()).authorization
        let service = try TestServer.serviceToken { $0.roomAdmin = true }
        for other in [forged, try TestServer.token(), service, "Bearer \(service)", ""] {
            #expect(limit(other) == nil)
        }
        await cluster.finish()
    }

    @Test func `whoever looks at an endpoint or a session finds nothing, without the cluster`() async throws {
        let cluster = try Self.cluster()
        for path in ["/whip", "//whip", "/whep/kitchen", "/whip/sessions/x", "/whip/v1/x"] {
            #expect(await cluster.answer(Self.request("GET", path))?.status == 204)
            #expect(await cluster.answer(Self.request("HEAD", path))?.status == 204)
            #expect(await cluster.answer(Self.request("PUT", path))?.status == 405)
        }
        #expect(await cluster.answer(Self.request("POST", "/whip/%zz"))?.status == 400)
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
        let token = try TestServer.serviceToken { $0.roomList = true }
        let service = [
            (name: "Authorization", value: "Bearer \(token)"), (name: "Content-Type", value: "application/json"),
        ]
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

    private final class Removals: Sendable {
        let identities = Mutex<[String]>([])
        /// So often the cluster does not say who is there.
        let failures: Mutex<Int>

        init(failures: Int) { self.failures = Mutex(failures) }
    }

    @Test(arguments: [0, 1, 2])
    func `whoever is taken out of a room is, with all that are there under their name`(failures: Int) async throws {
        let removals = Removals(failures: failures)
        let log = Log()
        var options = SocketIOServerConfiguration()
        options.fallback = { request in
            switch request.path {
            case "/twirp/livekit.RoomService/RemoveParticipant":
                let one = try? LiveKitRoomParticipantIdentity(serializedBytes: request.body)
                guard let one, one.room == "call" else { return .text("", status: 400) }
                removals.identities.withLock { $0.append(one.identity) }
                return SocketIOHTTPResponse(body: .bytes([]))
            case "/twirp/livekit.RoomService/ListParticipants":
                let isAway = removals.failures.withLock { left in
                    left -= 1
                    return left >= 0
                }
                guard !isAway else { return .text("", status: 503) }
                let list = LiveKitListParticipantsResponse.with {
                    $0.participants = ["ann", "bob", "ann#slides", "annette", "ann#screen"].map { identity in
                        LiveKitParticipantInfo.with { $0.identity = identity }
                    }
                }
                let body: [UInt8] = (try? list.serializedBytes()) ?? []
                return SocketIOHTTPResponse(body: .bytes(body))
            default: return .text("", status: 404)
            }
        }
        let server = SocketIOServer(configuration: options)
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        let key = try #require(TestServer.key)
        let cluster = LiveKitCluster(
            LiveKitClusterConfiguration(
                server: try RemoteServer(url: "ws://127.0.0.1:\(port)"), keys: APIKeys(key), signingKey: key),
            logger: Logger(label: "test") { _ in log })
        await cluster.removeParticipant("ann", from: "call") { $0.split(separator: "#").first == "ann" }
        let removed = removals.identities.withLock { $0 }
        // It is asked once more.
        let isKnown = failures < 2
        #expect(removed == (isKnown ? ["ann", "ann#screen", "ann#slides"] : ["ann"]))
        #expect(log.lines.count == (isKnown ? 0 : 1))
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
