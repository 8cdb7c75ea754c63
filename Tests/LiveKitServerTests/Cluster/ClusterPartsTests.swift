import Foundation
import LiveKitProtocol
import Logging
import Synchronization
import Testing

@testable import LiveKitServer
@testable import SocketIO

/// What decides what goes through to a cluster and comes back, without sockets.
@Suite struct ClusterPartsTests {
    // MARK: Rooms

    @Test(
        arguments: [
            (#"{"code":"not_found","msg":"requested room does not exist"}"#, true),
            (#"{"code":"bad_route","msg":"no handler for path"}"#, false), (#"{"msg":"not_found"}"#, false),
            ("<html>404 Not Found</html>", false), ("not_found", false), ("", false),
        ])
    func `nobody is in a room where Twirp says that there is none`(body: String, isNotFound: Bool) {
        #expect(LiveKitCluster.isNotFound(Array(body.utf8)) == isNotFound)
    }

    // MARK: Paths

    @Test(
        arguments: [
            ("/rtc", .signaling(path: "/rtc")), ("/rtc/v1", .signaling(path: "/rtc/v1")),
            ("/rtc/validate", .validation(path: "/rtc/validate")),
            ("/rtc/v1/validate", .validation(path: "/rtc/v1/validate")),
            (
                "/twirp/livekit.RoomService/ListRooms",
                .service(path: "/twirp/livekit.RoomService/ListRooms")
            ),
            ("/twirp/livekit.Egress/ListEgress", .service(path: "/twirp/livekit.Egress/ListEgress")),
            ("/whip", .exchange(.endpoint(.whip, room: ""), path: "/whip")),
            ("/whep/caf%C3%A9%2fb", .exchange(.endpoint(.whep, room: "café/b"), path: "/whep/caf%C3%A9%2Fb")),
            ("/whip/sessions/a-b_1", .exchange(.session(.whip, id: "a-b_1"), path: "/whip/sessions/a-b_1")),
            ("/whip/v1", .exchange(.endpoint(.whip, room: "", .liveKits), path: "/whip/v1")),
            ("/whip/v1/PA_x", .exchange(.session(.whip, id: "PA_x", .liveKits), path: "/whip/v1/PA_x")),
            ("/livekit/webhook", .event),
        ] as [(String, ClusterRoute)])
    func `what clients and services know goes on`(path: String, route: ClusterRoute) {
        #expect(ClusterRoute(path) == route)
    }

    @Test(
        arguments: [
            "/twirp/livekit.RoomService/..", "/twirp/livekit.RoomService/", "/twirp/livekit.RoomService",
            "/twirp/livekit./ListRooms", "/twirp/livekit../ListRooms", "/twirp/other.Service/List",
            "/twirp/livekit.RoomService/List/Rooms", "/twirp/livekit.RoomService/List%2e", "/twirp//",
        ])
    func `what is no method of LiveKit's does not`(path: String) {
        #expect(ClusterRoute(path) == .noMethod)
    }

    @Test(
        arguments: [
            "/", "/metrics", "/rtc/", "/rtc/../admin", "/whip/..", "/whip/%2e%2e", "/whip/.", "/whip/sessions/..",
            "/whip/sessions/%2e%2e", "/whip/sessions/a/b", "/whip/sessions/", "/whip/v1/", "/whip/v1/..",
            "/whip/a/b", "/livekit/webhook/",
        ])
    func `other paths are nobody's here`(path: String) {
        #expect(ClusterRoute(path) == nil)
    }

    // MARK: Headers

    private static func request(_ headers: [(name: String, value: String)]) -> SocketIOHTTPRequest {
        SocketIOHTTPRequest(
            method: "POST", path: "/whip", query: EngineIOQuery(""), headers: headers, body: [],
            remoteAddress: "127.0.0.1:1", localPort: 2)
    }

    @Test func `of a request's headers those go on that matter, with one token`() {
        let passed = PassedHeaders.request(
            Self.request([
                ("Host", "front"), ("authorization", "Bearer other"), ("content-type", "application/sdp"),
                ("Cookie", "a=b"), ("Connection", "X-Secret"), ("X-Secret", "1"), ("If-Match", "\"1\""),
                ("Content-Length", "7"), ("Transfer-Encoding", "chunked"), ("Upgrade", "websocket"),
                ("Via", "1.1 proxy"), ("X-Forwarded-For", "1.2.3.4"),
            ]), token: "t", via: "1.1 roost-1")
        #expect(
            passed.map { "\($0.name): \($0.value)" } == [
                "Content-Type: application/sdp", "If-Match: \"1\"", "Authorization: Bearer t",
                "Via: 1.1 proxy, 1.1 roost-1",
            ])
    }

    @Test func `of an answer's headers those come back that clients know`() throws {
        let server = try RemoteServer(url: "wss://cluster.example/lk/")
        let passed = PassedHeaders.response(
            [
                ("content-type", "application/sdp"), ("Location", "https://cluster.example/lk/whip/sessions/1"),
                ("ETag", "\"1\""), ("Link", "<turn:t>; rel=\"ice-server\""), ("Link", "<turn:u>; rel=\"ice-server\""),
                ("Set-Cookie", "a=b"), ("Server", "x"), ("Connection", "keep-alive"), ("Transfer-Encoding", "chunked"),
                ("Content-Length", "3"), ("Access-Control-Allow-Origin", "*"), ("Accept-Patch", "a/b"),
            ], of: server)
        #expect(
            passed.map { "\($0.name): \($0.value)" } == [
                "content-type: application/sdp", "Location: /whip/sessions/1", "ETag: \"1\"",
                "Link: <turn:t>; rel=\"ice-server\"", "Link: <turn:u>; rel=\"ice-server\"",
                "Access-Control-Allow-Origin: *", "Accept-Patch: a/b",
            ])
    }

