import Testing

@testable import RTCNetwork

@Suite struct STUNServerURLTests {
    @Test func `a host without a port means port 3478`() throws {
        let url = try STUNServerURL("stun:stun.example.org")
        #expect(url.host == "stun.example.org")
        #expect(url.port == 3478)
    }

    @Test func `a port and an IPv6 address in brackets are read`() throws {
        let url = try STUNServerURL("stun:[2001:db8::1]:19302")
        #expect(url.host == "2001:db8::1")
        #expect(url.port == 19302)
    }

    @Test(arguments: [
        "", "stun:", "stun::3478", "stun:host:", "stun:host:0", "stun:host:70000", "turn:host", "http://host",
        "stun:2001:db8::1", "stun:::1", "stun://host", "stun://host:3478", "stun:host/foo", "stun:host?transport=udp",
        "stun:user@host", "stun:ho st",
    ])
    func `anything else is refused by name`(url: String) {
        #expect(throws: PeerConnectionError.iceServer(url)) { try STUNServerURL(url) }
    }
}
