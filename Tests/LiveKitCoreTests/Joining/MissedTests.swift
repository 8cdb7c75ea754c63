import LiveKitProtocol
import RTCEngine
import Testing

@testable import LiveKitCore

/// What a client is told that it missed of its own tracks while its signaling was away.
@Suite struct MissedTests {
    @Test func `a client that was away hears that somebody has its track`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("voice", .audio)
        venue.run(for: .milliseconds(100))
        venue.cut(ann)
        _ = try venue.join("bob")
        #expect(venue.run { venue.room.participants.last?.state == .active })
        _ = ann.news()
        venue.resume(ann)
        #expect(ann.news().contains("< track_subscribed voice"))
        // Once is enough.
        for _ in 0..<12 {
            venue.run(for: .seconds(Int64(5)))
            venue.send(.ping(1), from: ann)
        }
        venue.cut(ann)
        _ = ann.news()
        venue.resume(ann)
        #expect(!ann.news().contains("< track_subscribed voice"))
    }
}
