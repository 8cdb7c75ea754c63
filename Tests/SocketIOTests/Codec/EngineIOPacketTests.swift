import Testing

@testable import SocketIO

struct EngineIOPacketTests {
    @Test func `reads and writes the protocol's example of a polling body`() throws {
        let body = "4hello\u{1e}2\u{1e}4world\u{1e}bAQIDBA=="
        let packets = try EngineIOPayload.decode(Array(body.utf8)[...])
        #expect(
            packets == [
                EngineIOPacket(.message, "hello"), EngineIOPacket(.ping), EngineIOPacket(.message, "world"),
                .binary([1, 2, 3, 4]),
            ])
        #expect(String(decoding: EngineIOPayload.encode(packets), as: UTF8.self) == body)
    }

    @Test(arguments: ["", "\u{1e}", "4a\u{1e}", "7", "x", "bAQ=D", "b!!!!", "bA"])
    func `refuses bodies that are no packets`(body: String) {
        #expect(throws: EngineIOPacketError.self) { try EngineIOPayload.decode(Array(body.utf8)[...]) }
    }

    @Test func `refuses a body of more packets than anybody sends`() {
        let body = String(repeating: "2\u{1e}", count: EngineIOPayload.packetLimit) + "2"
        #expect(throws: EngineIOPacketError.tooManyPackets) { try EngineIOPayload.decode(Array(body.utf8)[...]) }
    }

    @Test func `base64 comes back as it went`() {
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 67 &+ 13) }
            #expect(Base64.decode(Array(Base64.encode(bytes).utf8)[...]) == bytes)
        }
    }

    @Test func `the handshake comes back as it went, and has the official names`() throws {
        let handshake = EngineIOHandshake(
            sid: "abc", upgrades: ["websocket"], pingInterval: .seconds(25), pingTimeout: .seconds(20),
            maxPayload: 1_000_000)
        guard case .text(.open, let body) = handshake.packet else { return #expect(Bool(false)) }
        #expect(
            String(decoding: body, as: UTF8.self)
                == #"{"sid":"abc","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#
        )
        #expect(EngineIOHandshake(body) == handshake)
    }

    @Test(arguments: [
        ("GET", "EIO=3&transport=polling", false, EngineIORefusal.unsupportedProtocolVersion),
        ("GET", "EIO=4&transport=carrier-pigeon", false, .unknownTransport), ("GET", "EIO=4", false, .unknownTransport),
        ("POST", "EIO=4&transport=polling", false, .badHandshakeMethod),
        ("GET", "EIO=4&transport=websocket", false, .badRequest),
        ("PUT", "EIO=4&transport=polling&sid=a", false, .badRequest),
    ])
    func `refuses requests as the official server does`(
        method: String, query: String, wantsWebSocket: Bool, refusal: EngineIORefusal
    ) {
        #expect(throws: refusal) {
            try EngineIORequest(method: method, query: EngineIOQuery(query), wantsWebSocket: wantsWebSocket)
        }
    }

    @Test func `queries are decoded and encoded`() {
        let query = EngineIOQuery("username=Ann%20%26+Bob&roomId=1&flag&bad=%zz")
        #expect(query["username"] == "Ann & Bob" && query["roomId"] == "1" && query["flag"] == "")
        #expect(query["bad"] == "%zz" && query["none"] == nil)
        #expect(EngineIOQuery(query.encoded) == query)
    }

    @Test(arguments: [
        ("http://localhost:3000", "localhost", 3000, false, "/"),
        ("https://a.example/chat?x=1", "a.example", 443, true, "/chat"),
        ("ws://[::1]:80/", "::1", 80, false, "/"), ("wss://user@h", "h", 443, true, "/"),
    ])
    func `reads a server's URL`(text: String, host: String, port: Int, usesTLS: Bool, path: String) throws {
        let url = try ServerURL(text)
        #expect(url.host == host && url.port == port && url.usesTLS == usesTLS && url.path == path)
    }

    /// RFC 9110 §10.2.2, RFC 3986 §5.2.
    @Test(
        arguments: [
            ("/there?x=1", "https://a.example/there?x=1"), ("there", "https://a.example/hooks/there"),
            ("//b.example:1/", "https://b.example:1/"), ("HTTPS://b.example", "https://b.example"),
            ("http://a.example/", nil), ("wss://a.example/", nil), ("mailto:ann", nil), ("https://", nil),
            ("?x=1", "https://a.example/hooks/here?x=1"), ("?", "https://a.example/hooks/here"),
            ("#part", "https://a.example/hooks/here?y=2"), ("", "https://a.example/hooks/here?y=2"),
            ("there#?x=1", "https://a.example/hooks/there"),
            ("there?x=/../1#", "https://a.example/hooks/there?x=/../1"),
            ("../there", "https://a.example/there"), ("../../../there/", "https://a.example/there/"),
            ("./a/../b/.", "https://a.example/hooks/b/"), ("..", "https://a.example/"),
            ("/a/b/c/./../../g", "https://a.example/a/g"), ("/...//", "https://a.example/...//"),
            ("https://b.example/a/./b/..", "https://b.example/a/"), ("//b.example/..", "https://b.example/"),
        ] as [(String, String?)])
    func `a redirection leads from one URL to another`(location: String, target: String?) throws {
        let from = try ServerURL("https://a.example/hooks/here?y=2")
        #expect(try from.redirected(to: location) == target.map { try ServerURL($0) })
    }

    @Test(arguments: ["localhost:3000", "ftp://a", "http://", "http://a:0", "http://a:99999", "http://[::1"])
    func `refuses what is no server's URL`(text: String) {
        #expect(throws: SocketIOClientError.invalidURL(text)) { try ServerURL(text) }
    }
}
