import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Those who have a track go from one of its codecs to the other.
extension BackupCodecTests {
    @Test func `a player goes over to the second codec with everybody else, in its section`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8])], policy: .regression, in: venue)
        let sections = [OfferedSection(title: "picture", kind: .video, direction: .recvonly)]
        let eve = try venue.open("eve", sections, .playing(PlaybackChoice()), codecs: Self.both) { $0.hidden = true }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try Self.send(ann, ["camera"])
        func formats() -> [PayloadFormat] {
            (eve.frames["picture"] ?? []).map(\.format).reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        }
        #expect(formats() == [.h264])
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        for turn in 1..<4 { try Self.send(ann, ["camera", Self.backup], from: turn * 100) }
        #expect(formats() == [.h264, .vp8])
        #expect(Self.formats(others[0], of: ann) == [.vp8])
        venue.run(for: .seconds(Int64(12)))
        #expect(Self.quality(ann).last == "< subscribed_quality camera h264: , vp8: low medium high")
        // And one who comes later.
        venue.close(eve)
        let dan = try venue.open("dan", sections, .playing(PlaybackChoice()), codecs: Self.both) { $0.hidden = true }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try Self.send(ann, [Self.backup], from: 500)
        #expect((dan.frames["picture"] ?? []).last?.format == .vp8)
    }

    @Test func `a player that takes the second codec alone has it made, unless something else comes in its section`()
        throws
    {
        let venue = Venue()
        let (ann, _) = try Self.meet([], in: venue)
        let sections = [OfferedSection(title: "picture", kind: .video, direction: .recvonly)]
        let eve = try venue.open("eve", sections, .playing(PlaybackChoice()), codecs: [.vp8]) { $0.hidden = true }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        func isNeeded() -> Bool? { Self.quality(ann).last.map { $0.hasSuffix("vp8: low medium high") } }
        #expect(isNeeded() == true)
        let dan = try venue.join("dan", codecs: [.vp8], grants: { $0.canSubscribe = false })
        try dan.publish("film", .video)
        venue.run(for: .seconds(Int64(2)))
        #expect(isNeeded() == false)
        for number in 0..<30 {
            try dan.picture(number, "film")
            venue.run(for: .milliseconds(33))
        }
        #expect(eve.frames["picture"]?.isEmpty == false)
        venue.send(.leave(.init()), from: dan)
        venue.run(for: .milliseconds(100))
        #expect(isNeeded() == true)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        let count = eve.frames["picture"]?.count ?? 0
        try Self.send(ann, ["camera", Self.backup])
        #expect((eve.frames["picture"]?.count ?? 0) > count + 20)
        #expect(eve.frames["picture"]?.allSatisfy { $0.format == .vp8 } == true)
        let track = try #require(venue.room.people.first?.tracks.last)
        #expect(track.waiting.isEmpty)
        try ann.unpublish(Self.backup)
        #expect(track.waiting.count == 1)
        venue.close(eve)
        #expect(track.waiting.isEmpty)
    }

    @Test func `a section of a player waits for what no other section has`() throws {
        let venue = Venue()
        let (ann, _) = try Self.meet([], in: venue)
        let dan = try venue.join("dan", grants: { $0.canSubscribe = false })
        try dan.publish("voice", .audio)
        try dan.publish("film", as: ["h264", "vp8"])
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .seconds(Int64(1)))
        let sections = ["small", "large"].map { OfferedSection(title: $0, kind: .video, direction: .recvonly) }
        try venue.open(
            "eve", sections, .playing(PlaybackChoice()), codecs: Self.both, grants: { $0.hidden = true },
            offer: { text in
                // The first section takes VP8 alone.
                var parts = text.split(separator: "m=video", omittingEmptySubsequences: false).map(String.init)
                let lines = parts[1].split(separator: "\r\n", omittingEmptySubsequences: false)
                parts[1] = lines.filter { !$0.contains("H264/") }.joined(separator: "\r\n")
                return parts.joined(separator: "m=video")
            })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(100))
        let awaited = venue.room.people.flatMap(\.tracks).filter { !$0.waiting.isEmpty }
        #expect(awaited.map(\.publisher.identity) == ["dan"])
        #expect(Self.quality(dan).last?.hasSuffix("vp8: low medium high") == true)
        #expect(!ann.lines.contains { $0.hasSuffix("vp8: low medium high") })
    }

    @Test func `a player whose section turns out not to take the first codec has the second`() throws {
        let venue = Venue()
        let (ann, _) = try Self.meet([("bob", [.vp8])], in: venue)
        let sections = [OfferedSection(title: "picture", kind: .video, direction: .recvonly)]
        let eve = try venue.open("eve", sections, .playing(PlaybackChoice()), codecs: Self.both) { $0.hidden = true }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, ["camera", Self.backup])
        #expect((eve.frames["picture"] ?? []).last?.format == .h264)
        let player = try #require(venue.room.people.last)
        let track = try #require(venue.room.people.first?.tracks.last)
        player.unsupported[track.sid] = [.h264]
        venue.room.considerSubscribing(player, to: track, at: venue.now)
        venue.drain()
        try Self.send(ann, ["camera", Self.backup], from: 100)
        #expect((eve.frames["picture"] ?? []).last?.format == .vp8)
    }

    @Test func `a track that changes its codec comes in a section where it has not been in either`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", Self.both)], .dual, policy: .regression, in: venue)
        let (bob, sid) = (others[0], try #require(ann.track("camera")).sid)
        var sections: [String] = []
        func note() { sections += (bob.offers.last?.midToTrackID ?? [:]).filter { $0.value == sid }.keys }
        for round in 0..<2 {
            try Self.send(ann, ["camera"], from: round * 500)
            note()
            try ann.publishBackup(of: "camera")
            venue.run(for: .seconds(Int64(1)))
            for turn in 1..<4 { try Self.send(ann, ["camera", Self.backup], from: round * 500 + turn * 100) }
            note()
            try ann.unpublish(Self.backup)
            venue.run(for: .seconds(Int64(1)))
        }
        #expect(Self.formats(bob, of: ann) == [.h264, .vp8, .h264, .vp8])
        #expect(sections.count == 4)
        #expect(Set(sections).count == 4)
    }

    @Test func `when the second codec ends all have the first again, and nothing is left of it but its name`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet(
            [("bob", Self.both), ("cat", [.vp8]), ("dan", [.h264])], policy: .regression, in: venue)
        let sid = TrackSID(rawValue: try #require(ann.track("camera")).sid)
        func changeOver(_ round: Int) throws {
            try Self.send(ann, ["camera"], from: round * 500)
            try ann.publishBackup(of: "camera")
            venue.run(for: .seconds(Int64(1)))
            for turn in 1..<4 { try Self.send(ann, ["camera", Self.backup], from: round * 500 + turn * 100) }
        }
        /// As if their paths did not carry it.
        func pause() { for person in venue.room.people { person.subscriptions[sid]?.pause = (true, venue.now) } }
        func states() -> [[String]] { others.map { $0.news().filter { $0.hasPrefix("< stream_state") } } }
        pause()
        try changeOver(0)
        // Dan had to say first that he does not take it, and has the first one from its beginning again.
        let active = ["< stream_state camera active"]
        #expect(states() == [active, [], active], "of who has another codec now, or was offered one")
        pause()
        try ann.unpublish(Self.backup)
        venue.run(for: .seconds(Int64(1)))
        #expect(states() == [active, [], []])
        #expect(Self.quality(ann).last == "< subscribed_quality camera h264: low medium high, vp8: low medium high")
        let codec = try #require(venue.room.tracks[sid]?.info.codecs.last)
        #expect([codec.mimeType, codec.cid, codec.sdpCid, codec.mid] == ["video/VP8", "", "", ""])
        pause()
        try changeOver(1)
        #expect(states() == [active, [], []], "nothing has begun anew for the one who keeps the first codec")
        #expect(others.map { Self.formats($0, of: ann) } == [[.h264, .vp8, .h264, .vp8], [.vp8], [.h264]])
    }

    @Test func `a second codec that is announced anew before its section is over goes on in another section`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8]), ("cat", Self.both)], in: venue)
        let sid = TrackSID(rawValue: try #require(ann.track("camera")).sid)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, ["camera", Self.backup])
        let former = try #require(venue.room.tracks[sid]?.info.codecs.last)
        try ann.publishBackup(of: "camera", isRenewed: true)
        venue.run(for: .seconds(Int64(1)))
        let codec = try #require(venue.room.tracks[sid]?.info.codecs.last)
        #expect(codec.cid == "cid-ann-camera-vp8-again")
        #expect(!codec.mid.isEmpty && codec.mid != former.mid)
        let before = others[0].frames[sid.rawValue]?.count ?? 0
        try Self.send(ann, ["camera", Self.backup], from: 100)
        #expect((others[0].frames[sid.rawValue]?.count ?? 0) > before + 20)
        #expect(others.map { Self.formats($0, of: ann) } == [[.vp8], [.h264]])
        // Once that is over nothing is to come, and the publisher is told again what is needed.
        try ann.unpublish(Self.backup)
        #expect(venue.room.tracks[sid]?.backup?.clientIDs.isEmpty == true)
        #expect(venue.room.tracks[sid]?.waiting.count == 1)
    }

    @Test func `a second codec that is announced twice does not come twice, and another one has its own sizes`() throws
    {
        let venue = Venue()
        let (ann, _) = try Self.meet([("bob", [.vp8])], in: venue)
        let sid = TrackSID(rawValue: try #require(ann.track("camera")).sid)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        try Self.send(ann, ["camera", Self.backup])
        let backup = try #require(venue.room.tracks[sid]?.backup)
        func announce(_ cid: String) {
            let codec = LiveKitSimulcastCodec.with {
                ($0.codec, $0.cid) = ("vp8", cid)
                $0.layers = [
                    .with {
                        $0.quality = .high
                        ($0.width, $0.height) = (160, 90)
                    }
                ]
            }
            let request = LiveKitAddTrackRequest.with {
                ($0.cid, $0.sid) = (cid, sid.rawValue)
                $0.type = .video
                $0.source = .camera
                $0.simulcastCodecs = [codec]
            }
            venue.send(.addTrack(request), from: ann)
        }
        func widths() -> [UInt32]? { venue.room.tracks[sid]?.info.codecs.last?.layers.map(\.width) }
        let former = widths()
        announce("cid-ann-camera-vp8")
        #expect(backup.nextIDs.isEmpty)
        announce("cid-ann-camera-vp8-again")
        #expect(former != [160] && widths() == former)
        try ann.unpublish(Self.backup)
        #expect(Set(backup.clientIDs) == ["cid-ann-camera-vp8-again"])
        #expect(widths() == [160])
    }

    @Test func `a pause of the codec that somebody has left is not taken for one of the other`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", Self.both)], policy: .regression, in: venue)
        try ann.publishBackup(of: "camera")
        venue.run(for: .seconds(Int64(1)))
        for turn in 0..<3 { try Self.send(ann, ["camera", Self.backup], from: turn * 100) }
        let person = try #require(venue.room.people.first { $0.identity == "bob" })
        let peer = try #require(person.subscriber).id
        let track = try #require(venue.room.people.first?.tracks.last)
        _ = others[0].news()
        // As where it was decided in the moment before.
        venue.room.tellStreamState(try #require(track.primary.publication), peer, isPaused: true, at: venue.now)
        venue.drain()
        #expect(!others[0].news().contains { $0.hasPrefix("< stream_state") })
        #expect(!person.isPaused(track))
        venue.room.tellStreamState(
            try #require(track.backup?.publication), peer, isPaused: true, at: venue.now)
        venue.drain()
        #expect(others[0].news() == ["< stream_state camera paused"])
        #expect(person.isPaused(track))
    }

    @Test func `a first codec whose encoder goes over to the second is for those who wait, until it is back`() throws {
        let venue = Venue()
        let (ann, others) = try Self.meet([("bob", [.vp8]), ("cat", Self.both), ("dan", [.h264])], in: venue)
        let sid = TrackSID(rawValue: try #require(ann.track("camera")).sid)
        func waiting() -> Int? { venue.room.tracks[sid]?.waiting.count }
        try Self.send(ann, ["camera"])
        #expect(waiting() == 1)
        for (round, format) in [PayloadFormat.vp8, .h264].enumerated() {
            ann.encodes = format
            try ann.offer()
            venue.run(for: .milliseconds(100))
            ann.wantsKeyFrame = true
            for number in 0..<60 {
                try ann.picture((round + 1) * 100 + number, "camera", format: format)
                venue.run(for: .milliseconds(33))
            }
            #expect(waiting() == round)
        }
        #expect(Self.formats(others[0], of: ann) == [.vp8])
        #expect(Self.formats(others[1], of: ann) == [.h264, .vp8, .h264])
        #expect(Self.formats(others[2], of: ann) == [.h264])
        #expect(Self.quality(ann).last == "< subscribed_quality camera h264: low medium high, vp8: low medium high")
    }
}
