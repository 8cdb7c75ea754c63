import RTCWire
import Testing

/// RFC 8841, and the drafts before it.
@Suite struct DataSectionTests {
    private func section(_ text: String) throws -> MediaDescription {
        let session = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
        return try #require(try SessionDescription(parsing: session + text).media.first)
    }

    @Test(arguments: ["UDP/DTLS/SCTP", "TCP/DTLS/SCTP"])
    func `a section for data channels names its port`(proto: String) throws {
        let data = try section("m=application 9 \(proto) webrtc-datachannel\r\na=sctp-port:5001\r\n")
        #expect(data.dataChannelForm == .current)
        #expect(data.dataChannelPort == 5_001)
    }

    @Test func `without a port it is 5000, and port 0 is none`() throws {
        let head = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n"
        #expect(try section(head).dataChannelPort == 5_000)
        #expect(try section(head + "a=sctp-port:0\r\n").dataChannelPort == nil)
    }

    @Test func `the form of the drafts is understood`() throws {
        let data = try section(
            "m=application 9 DTLS/SCTP 5002\r\na=sctpmap:5002 webrtc-datachannel 1024\r\na=max-message-size:100\r\n")
        #expect(data.dataChannelForm == .draft)
        #expect(data.dataChannelPort == 5_002)
        let map = try #require(data.first(SDP.SCTPMap.self))
        #expect(map.streams == 1_024)
        #expect(map.attributeValue == "5002 webrtc-datachannel 1024")
    }

    @Test(arguments: [
        "m=application 9 UDP/DTLS/SCTP 5000", "m=application 9 DTLS/SCTP webrtc-datachannel",
        "m=application 9 DTLS/SCTP 5000\r\na=sctpmap:5001 webrtc-datachannel",
        "m=application 9 DTLS/SCTP 5000\r\na=sctpmap:5000 something-else 1",
        "m=application 9 DTLS/SCTP 5000 5001\r\na=sctpmap:5000 webrtc-datachannel",
        "m=application 9 UDP/BFCP *", "m=audio 9 UDP/DTLS/SCTP webrtc-datachannel",
    ])
    func `other sections are not for data channels`(text: String) throws {
        #expect(try section(text + "\r\n").dataChannelForm == nil)
        #expect(try section(text + "\r\n").dataChannelPort == nil)
    }
}
