import RTCEngine
import Testing

@testable import LiveKitCore

@Suite struct IdentifierTests {
    @Test func `ids have the prefix that clients look for, and do not repeat`() {
        var random = EngineRandom.seeded(1)
        let ids = (0..<1_000).map { _ in random.sid("PA_") }
        #expect(ids.allSatisfy { $0.hasPrefix("PA_") && $0.count == 15 })
        #expect(Set(ids).count == 1_000)
    }
}
