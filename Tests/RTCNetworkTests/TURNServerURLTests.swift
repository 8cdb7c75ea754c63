import RTCEngine
import Testing

@testable import RTCNetwork

/// RFC 7065.
@Suite struct TURNServerURLTests {
    @Test(
        arguments: [
            ("turn:turn.example.org", "turn.example.org", 3478, .udp),
            ("turn:turn.example.org:80", "turn.example.org", 80, .udp),
            ("turn:turn.example.org?transport=udp", "turn.example.org", 3478, .udp),
            ("turn:turn.example.org?transport=tcp", "turn.example.org", 3478, .tcp),
            ("turns:turn.example.org", "turn.example.org", 5349, .tls),
            ("turns:turn.example.org:443?transport=tcp", "turn.example.org", 443, .tls),
            ("turn:[2001:db8::1]", "2001:db8::1", 3478, .udp),
            ("turns:[2001:db8::1]:443", "2001:db8::1", 443, .tls),
        ] as [(String, String, UInt16, TURNServer.Transport)])
    func `host, port and transport are read`(
        url: String, host: String, port: UInt16, transport: TURNServer.Transport
    ) throws {
        let parsed = try TURNServerURL(url)
        #expect(parsed.location.host == host)
        #expect(parsed.location.port == port)
        #expect(parsed.transport == transport)
    }

    @Test(arguments: [
        "", "turn:", "turns:", "turn::3478", "turn:host:", "turn:host:0", "turn:host:70000", "stun:host", "turn//host",
        "turn:2001:db8::1", "turn:host?transport=sctp", "turn:host?transport=", "turn:host?", "turn:host?lifetime=3",
        "turns:host?transport=udp", "TURN:host",
    ])
    func `anything else is refused by name`(url: String) {
        #expect(throws: PeerConnectionError.iceServer(url)) { try TURNServerURL(url) }
    }

    @Test func `a TURN server without a credential is refused, a STUN server needs none`() {
        typealias Server = PeerConnectionConfiguration.ICEServer
        #expect(throws: PeerConnectionError.iceServerCredential("turn:host")) {
            try Server(urls: ["stun:host", "turn:host"]).check()
        }
        #expect(throws: PeerConnectionError.iceServerCredential("turn:host")) {
            try Server(urls: ["turn:host"], username: "somebody").check()
        }
        #expect(throws: Never.self) {
            try Server(urls: ["stun:host", "turn:host"], username: "somebody", credential: "secret").check()
        }
    }
}
