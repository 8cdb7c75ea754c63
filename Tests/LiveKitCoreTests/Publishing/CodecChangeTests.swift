import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// A publisher's encoder goes over to another of the agreed codecs, which it need not say to anybody.
@Suite struct CodecChangeTests {
    /// The client sends the codec from now on; the room has agreed to it from the beginning.
    private static func change(_ client: TestClient, to format: PayloadFormat, in venue: Venue) throws {
        client.encodes = format
        try client.offer()
        venue.run(for: .milliseconds(100))
    }

    /// Ann sends two layers of a picture, and Bob has them.
    private static func assembled(in venue: Venue) throws -> (ann: TestClient, bob: TestClient, layers: [String]) {
        let clients = try venue.assemble([("ann", .single), ("bob", .single)])
        let layers = ["q", "h"]
        try clients[0].publish("camera", .video, layers: layers)
        #expect(venue.run { clients[0].lines.contains("< track_subscribed camera") })
        venue.run(for: .seconds(Int64(1)))
        return (clients[0], clients[1], layers)
    }

    @Test(arguments: [ConnectionMode.single, .dual], [ConnectionMode.single, .dual])
    func `pictures go on in another codec, under the same name, and back`(
        _ publishing: ConnectionMode, _ subscribing: ConnectionMode
    ) throws {
        let venue = Venue()
        let clients = try venue.assemble([("ann", publishing), ("bob", subscribing), ("cat", subscribing)])
        let (ann, bob, cat) = (clients[0], clients[1], clients[2])
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        venue.run(for: .seconds(Int64(1)))
        let sid = try #require(ann.track("camera")).sid
        var number = 0
        func watch(_ format: PayloadFormat) throws {
            for _ in 0..<60 {
                try ann.picture(number, "camera", format: format)
                number += 1
                venue.run(for: .milliseconds(32))
            }
        }
        try watch(.vp8)
        for format in [PayloadFormat.h264, .vp8, .h264] {
            try Self.change(ann, to: format, in: venue)
            // As encoders do when they begin.
            ann.wantsKeyFrame = true
            let before = [bob, cat].map { $0.frames[sid]?.count ?? 0 }
            try watch(format)
            for (client, before) in zip([bob, cat], before) {
                let new = client.frames[sid]?.dropFirst(before) ?? []
                #expect(new.allSatisfy { $0.format == format })
                #expect(new.first?.isKeyFrame == true)
                #expect(new.count > 40)
                #expect(client.others["ann"]?.tracks.map(\.sid) == [sid])
                let mimeType = format == .h264 ? "video/H264" : "video/VP8"
                #expect(client.others["ann"]?.tracks.first?.mimeType == mimeType)
            }
        }
        for client in [ann, bob, cat] { #expect(!client.lines.contains { $0.hasPrefix("!") }) }
        for client in [ann, bob, cat] { venue.close(client) }
        #expect(
            venue.webhooks.map(\.event).filter { $0.hasPrefix("track") } == ["track_published", "track_unpublished"])
    }

