import RTCWire
import Testing

@testable import TURNServer

@Suite struct SiteCountsTests {
    private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test func `the addresses of a /64 are counted as one, those of IPv4 each`() throws {
        var streams = SiteCounts()
        for text in ["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::1", "192.0.2.1"] {
            streams.add(try address(text))
        }
        #expect(streams[try address("2001:db8::99")] == 3)
        #expect(streams[try address("2001:db8:0:1::1")] == 0)
        #expect(streams[try address("192.0.2.1")] == 1)
        #expect(streams[try address("192.0.2.2")] == 0)
        // Whichever of them goes.
        for _ in 0..<3 { streams.remove(try address("2001:db8::7")) }
        #expect(streams[try address("2001:db8::1")] == 0)
        streams.remove(try address("192.0.2.1"))
        #expect(streams.isEmpty)
    }
}
