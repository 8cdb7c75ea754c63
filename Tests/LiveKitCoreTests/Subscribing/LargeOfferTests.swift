import RTCWire
import Testing

@testable import LiveKitCore

/// Offers of those who receive from hundreds over one connection.
@Suite struct LargeOfferTests {
    @Test func `a client is asked for as many sections as its offers have room for`() {
        #expect(OfferedSize().room == .max)
        let section = "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n" + String(repeating: "a=x:yyyyyy\r\n", count: 580)
        let half = "v=0\r\n" + String(repeating: section, count: 100)
        #expect((120...125).contains(OfferedSize(of: half).room))
        let full = "v=0\r\n" + String(repeating: section, count: 224)
        #expect(OfferedSize(of: full).room == 0)
        #expect(OfferedSize(of: full + full).room == 0)
    }

    /// LiveKit's Python SDK in a room with 250 cameras.
    @Test func `takes a description with hundreds of real sections`() throws {
        let parts = try Vectors.text("sdp/py120_single_vp8_simulcast_reoffer.sdp")
            .replacing("\r\n", with: "\n").split(separator: "\nm=")
        let video = try #require(parts.first { $0.hasPrefix("video") && $0.contains("a=recvonly") })
        let long = parts[0] + String(repeating: "\nm=" + video, count: 250) + "\n"
        #expect(long.utf8.count > 800_000)
        #expect(try SessionDescription(parsing: String(long)).media.count == 250)
    }
}