    @Test func `who has muted is still muted, and who wants a smaller size still gets that`() throws {
        let venue = Venue()
        let (ann, bob, layers) = try Self.assembled(in: venue)
        let sid = try #require(ann.track("camera")).sid
        bob.show(ann.track("camera"), width: 200, height: 100)
        venue.send(.mute(.with { ($0.sid, $0.muted) = (sid, true) }), from: ann)
        try Self.change(ann, to: .h264, in: venue)
        ann.wantsKeyFrame = true
        for number in 0..<30 {
            try ann.picture(number, "camera", layers: layers, format: .h264)
            venue.run(for: .milliseconds(32))
        }
        #expect(bob.frames[sid] == nil)
        #expect(bob.others["ann"]?.tracks.first?.mimeType == "video/H264")
        #expect(bob.others["ann"]?.tracks.first?.muted == true)
        venue.send(.mute(.with { ($0.sid, $0.muted) = (sid, false) }), from: ann)
        for number in 30..<90 {
            try ann.picture(number, "camera", layers: layers, format: .h264)
            venue.run(for: .milliseconds(32))
        }
        let frames = try #require(bob.frames[sid])
        #expect(frames.count > 30)
        #expect(frames.allSatisfy { $0.payload[$0.payload.count - 2] == 1 && $0.format == .h264 })
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `who lacks the other codec has the track again when it comes back to the one before`(
        _ mode: ConnectionMode
    ) throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob", mode, codecs: [.vp8])
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } || mode == .dual })
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        venue.run(for: .seconds(Int64(1)))
        let sid = try #require(ann.track("camera")).sid
        var number = 0
        for format in [PayloadFormat.vp8, .h264, .vp8] {
            try Self.change(ann, to: format, in: venue)
            ann.wantsKeyFrame = true
            let before = bob.frames[sid]?.count ?? 0
            for _ in 0..<60 {
                try ann.picture(number, "camera", format: format)
                number += 1
                venue.run(for: .milliseconds(32))
            }
            let new = (bob.frames[sid]?.count ?? 0) - before
            #expect(format == .vp8 ? new > 40 : new == 0)
        }
        #expect(bob.lines.contains { $0.contains("seCodecUnsupported") })
    }

    @Test func `sound goes on in another codec`() throws {
        let venue = Venue()
        let clients = try venue.assemble([("ann", .dual), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        try ann.publish("voice", .audio) { $0.disableRed = true }
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        venue.run(for: .seconds(Int64(1)))
        let sid = try #require(ann.track("voice")).sid
        for number in 0..<50 {
            try ann.sound(number, "voice")
            venue.run(for: .milliseconds(20))
        }
        try Self.change(ann, to: .pcmu, in: venue)
        for number in 50..<150 {
            try ann.sound(number, "voice", format: .pcmu)
            venue.run(for: .milliseconds(20))
        }
        let formats = try #require(bob.frames[sid]).map(\.format)
        #expect(formats.prefix(50).allSatisfy { $0 == .opus })
        #expect(formats.filter { $0 == .pcmu }.count > 80)
        #expect(bob.others["ann"]?.tracks.first?.mimeType == "audio/PCMU")
    }

    @Test func `what the publisher was told to leave out stays left out, and more is asked for in the other codec`()
        throws
    {
        let venue = Venue()
        let (ann, bob, layers) = try Self.assembled(in: venue)
        var number = 0
        func watch(_ format: PayloadFormat) throws {
            for _ in 0..<60 {
                try ann.picture(number, "camera", layers: layers, format: format)
                number += 1
                venue.run(for: .milliseconds(32))
            }
        }
        func told() -> [String] { ann.news().filter { $0.hasPrefix("< subscribed_quality") } }
        try watch(.vp8)
        bob.show(ann.track("camera"), width: 200, height: 100)
        // Nobody is told of less before the track is ten seconds old.
        try watch(.vp8)
        try watch(.vp8)
        venue.run(for: .seconds(Int64(5)))
        #expect(told() == ["< subscribed_quality camera low"])
        try Self.change(ann, to: .h264, in: venue)
        ann.wantsKeyFrame = true
        try watch(.h264)
        venue.run(for: .seconds(Int64(5)))
        #expect(told().isEmpty)
        bob.show(ann.track("camera"), width: 1_280, height: 720)
        #expect(told() == ["< subscribed_quality camera low medium"])
        let last = ann.responses.last {
            if case .subscribedQualityUpdate = $0 { true } else { false }
        }
        guard case .subscribedQualityUpdate(let update)? = last else { return #expect(last != nil) }
        // By the name under which the publisher has it.
        #expect(update.subscribedCodecs.map(\.codec) == ["vp8"])
    }

    @Test func `each change costs each who has it one offer`() throws {
        let venue = Venue()
        let clients = try venue.assemble([("ann", .single), ("bob", .dual)])
        let (ann, bob) = (clients[0], clients[1])
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        venue.run(for: .seconds(Int64(1)))
        let before = bob.lines.count { $0.hasPrefix("< offer") }
        for round in 0..<40 {
            let format: PayloadFormat = round % 2 == 0 ? .h264 : .vp8
            try Self.change(ann, to: format, in: venue)
            ann.wantsKeyFrame = true
            for number in 0..<10 {
                try ann.picture(round * 10 + number, "camera", format: format)
                venue.run(for: .milliseconds(32))
            }
        }
        #expect(bob.lines.count { $0.hasPrefix("< offer") } - before == 40)
        #expect(!bob.lines.contains { $0.hasPrefix("!") })
    }
}
