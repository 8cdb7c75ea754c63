import Testing

@testable import SocketIO

struct RawJSONTests {
    @Test func `keeps number forms`() {
        #expect(RawJSON("1.0e2")?.text == "1.0e2")
    }
}
