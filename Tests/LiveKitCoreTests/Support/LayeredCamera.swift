import LiveKitProtocol
import RTCEngine
import Testing

@testable import LiveKitCore

/// A camera that somebody publishes in layers, and which of them come to whoever watches.
final class LayeredCamera {
    let sid: String
    private let publisher: TestClient
    private let layers: [String]
    private let venue: Venue
    private var number = 0

    /// Publishes it. Somebody is subscribed to it by the end of that.
    init(of publisher: TestClient, layers: [String], in venue: Venue) throws {
        try publisher.publish("camera", .video, layers: layers)
        #expect(venue.run { publisher.lines.contains("< track_subscribed camera") })
        venue.run(for: .seconds(Int64(1)))
        sid = try #require(publisher.track("camera")).sid
        self.publisher = publisher
        self.layers = layers
        self.venue = venue
    }

    /// Makes so many pictures, and time goes by with them.
    func film(_ pictures: Int) throws {
        for _ in 0..<pictures {
            try publisher.picture(number, "camera", layers: layers)
            venue.run(for: .milliseconds(32))
            number += 1
        }
    }

    /// Of the newest picture that somebody has; 1 is the lowest.
    func layer(for client: TestClient) -> UInt8? {
        client.frames[sid]?.last.map { $0.payload[$0.payload.count - 2] }
    }

    /// How many pictures somebody has.
    func count(for client: TestClient) -> Int { client.frames[sid]?.count ?? 0 }
}
