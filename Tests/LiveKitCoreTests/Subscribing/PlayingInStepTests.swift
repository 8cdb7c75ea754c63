import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Rooms whose subscribers play what belongs together in step (`sync_streams`), or later than it comes (playout delay).
@Suite struct PlayingInStepTests {
    /// What a client of two connections was offered last, by the track's name: its stream, and what it calls the track.
    private static func streams(_ client: TestClient) throws -> [String: String] {
        let offer = try SessionDescription(parsing: try #require(client.offers.last).sdp)
        let ids = offer.media.filter { $0.direction == .sendonly }.compactMap { $0.first(SDP.MediaStreamID.self) }
        return Dictionary(ids.map { ($0.track ?? "", $0.stream) }) { first, _ in first }
    }

    private static func published(_ venue: Venue) throws -> (ann: TestClient, sids: [String: String]) {
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        try ann.publish("microphone", .audio)
        #expect(venue.run { ann.track("camera") != nil && ann.track("microphone") != nil })
        let sids = ["camera", "microphone"].map { ($0, ann.track($0)?.sid ?? "") }
        return (ann, Dictionary(sids) { first, _ in first })
    }

    @Test func `camera and microphone are one stream, in which tracks go by their own ids`() throws {
        let venue = Venue { $0.syncsStreams = true }
        let (ann, sids) = try Self.published(venue)
        let bob = try venue.join("bob", .dual)
        #expect(venue.run { (try? Self.streams(bob).count) == 2 })
        let stream = "\(ann.sid)|camera"
        #expect(try Self.streams(bob) == [sids["camera"] ?? "": stream, sids["microphone"] ?? "": stream])
        for number in 0..<10 {
            try ann.picture(number, "camera")
            venue.run(for: .milliseconds(32))
        }
        #expect(bob.numbers(of: ann.track("camera")).last == 10)
    }

    @Test(arguments: ["protocol", "browser", "room"])
    func `who could not tell tracks apart then gets each in a stream of its own`(_ why: String) throws {
        let venue = Venue { $0.syncsStreams = why != "room" }
        let (ann, sids) = try Self.published(venue)
        let bob = try venue.join("bob", .dual) { _ in
        } claims: { _ in
        } request: { request in
            if why == "protocol" { request.clientInfo.protocol = 9 }
            if why == "browser" { request.clientInfo.browser = "Firefox" }
        }
        #expect(venue.run { (try? Self.streams(bob).count) == 2 })
        #expect(try Self.streams(bob) == Dictionary(sids.values.map { ($0, "\(ann.sid)|\($0)") }) { first, _ in first })
    }

    /// It stands in everybody's descriptions.
    @Test(arguments: [
        ("desk", "desk"), ("x\r\na=ice-lite", "camera"), ("my cam", "camera"), ("TR_other", "camera"),
        ("a|b", "camera"), ("é", "camera"), ("", "camera"),
    ])
    func `what a publisher calls its stream is a name and nothing else`(_ said: String, _ stands: String) {
        let track = LiveKitTrackInfo.with {
            $0.stream = said
            $0.source = .camera
        }
        #expect(track.streamName == stands)
    }

    /// Browsers keep a section's first track, with its id.
    @Test(arguments: [true, false])
    func `a section does not carry another track where its id would be the first one's`(_ isInStep: Bool) throws {
        let venue = Venue { $0.syncsStreams = isInStep }
        let (ann, _) = try Self.published(venue)
        let bob = try venue.join("bob", .dual)
        #expect(venue.run { (try? Self.streams(bob).count) == 2 })
        try ann.unpublish("camera")
        #expect(venue.run { (try? Self.streams(bob).count) == 1 })
        venue.run(for: .milliseconds(500))
        try ann.publish("another", .video)
        #expect(venue.run { (try? Self.streams(bob).count) == 2 })
        let offer = try SessionDescription(parsing: try #require(bob.offers.last).sdp)
        #expect(offer.media.count { $0.kind == "video" } == (isInStep ? 2 : 1))
    }

    @Test func `pictures say how long they are to be held back, and sound does not`() throws {
        let venue = Venue { $0.playoutDelay = PlayoutDelayLimits(minimum: 300, maximum: 900) }
        let (ann, _) = try Self.published(venue)
        let bob = try venue.join("bob", .dual)
        #expect(venue.run { (try? Self.streams(bob).count) == 2 })
        for number in 0..<10 {
            try ann.picture(number, "camera")
            try ann.sound(number, "microphone")
            venue.run(for: .milliseconds(20))
        }
        let pictures = bob.frames[ann.track("camera")?.sid ?? ""] ?? []
        #expect(pictures.count > 5)
        #expect(pictures.allSatisfy { $0.metadata.playoutDelay == PlayoutDelayLimits(minimum: 300, maximum: 900) })
        let sounds = bob.frames[ann.track("microphone")?.sid ?? ""] ?? []
        #expect(!sounds.isEmpty && sounds.allSatisfy { $0.metadata.playoutDelay == nil })
    }
}
