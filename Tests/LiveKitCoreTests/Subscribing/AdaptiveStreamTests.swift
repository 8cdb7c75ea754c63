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
        let camera = try LayeredCamera(of: ann, layers: ["q", "h", "f"], in: venue)
        try camera.film(90)
        #expect(camera.layer(for: bob) == 1 && camera.layer(for: cat) == 3)
        for client in [bob, cat] {
            venue.send(
                .trackSetting(
                    .with {
                        $0.trackSids = [camera.sid]
                        $0.disabled = true
                    }), from: client)
        }
        let counts = [bob, cat].map(camera.count)
        try camera.film(20)
        #expect([bob, cat].map(camera.count) == counts)
        for client in [bob, cat] {
            for isWanted in [false, true] {
                venue.send(
                    .subscription(
                        .with {
                            $0.trackSids = [camera.sid]
                            $0.subscribe = isWanted
                        }), from: client)
                venue.run(for: .milliseconds(500))
            }
        }
        try camera.film(60)
        #expect(camera.count(for: bob) > counts[0])
        // Who does not adapt has said so by itself.
        #expect(camera.count(for: cat) == counts[1])
    }
}
