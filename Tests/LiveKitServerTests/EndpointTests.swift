import Foundation
import LiveKitProtocol
import RTCNetwork
import SocketIO
import SwiftProtobuf
import Testing

@testable import LiveKitServer

/// `/rtc` and what belongs to it, over real sockets on loopback.
@Suite(.timeLimit(.minutes(2))) struct EndpointTests {
    private static func bearer(_ token: String) -> [String: String] { ["Authorization": "Bearer \(token)"] }

    private static func response(in message: WebSocketReader.Message?) throws -> LiveKitSignalResponse {
        switch message {
        case .binary(let bytes): try LiveKitSignalResponse(serializedBytes: bytes)
        case .text(let bytes): try LiveKitSignalResponse(jsonUTF8Bytes: bytes)
        default: throw TestServer.Unusable()
        }
    }

    /// The next response of a kind, past those of others.
    private static func next<Value>(
        _ socket: TestWebSocket, _ kind: (LiveKitSignalResponse.OneOf_Message) -> Value?
    ) async throws -> (value: Value, isText: Bool) {
        while let message = try await socket.next() {
            let isText = if case .text = message { true } else { false }
            if let response = try response(in: message).message, let value = kind(response) { return (value, isText) }
        }
        throw TestServer.Unusable()
    }

    @Test(arguments: [true, false]) func `whoever may join is told of the room first`(inHeader: Bool) async throws {
        try await TestServer.run { server in
            let token = try TestServer.token()
            let target = "/rtc?sdk=swift&protocol=16&auto_subscribe=1"
            let socket =
                inHeader
                ? try await server.openWebSocket(target, headers: Self.bearer(token))
                : try await server.openWebSocket(target + "&access_token=\(token)")
            let response = try Self.response(in: try await socket.next())
            #expect(response.join.room.name == "kitchen")
            #expect(response.join.participant.identity == "ann")
            #expect(response.join.pingInterval > 0)
            #expect(server.livekit.statistics.signals == 1)
        }
    }

    /// RFC 9110 §11.1, §11.4.
    @Test(arguments: ["Bearer ", "Bearer  ", "bearer    "])
    func `before the token in the header there may be several spaces`(scheme: String) async throws {
        try await TestServer.run { server in
            let token = try TestServer.token()
            let answer = try await server.ask("/rtc/validate", headers: ["Authorization": scheme + token])
            #expect(answer.body == "success")
        }
    }

    /// RFC 9110 §5.5.
    @Test(arguments: ["  ", "\t"])
    func `white space behind the token in the header is no part of it`(space: String) async throws {
        try await TestServer.run { server in
            let token = try TestServer.token()
            let headers = ["Authorization": "Bearer \(token)\(space)"]
            #expect(try await server.ask("/rtc/validate", headers: headers).body == "success")
        }
    }

    @Test func `a client that speaks JSON is answered in JSON, from then on`() async throws {
        try await TestServer.run { server in
            let socket = try await server.openWebSocket("/rtc?protocol=16", headers: Self.bearer(TestServer.token()))
            let first = try await socket.next()
            guard case .binary = first else { throw TestServer.Unusable() }
            await socket.send(Array(#"{"pingReq":{"timestamp":"7"},"news":1}"#.utf8), isText: true)
            let pong = try await Self.next(socket) { if case .pongResp(let pong) = $0 { pong } else { nil } }
            #expect(pong.isText && pong.value.lastPingTimestamp == 7)
            let ping = LiveKitSignalRequest.with { $0.pingReq.timestamp = 8 }
            await socket.send(try ping.serializedBytes())
            let again = try await Self.next(socket) { if case .pongResp(let pong) = $0 { pong } else { nil } }
            #expect(!again.isText && again.value.lastPingTimestamp == 8)
        }
    }

    @Test func `what is no message ends the connection with its reason`() async throws {
        try await TestServer.run { server in
            let socket = try await server.openWebSocket("/rtc?protocol=16", headers: Self.bearer(TestServer.token()))
            _ = try await socket.next()
            await socket.send([0xff, 0xff, 0xff])
            var last: WebSocketReader.Message?
            while let message = try await socket.next() { last = message }
            #expect(last == .close(code: 1007, reason: "This is no message of LiveKit's protocol."))
        }
    }

    @Test func `a message of more than two mebibytes ends it as well`() async throws {
        try await TestServer.run { server in
            let socket = try await server.openWebSocket("/rtc?protocol=16", headers: Self.bearer(TestServer.token()))
            _ = try await socket.next()
            await socket.send([UInt8](repeating: 0, count: 2 << 20 | 1))
            var last: WebSocketReader.Message?
            while let message = try await socket.next() { last = message }
            #expect(last == .close(code: 1009, reason: "message too large"))
        }
    }

    enum Fault: CaseIterable {
        case noToken, wrongToken, expired, noGrant, noRoom, longRoom, noIdentity, longName, noJoinRequest
        case badJoinRequest, decomposedName, decomposedRoom, decomposedRoomOfQuery, mayNotPublish

        var status: Int {
            switch self {
            case .noToken, .wrongToken, .expired, .noGrant, .mayNotPublish: 401
            case .noRoom, .longRoom, .noIdentity, .longName, .noJoinRequest, .badJoinRequest: 400
            case .decomposedName, .decomposedRoom, .decomposedRoomOfQuery: 400
            }
        }

        func target() throws -> String {
            switch self {
            case .noToken: "/rtc"
            case .wrongToken: "/rtc?access_token=a.b.c"
            case .expired: "/rtc?access_token=\(try TestServer.token(validFor: -120))"
            case .noGrant: "/rtc?access_token=\(try TestServer.token { $0.roomJoin = false })"
            case .noRoom: "/rtc?access_token=\(try TestServer.token(room: ""))"
            case .longRoom:
                "/rtc?room=\(String(repeating: "r", count: 257))&access_token=\(try TestServer.token(room: ""))"
            case .longName:
                "/rtc?access_token=\(try TestServer.token(identity: String(repeating: "n", count: 257)))"
            case .noIdentity: "/rtc?access_token=\(try TestServer.token(identity: ""))"
            case .noJoinRequest: "/rtc/v1?access_token=\(try TestServer.token())"
            // To Swift these are equal to names with one letter in the place of two, or another letter.
            case .decomposedName: "/rtc?access_token=\(try TestServer.token(identity: "Jose\u{301}"))"
            case .decomposedRoom: "/rtc?access_token=\(try TestServer.token(room: "\u{212a}itchen"))"
            case .decomposedRoomOfQuery: "/rtc?room=%E2%84%AAitchen&access_token=\(try TestServer.token(room: ""))"
            case .mayNotPublish:
                "/rtc?publish=screen&access_token=\(try TestServer.token { $0.canPublish = false })"
            case .badJoinRequest: "/rtc/v1?join_request=!&access_token=\(try TestServer.token())"
            }
        }
    }

    @Test(arguments: Fault.allCases) func `whoever may not join is refused by status, in a sentence`(
        fault: Fault
    ) async throws {
        try await TestServer.run { server in
            let socket = try await server.openWebSocket(try fault.target())
            #expect(socket.answer.hasPrefix("HTTP/1.1 \(fault.status) "))
            #expect(socket.answer.contains("Access-Control-Allow-Origin: *"))
            // And it makes no room.
            #expect(server.livekit.statistics == MediaWorkerStatistics())
        }
    }

    @Test
    func `who comes once more to publish alone is another participant, who may not subscribe, also by a renewed token`()
        async throws
    {
        try await TestServer.run { server in
            let token = try TestServer.token()
            let app = try await server.openWebSocket("/rtc?protocol=16", headers: Self.bearer(token))
            _ = try await app.next()
            let target = "/rtc?protocol=16&auto_subscribe=0&publish=screen_share"
            let extending = try await server.openWebSocket(target, headers: Self.bearer(token))
            let screen = try Self.response(in: try await extending.next()).join.participant
            #expect(screen.identity == "ann#screen_share")
            #expect(screen.permission.canPublish && !screen.permission.canSubscribe)
            #expect(server.livekit.statistics.signals == 2)
            // By the renewed token, which lets nobody come more often than the first one (`JoinGate`).
            let renewed = try await Self.next(extending) {
                if case .refreshToken(let token) = $0 { token } else { nil }
            }.value
            let key = try #require(TestServer.key)
            let read = try AccessToken(verifying: renewed, with: APIKeys(key), at: Date())
            #expect(read.identity == "ann" && read.claims.video?.canSubscribe == false)
            let again = try await server.openWebSocket(target, headers: Self.bearer(renewed))
            let same = try Self.response(in: try await again.next()).join.participant
            #expect(same.identity == "ann#screen_share")
        }
    }

    @Test(arguments: ["/rtc", "/rtc/v1"]) func `what is no upgrade is not found`(path: String) async throws {
        try await TestServer.run { server in
            let answer = try await server.ask(path, headers: Self.bearer(TestServer.token()))
            #expect(answer.status == 404)
        }
    }

    @Test func `other paths are somebody else's`() async throws {
        try await TestServer.run { server in
            #expect(try await server.ask("/rtcx").body == "elsewhere\n")
            let socket = try await server.openWebSocket("/rtcx")
            #expect(!(await socket.isOpen))
        }
    }

    @Test func `validate says what the upgrade would, to pages of other origins too`() async throws {
        try await TestServer.run { server in
            let good = try await server.ask("/rtc/validate?access_token=\(TestServer.token())")
            #expect(good.status == 200 && good.body == "success")
            #expect(good.headers.contains("Access-Control-Allow-Origin: *"))
            let bad = try await server.ask("/rtc/v1/validate?access_token=a.b.c")
            #expect(bad.status == 401 && bad.body.hasSuffix("."))
            #expect(bad.headers.contains("Access-Control-Allow-Origin: *"))
            let long = try TestServer.token(identity: String(repeating: "a", count: 300))
            let refused = try await server.ask("/rtc/validate?access_token=\(long)")
            #expect(refused.status == 400 && refused.body.contains("longer than 256 bytes"))
            let preflight = try await server.ask("/rtc/validate", method: "OPTIONS")
            #expect(preflight.status == 204 && preflight.headers.contains("Access-Control-Allow-Headers"))
            #expect(server.livekit.statistics.rooms == 0)
        }
    }

    @Test func `a second slash at the beginning of a path is passed over`() async throws {
        try await TestServer.run { server in
            let token = try TestServer.token()
            let socket = try await server.openWebSocket("//rtc?protocol=16", headers: Self.bearer(token))
            #expect(try Self.response(in: try await socket.next()).join.participant.identity == "ann")
            #expect(try await server.ask("//rtc/validate?access_token=\(token)").body == "success")
            #expect(try await server.ask("///rtc/validate?access_token=\(token)").body == "elsewhere\n")
            let listed = try await server.ask(
                "//twirp/livekit.RoomService/ListRooms", method: "POST", headers: ["Content-Type": "application/json"])
            #expect(listed.status == 401 && listed.body.contains("unauthenticated"))
        }
    }

    @Test func `where rooms are not made by joining, one that is missing is said to be`() async throws {
        try await TestServer.run({ $0.createsRooms = false }) { server in
            let token = try TestServer.token()
            let socket = try await server.openWebSocket("/rtc?access_token=\(token)")
            #expect(socket.answer.hasPrefix("HTTP/1.1 404"))
            #expect(socket.answer.hasSuffix("requested room does not exist"))
            let asked = try await server.ask("/rtc/validate?access_token=\(token)")
            #expect(asked.status == 404 && asked.body == "requested room does not exist")
            // Who may make rooms makes it.
            let maker = try TestServer.token { $0.roomCreate = true }
            #expect(try await server.ask("/rtc/validate?access_token=\(maker)").status == 200)
            #expect(await (try server.openWebSocket("/rtc?access_token=\(maker)")).isOpen)
        }
    }

    @Test func `who joins too often is sent away for a while, and may come back to a session meanwhile`() async throws {
        try await TestServer.run({ $0.joinRates.identity = Pace(perSecond: 0.01, burst: 1) }) { server in
            let headers = Self.bearer(try TestServer.token())
            #expect(await (try server.openWebSocket("/rtc?protocol=16", headers: headers)).isOpen)
            let late = try await server.openWebSocket("/rtc?protocol=16", headers: headers)
            // Of the hundred seconds some may have passed on a busy machine.
            #expect(late.answer.hasPrefix("HTTP/1.1 503"))
            let fields = late.answer.split(whereSeparator: \.isNewline)
            let wait = try #require(fields.first { $0.hasPrefix("Retry-After: ") }.flatMap { Int($0.dropFirst(13)) })
            #expect((50...100).contains(wait))
            let back = try await server.openWebSocket("/rtc?protocol=16&reconnect=1&sid=PA_x", headers: headers)
            #expect(await back.isOpen)
            let other = Self.bearer(try TestServer.token(identity: "bob"))
            #expect(await (try server.openWebSocket("/rtc?protocol=16", headers: other)).isOpen)
        }
    }

    @Test func `who comes back too often is sent away for a while, and may join, and others come back`() async throws {
        try await TestServer.run({ $0.joinRates.resume = Pace(perSecond: 0.01, burst: 2) }) { server in
            let target = "/rtc?protocol=16&reconnect=1&sid=PA_x"
            let headers = Self.bearer(try TestServer.token())
            for _ in 0..<2 { #expect(await (try server.openWebSocket(target, headers: headers)).isOpen) }
            let late = try await server.openWebSocket(target, headers: headers)
            #expect(late.answer.hasPrefix("HTTP/1.1 503"))
            let fields = late.answer.split(whereSeparator: \.isNewline)
            let wait = try #require(fields.first { $0.hasPrefix("Retry-After: ") }.flatMap { Int($0.dropFirst(13)) })
            #expect((1...100).contains(wait))
            #expect(await (try server.openWebSocket("/rtc?protocol=16", headers: headers)).isOpen)
            let others = [try TestServer.token(identity: "bob"), try TestServer.token(room: "cellar")]
            for other in others {
                #expect(await (try server.openWebSocket(target, headers: Self.bearer(other))).isOpen)
            }
        }
    }

    @Test func `an attempt to come back is refused where the client has asked for that, and the next one is not`()
        async throws
    {
        try await TestServer.run { server in
            let headers = Self.bearer(try TestServer.token())
            let socket = try await server.openWebSocket("/rtc?protocol=16", headers: headers)
            let sid = try Self.response(in: try await socket.next()).join.participant.sid
            for message in [
                LiveKitSignalRequest.OneOf_Message.simulate(.with { $0.disconnectSignalOnResumeNoMessages = true }),
                .ping(7),
            ] {
                await socket.send(try LiveKitSignalRequest.with { $0.message = message }.serializedBytes())
            }
            while try Self.response(in: try await socket.next()).pong == 0 {}
            let target = "/rtc?protocol=16&reconnect=1&sid=\(sid)"
            let refused = try await server.openWebSocket(target, headers: headers)
            #expect(refused.answer.hasPrefix("HTTP/1.1 500"))
            let back = try await server.openWebSocket(target, headers: headers)
            guard case .reconnect? = try Self.response(in: try await back.next()).message else {
                throw TestServer.Unusable()
            }
        }
    }

    @Test func `whoever comes back to a session that is over is told to begin anew`() async throws {
        try await TestServer.run { server in
            let socket = try await server.openWebSocket(
                "/rtc?reconnect=1&sid=PA_gone&protocol=16", headers: Self.bearer(TestServer.token()))
            let response = try Self.response(in: try await socket.next())
            #expect(response.leave.action == .reconnect && response.leave.reason == .stateMismatch)
            guard case .close = try await socket.next() else { throw TestServer.Unusable() }
        }
    }

    @Test func `a server that goes down tells everybody`() async throws {
        try await TestServer.run { server in
            let socket = try await server.openWebSocket("/rtc?protocol=16", headers: Self.bearer(TestServer.token()))
            _ = try await socket.next()
            await server.livekit.stop()
            let leave = try await Self.next(socket) { if case .leave(let leave) = $0 { leave } else { nil } }
            #expect(leave.value.reason == .serverShutdown)
            let late = try await server.openWebSocket("/rtc?protocol=16", headers: Self.bearer(TestServer.token()))
            #expect(late.answer.hasPrefix("HTTP/1.1 503"))
        }
    }

    @Test func `what clients with two connections say in their query is read`() {
        let query = EngineIOQuery(
            "sdk=swift&version=2.16.0&protocol=16&client_protocol=1&os=iOS&device_model=iPhone&auto_subscribe=false"
                + "&adaptive_stream=1&reconnect=1&sid=PA_1&reconnect_reason=2"
                + "&capabilities=CAP_PACKET_TRAILER,CAP_NEWER&attributes=eyJzZWF0IjoiPz8-In0")
        let request = LiveKitJoinRequest(query: query)
        #expect(request.clientInfo.sdk == .swift && request.clientInfo.protocol == 16)
        #expect(request.clientInfo.clientProtocol == 1 && request.clientInfo.capabilities == [.capPacketTrailer])
        #expect(!request.connectionSettings.autoSubscribe && request.connectionSettings.adaptiveStream)
        #expect(request.reconnect && request.participantSid == "PA_1")
        #expect(request.reconnectReason == .rrPublisherFailed)
        #expect(request.participantAttributes == ["seat": "??>"])
        #expect(LiveKitJoinRequest(query: EngineIOQuery("")).connectionSettings.autoSubscribe)
    }

    private static let agents: [(String, String)] = [
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4"
                + " Safari/605.1.15", "Safari 18.4 Mac OS X"
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
                + " Version/18.3 Mobile/15E148 Safari/604.1", "Mobile Safari 18.3 iOS"
        ),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox 140.0 Linux"),
        ("Mozilla/5.0 (Android 14; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0", "Firefox Mobile 140.0 Android"),
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
            "  "
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
                + " Version/18.0 EdgiOS/140.0 Mobile/15E148 Safari/604.1", "  "
        ),
        ("", "  "),
    ]

    @Test(arguments: agents) func `which browser it is, is read where an SDK does not say it`(
        _ agent: String, _ read: String
    ) {
        var client = LiveKitClientInfo.with { $0.sdk = .js }
        client.readBrowser(from: agent)
        #expect("\(client.browser) \(client.browserVersion) \(client.os)" == read)
        client = .with {
            $0.sdk = .js
            $0.browser = "Chrome"
        }
        client.readBrowser(from: agent)
        #expect(client.browser == "Chrome" && client.os.isEmpty)
        client = .with { $0.sdk = .swift }
        client.readBrowser(from: agent)
        #expect(client.browser.isEmpty)
    }
}