    @Test(
        arguments: [
            ("/lk/whip/1", "/whip/1"), ("https://CLUSTER.example:443/lk/whip/1?a=b", "/whip/1?a=b"),
            ("https://other.example/lk/whip/1", nil), ("https://cluster.example/whip/1", nil), ("whip/1", nil),
            ("/lkwhip", nil), ("//evil/lk", nil),
        ] as [(String, String?)])
    func `a URL of the cluster's is one of ours`(url: String, path: String?) throws {
        #expect(try RemoteServer(url: "wss://cluster.example/lk").path(of: url) == path)
    }

    @Test func `targets are below the cluster's path, with what a query says escaped anew`() throws {
        let query = EngineIOQuery("a=b+c&d=%26%0d%0a")
        #expect(try RemoteServer(url: "ws://host/lk/").target("/rtc", query) == "/lk/rtc?a=b%20c&d=%26%0D%0A")
        #expect(try RemoteServer(url: "ws://host").target("/rtc", EngineIOQuery("")) == "/rtc")
    }

    @Test(arguments: ["host", "ftp://host", "ws://", "ws://a@host", "ws://host?a", "ws://host#a", "ws://host:0"])
    func `what is no URL of a cluster`(text: String) {
        #expect(throws: RemoteServerProblem.noURL(text)) { try RemoteServer(url: text) }
    }

    // MARK: What is on its way

    @Test func `a window is full at its limit, and open again at half of it`() {
        var window = RelayWindow()
        let half = RelayWindow.limit / 2
        // What passes, what is written, and whether it is told of; one more comes that had been read already.
        let steps: [(passed: Int, written: Int, isTold: Bool, isFull: Bool)] = [
            (2 * half - 1, 0, false, false), (1, 0, true, true), (100, 0, false, true), (0, half, false, true),
            (0, 100, true, false), (0, half, false, false),
        ]
        for step in steps {
            let isTold = step.passed > 0 ? window.passed(step.passed) : window.written(step.written)
            #expect(isTold == step.isTold && window.isFull == step.isFull, "\(step)")
        }
        #expect(window.bytes == 0)
    }

    // MARK: Events

    @Test func `so many names are remembered, the newest`() {
        var names = RecentNames(limit: 3)
        let new = "a b c a c d b d a c d b c".split(separator: " ").filter { names.insert(String($0)) }
        #expect(new.joined(separator: " ") == "a b c d a b c")
    }

    /// What was handed on.
    private final class Taken: Sendable {
        private let state = Mutex([String]())
        var names: [String] { state.withLock { $0 } }
        func take(_ body: [UInt8], _ name: String) { state.withLock { $0.append(name) } }
    }

    private static func post(_ text: String, key: APIKey, at now: Date, type: String) throws -> SocketIOHTTPRequest {
        let webhook = try SignedWebhook(body: Array(text.utf8), key: key, at: now)
        var request = request([("Authorization", webhook.authorization), ("Content-Type", type)])
        request.body = webhook.body
        return request
    }

    @Test func `an event is handed on once, if it is the cluster's and of these minutes`() throws {
        let key = try #require(TestServer.key)
        let stranger = try APIKey("test", secret: "another secret that is as long as the first one")
        let taken = Taken()
        let events = ClusterEvents(keys: APIKeys(key), logger: Logger(label: "test")) { taken.take($0, $1.event) }
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        func status(
            _ text: String, by signer: APIKey = key, after age: TimeInterval = 0,
            type: String = "application/webhook+json; charset=utf-8"
        ) throws -> Int {
            events.take(try Self.post(text, key: signer, at: now, type: type), at: now + age).status
        }
        #expect(try status(#"{"event":"room_started","id":"EV_1"}"#) == 200)
        #expect(try status(#"{"event":"room_started","id":"EV_1"}"#) == 200)
        #expect(try status(#"{"event":"room_finished","id":"EV_2","news":[1]}"#) == 200)
        for _ in 0..<2 { #expect(try status(#"{"event":"without id"}"#) == 200) }
        #expect(try status(#"{"event":"late","id":"EV_3"}"#, after: SignedWebhook.validity + 61) == 401)
        #expect(try status(#"{"event":"forged","id":"EV_4"}"#, by: stranger) == 401)
        #expect(try status("[]") == 400)
        #expect(try status(#"{"event":"typed","id":"EV_5"}"#, type: "application/json") == 415)
        #expect(taken.names == ["room_started", "room_finished", "without id", "without id"])
        #expect(events.statistics == .init(taken: 4, repeated: 1, refused: 4))
    }
}
