import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitCore

@Suite struct AdaptiveStreamTests {
    @Test(arguments: [ConnectionMode.single, .dual])
    func `who adapts gets the lowest layer until it says what it shows, and is shown what it asks for anew`(
        _ mode: ConnectionMode
    ) throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob", mode, request: { $0.connectionSettings.adaptiveStream = true })
        let cat = try venue.join("cat", mode)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        let layers = ["q", "h", "f"]
        try ann.publish("camera", .video, layers: layers)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        venue.run(for: .seconds(Int64(1)))
        let sid = try #require(ann.track("camera")).sid
        var number = 0
        func watch(_ pictures: Int) throws {
            for _ in 0..<pictures {
                try ann.picture(number, "camera", layers: layers)
                venue.run(for: .milliseconds(32))
                number += 1
            }
        }
        func layer(_ client: TestClient) -> UInt8? {
            client.frames[sid]?.last.map { $0.payload[$0.payload.count - 2] }
        }
        try watch(90)
        #expect(layer(bob) == 1 && layer(cat) == 3)
        for client in [bob, cat] {
            venue.send(
                .trackSetting(
                    .with {
                        $0.trackSids = [sid]
                        $0.disabled = true
                    }), from: client)
        }
        let counts = [bob, cat].map { $0.frames[sid]?.count ?? 0 }
        try watch(20)
        #expect([bob, cat].map { $0.frames[sid]?.count ?? 0 } == counts)
        for client in [bob, cat] {
            for isWanted in [false, true] {
                venue.send(
                    .subscription(
                        .with {
                            $0.trackSids = [sid]
                            $0.subscribe = isWanted
                        }), from: client)
                venue.run(for: .milliseconds(500))
            }
        }
        try watch(60)
        #expect((bob.frames[sid]?.count ?? 0) > counts[0])
        // Who does not adapt has said so by itself.
        #expect(cat.frames[sid]?.count == counts[1])
    }
}
