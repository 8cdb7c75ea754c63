import LiveKitProtocol
import RTCEngine
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

@Suite struct PriorityTests {
    @Test func `a subscriber says which of its tracks comes first`() throws {
        let venue = Venue()
        let (ann, bob) = (try venue.join("ann"), try venue.join("bob"))
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        for name in ["camera", "screen"] { try ann.publish(name, .video) }
        #expect(venue.run { ann.lines.contains("< track_subscribed screen") })
        let (camera, screen) = (try #require(ann.track("camera")).sid, try #require(ann.track("screen")).sid)
        venue.send(
            .trackSetting(
                .with {
                    $0.trackSids = [screen]
                    $0.priority = 1
                }), from: bob)
        let hints = try #require(venue.room.people.last).hints
        #expect(hints[TrackSID(rawValue: screen)]?.priority == 1)
        #expect(hints[TrackSID(rawValue: camera)] == nil)
        // Unset, it is the server's again.
        venue.send(.trackSetting(.with { $0.trackSids = [screen] }), from: bob)
        #expect(venue.room.people.last?.hints[TrackSID(rawValue: screen)]?.priority == 0)
    }
}
