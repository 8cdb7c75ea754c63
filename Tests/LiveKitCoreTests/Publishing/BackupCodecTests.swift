import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// A track in two codecs, of which the second is made when somebody cannot take the first. Browsers' SDKs publish H.264
/// with VP8 behind it in the same way as VP9 and AV1.
@Suite struct BackupCodecTests {
    /// Ann publishes H.264, with VP8 for those who lack it; the others are in the room and have those codecs.
    static func meet(
        _ others: [(name: String, codecs: [CodecParameters])], _ mode: ConnectionMode = .single,
        policy: LiveKitBackupCodecPolicy = .simulcast, in venue: Venue
    ) throws -> (ann: TestClient, others: [TestClient]) {
        let ann = try venue.join("ann", mode)
        let clients = try others.map { try venue.join($0.name, mode, codecs: $0.codecs) }
        // Beside sound, as in life: a first section without a common codec stands for the others, and stays inactive.
        try ann.publish("microphone", .audio)
        try ann.publish("camera", as: ["h264", "vp8"], policy: policy)
        for client in clients where client.mode == .dual { try client.offer() }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .seconds(Int64(1)))
        return (ann, clients)
    }

    /// Pictures in one codec or both, for a second and a half.
    static func send(_ ann: TestClient, _ titles: [String], from first: Int = 0) throws {
        for number in first..<(first + 45) {
            // Whichever of its encoders was asked.
            let isWanted = ann.wantsKeyFrame
            for title in titles {
                ann.wantsKeyFrame = isWanted
                try ann.picture(number, title, format: title == "camera" ? .h264 : .vp8)
            }
            ann.venue.run(for: .milliseconds(33))
        }
    }

    static let backup = "camera-vp8"
    static let both: [CodecParameters] = [.vp8, .h264]

    static func formats(_ client: TestClient, of ann: TestClient) -> [PayloadFormat] {
        let frames = client.frames[ann.track("camera")?.sid ?? ""] ?? []
        return frames.map(\.format).reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }

    static func quality(_ client: TestClient) -> [String] {
        client.news().filter { $0.hasPrefix("< subscribed_quality") }
    }

    @Test func `both codecs are announced, and the second is not asked for while everybody takes the first`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", Self.both)], in: venue)
        let info = try #require(ann.track("camera"))
        #expect(info.codecs.map(\.mimeType) == ["video/H264", "video/VP8"])
        #expect(info.codecs.map(\.cid) == ["cid-ann-camera", ""])
        #expect(others[0].others["ann"]?.tracks.last?.mimeType == "video/H264")
        try Self.send(ann, ["camera"])
        venue.run(for: .seconds(Int64(12)))
        #expect(Self.formats(others[0], of: ann) == [.h264])
        #expect(!ann.lines.contains { $0.contains("vp8") })
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `who lacks the first codec waits for the second, which is asked for, and comes from a key frame on`(
        _ mode: ConnectionMode
    ) throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8]), ("cat", Self.both)], mode, in: venue)
        let (bob, cat) = (others[0], others[1])
        #expect(Self.quality(ann).last == "< subscribed_quality camera h264: low medium high, vp8: low medium high")
        #expect(!bob.lines.contains { $0.hasPrefix("< subscription_response") })
        try Self.send(ann, ["camera"])
        #expect(Self.formats(bob, of: ann) == [])
        _ = ann.news()
        try ann.publishBackup(of: "camera")
        #expect(ann.news().contains("< track_published camera"), "browsers' SDKs wait for it")
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, ["camera", Self.backup], from: 100)
        #expect(Self.formats(bob, of: ann) == [.vp8])
        #expect(Self.formats(cat, of: ann) == [.h264])
        let frames = try #require(bob.frames[ann.track("camera")?.sid ?? ""])
        #expect(frames.count > 30)
        #expect(frames.first?.isKeyFrame == true)
        #expect(bob.others["ann"]?.tracks.count == 2)
        // Who comes later and lacks it, too, has it without a word to the publisher.
        _ = ann.news()
        let dan = try venue.join("dan", mode, codecs: [.vp8])
        venue.run(for: .seconds(Int64(2)))
        try Self.send(ann, ["camera", Self.backup], from: 200)
        #expect(Self.formats(dan, of: ann) == [.vp8])
        #expect(Self.quality(ann).allSatisfy { $0.hasSuffix("h264: low medium high, vp8: low medium high") })
        #expect(venue.webhooks.filter { $0.event == "track_published" }.count == 2)
    }

    @Test func `a client that was told too early is told again, until it says that the second codec comes`() throws {
        let venue = Venue()
        let (ann, _) = try Self.meet([("bob", [.vp8])], in: venue)
        _ = ann.news()
        venue.run(for: .seconds(Int64(3)))
        let reminder = "< subscribed_quality camera h264: low medium high, vp8: low medium high"
        let reminders = Self.quality(ann)
        #expect(reminders.count { $0 == reminder } >= 2)
        try ann.publishBackup(of: "camera")
        _ = ann.news()
        venue.run(for: .seconds(Int64(3)))
        #expect(!Self.quality(ann).contains(reminder))
    }

    @Test func `when the last one who waits has gone the second codec is not wanted any more`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8]), ("cat", Self.both)], in: venue)
        _ = ann.news()
        venue.send(.leave(.init()), from: others[0])
        venue.run(for: .seconds(Int64(1)))
        #expect(Self.quality(ann) == ["< subscribed_quality camera h264: low medium high, vp8: "])
        let dan = try venue.join("dan", codecs: [.vp8])
        venue.run(for: .seconds(Int64(1)))
        #expect(Set(Self.quality(ann)) == ["< subscribed_quality camera h264: low medium high, vp8: low medium high"])
        // Nor when the subscription is given up.
        let sid = try #require(ann.track("camera")).sid
        venue.send(.subscription(.with { $0.trackSids = [sid] }), from: dan)
        venue.run(for: .seconds(Int64(1)))
        #expect(Self.quality(ann) == ["< subscribed_quality camera h264: low medium high, vp8: "])
    }

    @Test func `who asks for the second codec and gives it up without end costs its publisher few words`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8])], in: venue)
        let sid = try #require(ann.track("camera")).sid
        _ = ann.news()
        for turn in 0..<101 {
            venue.send(
                .subscription(.with { ($0.trackSids, $0.subscribe) = ([sid], turn % 2 == 1) }), from: others[0])
            venue.run(for: .milliseconds(20))
        }
        #expect(Self.quality(ann).count <= 12)
        venue.run(for: .seconds(Int64(2)))
        #expect(Self.quality(ann).allSatisfy { $0.hasSuffix("vp8: ") }, "the last word is that nobody waits")
        #expect(venue.room.tracks[TrackSID(rawValue: sid)]?.asksForBackup == false)
    }

    @Test func `a second codec that comes when nobody waits any more is made for who comes next`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8])], in: venue)
        venue.send(.leave(.init()), from: others[0])
        venue.run(for: .seconds(Int64(1)))
        #expect(Self.quality(ann).last == "< subscribed_quality camera h264: low medium high, vp8: ")
        try ann.publishBackup(of: "camera")
        #expect(Self.quality(ann).last == "< subscribed_quality camera h264: low medium high, vp8: low medium high")
        let dan = try venue.join("dan", codecs: [.vp8])
        venue.run(for: .seconds(Int64(2)))
        try Self.send(ann, ["camera", Self.backup])
        #expect(Self.formats(dan, of: ann) == [.vp8])
        #expect(Self.quality(ann).isEmpty)
    }

    @Test func `who has neither codec is told so, once`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp9])], in: venue)
        let bob = others[0]
        #expect(Self.quality(ann).last == "< subscribed_quality camera h264: low medium high, vp8: low medium high")
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(2)))
        #expect(bob.lines.count { $0 == "< subscription_response camera seCodecUnsupported" } == 1)
        venue.run(for: .seconds(Int64(12)))
        #expect(bob.lines.count { $0.hasPrefix("< subscription_response") } == 1)
    }

    @Test(arguments: [ConnectionMode.single, .dual], [LiveKitBackupCodecPolicy.regression, .preferRegression])
    func `a publisher that prefers it makes one codec: all go over to the second when it comes`(
        _ mode: ConnectionMode, _ policy: LiveKitBackupCodecPolicy
    ) throws {
        let venue = Venue()
        let (ann, others) = try Self.meet(
            [("bob", [.vp8]), ("cat", Self.both), ("dan", [.h264])], mode, policy: policy, in: venue)
        let (bob, cat, dan) = (others[0], others[1], others[2])
        try Self.send(ann, ["camera"])
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        #expect(Self.formats(cat, of: ann) == [.h264], "it has not come yet")
        for turn in 1..<4 { try Self.send(ann, ["camera", Self.backup], from: turn * 100) }
        #expect(Self.formats(bob, of: ann) == [.vp8])
        #expect(Self.formats(cat, of: ann) == [.h264, .vp8])
        #expect(Self.formats(dan, of: ann) == [.h264], "who lacks the second keeps the first")
        #expect(cat.others["ann"]?.tracks.last?.mimeType == "video/H264")
        #expect(!dan.lines.contains { $0.hasPrefix("< subscription_response") })
        venue.send(.leave(.init()), from: dan)
        venue.run(for: .seconds(Int64(6)))
        #expect(Self.quality(ann).last == "< subscribed_quality camera h264: , vp8: low medium high")
        let eve = try venue.join("eve", mode)
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, [Self.backup], from: 500)
        #expect(Self.formats(eve, of: ann) == [.vp8])
    }

    @Test func `in a room of five who take the first codec keep it, unless the publisher insists`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet(
            [("bob", [.vp8]), ("cat", Self.both), ("dan", Self.both), ("eve", Self.both)],
            policy: .preferRegression, in: venue)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        for turn in 0..<2 { try Self.send(ann, ["camera", Self.backup], from: turn * 100) }
        #expect(others.map { Self.formats($0, of: ann) } == [[.vp8], [.h264], [.h264], [.h264]])
    }

    @Test func `what nobody watches of a codec is not made, in each by itself`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8]), ("cat", Self.both)], in: venue)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, ["camera", Self.backup])
        _ = ann.news()
        func hide(_ isHidden: Bool) {
            venue.send(
                .trackSetting(
                    .with {
                        $0.trackSids = [ann.track("camera")?.sid ?? ""]
                        $0.disabled = isHidden
                        $0.quality = .high
                    }), from: others[0])
        }
        hide(true)
        venue.run(for: .seconds(Int64(6)))
        #expect(Self.quality(ann) == ["< subscribed_quality camera h264: low medium high, vp8: "])
        hide(false)
        #expect(Self.quality(ann) == ["< subscribed_quality camera h264: low medium high, vp8: low medium high"])
    }

    @Test func `both are muted, and both end with the track; the second may end alone`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8]), ("cat", Self.both)], in: venue)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        let sid = try #require(ann.track("camera")).sid
        venue.send(.mute(.with { ($0.sid, $0.muted) = (sid, true) }), from: ann)
        try Self.send(ann, ["camera", Self.backup])
        #expect(others.allSatisfy { $0.frames[sid] == nil })
        venue.send(.mute(.with { ($0.sid, $0.muted) = (sid, false) }), from: ann)
        try Self.send(ann, ["camera", Self.backup], from: 100)
        #expect(others.map { Self.formats($0, of: ann) } == [[.vp8], [.h264]])
        _ = ann.news()
        try ann.unpublish(Self.backup)
        venue.run(for: .seconds(Int64(1)))
        #expect(Self.quality(ann).last == "< subscribed_quality camera h264: low medium high, vp8: low medium high")
        #expect(others[1].others["ann"]?.tracks.count == 2)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        let before = others[0].frames[sid]?.count ?? 0
        try Self.send(ann, ["camera", Self.backup], from: 200)
        #expect((others[0].frames[sid]?.count ?? 0) > before + 20)
        try ann.unpublish("camera")
        venue.run(for: .seconds(Int64(1)))
        #expect(others.allSatisfy { $0.others["ann"]?.tracks.map(\.name) == ["microphone"] })
        #expect(venue.webhooks.filter { $0.event.hasPrefix("track_") }.count == 3)
    }

    @Test func `who comes back is told of both codecs again`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8])], in: venue)
        venue.cut(ann)
        _ = ann.news()
        venue.resume(ann)
        // Nobody has the first one.
        #expect(Self.quality(ann).last?.hasSuffix("vp8: low medium high") == true)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, [Self.backup])
        #expect(Self.formats(others[0], of: ann) == [.vp8])
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `who waits for the second codec still waits when it comes back, and has it when that comes`(
        _ mode: ConnectionMode
    ) throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8])], mode, in: venue)
        let (bob, sid) = (others[0], try #require(ann.track("camera")).sid)
        venue.cut(bob)
        venue.run(for: .seconds(Int64(1)))
        venue.resume(bob)
        venue.send(
            .syncState(.with { ($0.subscription.trackSids, $0.subscription.subscribe) = ([], false) }), from: bob)
        bob.forgetOffer()
        try bob.offer(iceRestart: true)
        venue.run(for: .seconds(Int64(1)))
        #expect(venue.room.tracks[TrackSID(rawValue: sid)]?.waiting.count == 1)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, ["camera", Self.backup])
        #expect(Self.formats(bob, of: ann) == [.vp8])
        #expect(!bob.lines.contains { $0.hasPrefix("< subscription_response") })
    }

    @Test func `a client whose ids are not those of its sections is understood by their order`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8])], in: venue)
        try ann.publishBackup(of: "camera", isNamed: false)
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, ["camera", Self.backup])
        #expect(Self.formats(others[0], of: ann) == [.vp8])
    }

    @Test func `by their order tracks come before second codecs, also of those that were announced earlier`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        for title in ["camera", "screen"] {
            try ann.publish(title, .video, isNamed: false) { request in
                request.source = title == "screen" ? .screenShare : .camera
                request.simulcastCodecs = ["h264", "vp8"].map { codec in
                    .with { ($0.codec, $0.cid) = (codec, "\(request.cid)-\(codec)") }
                }
            }
        }
        let tracks = venue.room.people[0].tracks
        #expect(tracks.map { $0.primary.mid.isEmpty } == [false, false])
        #expect(tracks.map { $0.backup?.mid } == ["", ""])
    }

    @Test func `the second codec comes in layers of its own`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8])], in: venue)
        let layers = ["q", "h"]
        try ann.publishBackup(of: "camera", layers: layers)
        venue.run(for: .seconds(Int64(1)))
        others[0].show(ann.track("camera"), width: 1_280, height: 720)
        for number in 0..<90 {
            try ann.picture(number, Self.backup, layers: layers)
            venue.run(for: .milliseconds(33))
        }
        let frames = try #require(others[0].frames[ann.track("camera")?.sid ?? ""])
        #expect(frames.last.map { $0.payload[$0.payload.count - 2] } == 2)
    }

    @Test(arguments: [LiveKitClientInfo.SDK.js, .python])
    func `a browser of one connection gets the second codec where it would not see layers of AV1`(
        _ sdk: LiveKitClientInfo.SDK
    ) throws {
        let venue = Venue()
        let codecs: [CodecParameters] = [.av1, .vp8]
        let ann = try venue.join("ann", codecs: codecs)
        let bob = try venue.join("bob", codecs: codecs, request: { $0.clientInfo.sdk = sdk })
        let cat = try venue.join("cat", .dual, codecs: codecs, request: { $0.clientInfo.sdk = sdk })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", as: ["av1", "vp8"], layers: [.low, .medium, .high])
        venue.run(for: .seconds(Int64(1)))
        let isBrowser = sdk == .js
        #expect(Self.quality(ann).contains { $0.hasSuffix("vp8: low medium high") } == isBrowser)
        let sid = TrackSID(rawValue: try #require(ann.track("camera")).sid)
        let versions = ["bob", "cat"].map { name in
            venue.room.people.first { $0.identity == name }?.subscriptions[sid]?.version.format
        }
        #expect(versions == [isBrowser ? nil : .av1, .av1])
        #expect(![bob, cat].contains { $0.lines.contains { $0.hasPrefix("< subscription_response") } })
    }

    @Test func `a camera that is forbidden does not come back in its second codec as another track`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8])], in: venue)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, ["camera", Self.backup])
        _ = try venue.room.updateParticipant(
            .with {
                $0.identity = "ann"
                $0.permission = .with {
                    $0.canPublish = true
                    $0.canPublishSources = [.screenShare]
                }
            }, at: venue.now)
        venue.drain()
        // The client goes on sending, announces what it may, and offers as it did before.
        venue.send(
            .addTrack(.with { ($0.cid, $0.name, $0.type, $0.source) = ("screen", "screen", .video, .screenShare) }),
            from: ann)
        try ann.offer()
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, ["camera", Self.backup], from: 100)
        #expect(others[0].others["ann"]?.tracks.isEmpty == true)
        #expect(venue.room.people.first?.tracks.allSatisfy { $0.transceiver == nil } == true)
    }

    @Test func `a camera that ends in its first codec alone does not go on in the second as another track`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8])], in: venue)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, ["camera", Self.backup])
        venue.send(
            .addTrack(.with { ($0.cid, $0.name, $0.type, $0.source) = ("screen", "screen", .video, .screenShare) }),
            from: ann)
        try ann.unpublish("camera")
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, [Self.backup], from: 100)
        #expect(others[0].others["ann"]?.tracks.map(\.name) == ["microphone"])
        #expect(venue.room.people.first?.tracks.last?.info.name == "screen")
        #expect(venue.room.people.first?.tracks.last?.transceiver == nil)
        #expect(venue.room.people.first?.remains.count == 1)
        try ann.unpublish(Self.backup)
        #expect(venue.room.people.first?.remains.isEmpty == true)
    }

    @Test func `a second codec that was not announced, or of a track that is not there, is refused`() throws {
        let venue = Venue()
        let (ann, _) = try Self.meet([("bob", Self.both)], in: venue)
        func answer(_ sid: String, _ codec: String, cid: String = "another") -> String {
            venue.send(
                .addTrack(
                    .with {
                        ($0.cid, $0.sid, $0.type, $0.source) = (cid, sid, .video, .camera)
                        $0.simulcastCodecs = [.with { $0.codec = codec }]
                    }), from: ann)
            return ann.news().last ?? ""
        }
        let sid = try #require(ann.track("camera")).sid
        #expect(answer("TR_none", "vp8") == "< request_response notFound")
        #expect(answer(sid, "vp9") == "< request_response invalidRequest")
        #expect(answer(sid, "") == "< request_response invalidRequest")
        #expect(answer(sid, "vp8", cid: "") == "< request_response invalidRequest")
        #expect(answer(sid, "vp8") == "< track_published camera")
        #expect(answer(sid, "vp8") == "< track_published camera", "until it has come it may be said again")
    }
}
