import LiveKitProtocol
import RTCEngine
import RTCWire
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Those who publish by one offer and its answer, as WHIP has it.
@Suite struct PublishingByExchangeTests {
    private static let both = [OfferedSection(title: "camera", kind: .video), .init(title: "sound", kind: .audio)]

    @Test func `who offers pictures and sound is seen and heard as anybody else`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.first?.state == .active })
        _ = ann.news()
        let obs = try venue.open("obs", Self.both)
        #expect(venue.run { ann.others["obs"]?.isPublisher == true })
        // Nobody is told of its tracks before there is a path for them.
        #expect(
            ann.news().filter { $0.hasPrefix("< update") }.prefix(3) == [
                "< update obs joined", "< update obs active", "< update obs active [camera, microphone]",
            ])
        let info = try #require(ann.others["obs"])
        #expect(info.kind == .ingress && info.isPublisher)
        #expect(info.tracks.map(\.source) == [.camera, .microphone])
        #expect(info.tracks.map(\.mimeType) == ["video/VP8", "audio/red"])
        for number in 0..<20 {
            try obs.picture(number, "camera")
            try obs.sound(number, "sound")
            venue.run(for: .milliseconds(30))
        }
        #expect(ann.numbers(of: info.tracks.first).count >= 15)
        #expect(ann.numbers(of: info.tracks.last).count >= 15)
        #expect(venue.webhooks.map(\.event).contains("track_published"))
        #expect(obs.news().isEmpty)
    }

    @Test func `who comes by LiveKit's path is of the token's kind, and its tracks have LiveKit's names`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let three = Self.both + [OfferedSection(title: "other", kind: .video)]
        for (name, kind, told) in [("obs", "", LiveKitParticipantInfo.Kind.standard), ("sip", "sip", .sip)] {
            try venue.open(name, three, .publishing(.liveKits), kind: kind)
            #expect(venue.run { ann.others[name]?.tracks.count == 3 })
            let info = try #require(ann.others[name])
            #expect(info.kind == told)
            #expect(info.tracks.map(\.source) == [.camera, .microphone, .camera])
            #expect(
                info.tracks.map(\.name) == ["synthesized-camera", "synthesized-microphone", "synthesized-camera"])
            #expect(info.tracks.map(\.disableDtx) == [false, true, false])
        }
        // A token that lets the screen's alone be published makes it that here, too.
        try venue.open(
            "screen", [three[0]], .publishing(.liveKits), grants: { $0.canPublishSources = ["screen_share"] })
        #expect(venue.run { ann.others["screen"]?.tracks.first?.source == .screenShare })
    }

    @Test func `layers are taken by their names, and given out by quality though nobody has told their sizes`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let obs = try venue.open(
            "obs", [OfferedSection(title: "camera", kind: .video, layers: ["q", "h", "f"])])
        #expect(venue.run { ann.others["obs"]?.state == .active })
        let track = try #require(ann.others["obs"]?.tracks.first)
        #expect(track.simulcast && track.layers.map(\.rid) == ["q", "h", "f"])
        #expect(track.layers.map(\.quality) == [.low, .medium, .high])
        var number = 0
        func layers(after settings: LiveKitUpdateTrackSettings) throws -> Set<UInt8> {
            venue.send(.trackSetting(settings), from: ann)
            let before = ann.frames[track.sid]?.count ?? 0
            for _ in 0..<60 {
                try obs.picture(number, "camera", layers: ["q", "h", "f"])
                number += 1
                venue.run(for: .milliseconds(30))
            }
            // Of what came in the end, for a switch takes a key frame.
            return Set((ann.frames[track.sid] ?? []).dropFirst(before + 30).compactMap { $0.payload.dropLast().last })
        }
        let low = LiveKitUpdateTrackSettings.with {
            $0.trackSids = [track.sid]
            $0.quality = .low
        }
        #expect(try layers(after: low) == [1])
        var high = low
        high.quality = .high
        #expect(try layers(after: high) == [3])
    }

    @Test func `all of an offer is taken, or nothing, and then nothing has changed`() throws {
        let venue = Venue()
        func refusal(
            _ sections: [OfferedSection] = Self.both, codecs: [CodecParameters] = [.vp8],
            grants: (inout VideoGrants) -> Void = { _ in }, offer: (String) -> String = { $0 }
        ) -> JoinRefusal? {
            do {
                try venue.open("obs", sections, codecs: codecs, grants: grants, offer: offer)
                return nil
            } catch {
                return error as? JoinRefusal
            }
        }
        #expect(refusal(grants: { $0.roomJoin = false }) == .notAllowed)
        #expect(refusal(grants: { $0.canPublish = false }) == .mayNotPublish)
        #expect(refusal(grants: { $0.canPublishSources = ["camera"] }) == .mayNotPublish)
        for text in ["", "v=0", "nonsense"] {
            guard case .badOffer = refusal(offer: { _ in text }) else {
                Issue.record("\(text) was not refused")
                continue
            }
        }
        let unsuitable: [JoinRefusal?] = [
            refusal([]),
            refusal([.init(title: "camera", kind: .video, direction: .recvonly)]),
            refusal(offer: { $0.replacing("VP8/90000", with: "XP8/90000") }),
            refusal(offer: { $0.replacing("a=group:BUNDLE 0 1", with: "a=group:BUNDLE 0") }),
        ]
        for refusal in unsuitable {
            guard case .unsuitableOffer = refusal else {
                Issue.record("\(String(describing: refusal)) is another reason")
                continue
            }
        }
        #expect(venue.room.participants.isEmpty)
        #expect(venue.webhooks.map(\.event) == ["room_started"])
    }

    /// In the form of libavformat's WHIP: of a stream's profile it writes the first byte alone, and it has named sound
    /// and pictures in the bundle whatever there was.
    private static func offerOfFFmpeg(hasSound: Bool) -> String {
        let print = Array(repeating: "AB", count: 32).joined(separator: ":")
        func section(_ kind: String, mid: Int, type: Int, _ format: [String]) -> [String] {
            var lines = [
                "m=\(kind) 9 UDP/TLS/RTP/SAVPF \(type)", "c=IN IP4 0.0.0.0", "a=ice-ufrag:1d2f3a4b",
                "a=ice-pwd:00112233445566778899aabbccddeeff", "a=fingerprint:sha-256 \(print)", "a=setup:passive",
                "a=mid:\(mid)", "a=sendonly", "a=msid:FFmpeg \(kind)", "a=rtcp-mux",
            ]
            lines += format
            lines += ["a=ssrc:\(7 + mid) cname:FFmpeg", "a=ssrc:\(7 + mid) msid:FFmpeg \(kind)"]
            return lines
        }
        var lines = [
            "v=0", "o=FFmpeg 4489045141692799359 2 IN IP4 127.0.0.1", "s=FFmpegPublishSession", "t=0 0",
            "a=group:BUNDLE 0 1", "a=extmap-allow-mixed", "a=msid-semantic: WMS",
        ]
        if hasSound { lines += section("audio", mid: 0, type: 111, ["a=rtpmap:111 opus/48000/2"]) }
        lines += section(
            "video", mid: 1, type: 106,
            [
                "a=rtcp-rsize", "a=rtpmap:106 H264/90000",
                "a=fmtp:106 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001e",
            ])
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    @Test(arguments: [true, false])
    func `FFmpeg publishes Baseline, with the sound that its bundle names and without`(hasSound: Bool) throws {
        let venue = Venue()
        var grants = VideoGrants()
        grants.roomJoin = true
        var claims = AccessToken.Claims()
        claims.video = grants
        var request = LiveKitJoinRequest()
        request.publisherOffer.sdp = Self.offerOfFFmpeg(hasSound: hasSound)
        let answer = try venue.room.open(
            Arrival(identity: "ffmpeg", claims: claims, mode: .exchange(.publishing(.ours)), request: request),
            at: venue.now)
        let description = try SessionDescription(parsing: answer.sdp)
        #expect(description.media.map(\.kind) == (hasSound ? ["audio", "video"] : ["video"]))
        #expect(description.media.allSatisfy { !$0.isRejected })
        #expect(description.bundleGroups == [hasSound ? ["0", "1"] : ["1"]])
        #expect(answer.sdp.contains("profile-level-id=42001f"))
    }

    @Test func `who publishes takes a place, also with an agent's token`() throws {
        let venue = Venue { $0.maximumParticipants = 1 }
        try venue.open("one", Self.both, kind: "agent") { $0.agent = true }
        #expect(venue.room.participants.map(\.kind) == [.ingress])
        for name in ["two", "three"] {
            #expect(throws: JoinRefusal.roomFull(limit: 1)) {
                try venue.open(name, Self.both, kind: "agent") { $0.recorder = name == "three" }
            }
        }
    }

    @Test func `who publishes turns pictures itself, for not all who watch can`() throws {
        let venue = Venue()
        let obs = try venue.open("obs", Self.both)
        #expect(obs.offered.contains(HeaderExtensionURI.videoOrientation))
        let answer = try #require(obs.answers.last?.sdp)
        #expect(answer.contains("m=video") && !answer.contains(HeaderExtensionURI.videoOrientation))
    }

    @Test func `an offer that only the connection refuses leaves the one who has the identity in peace`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let obs = try venue.open("obs", Self.both)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        let before = try #require(ann.others["obs"])
        let track = try #require(before.tracks.first)
        var number = 0
        func watch() throws -> Int {
            let seen = ann.numbers(of: track).count
            for _ in 0..<20 {
                try obs.picture(number, "camera")
                number += 1
                venue.run(for: .milliseconds(30))
            }
            return ann.numbers(of: track).count - seen
        }
        #expect(try watch() >= 15)
        _ = ann.news()
        let webhooks = venue.webhooks.count
        // Both sides of ICE cannot be lite: as if that had not been looked at before.
        var offer = try SessionDescription(parsing: obs.offered)
        offer.removeAttributes(named: "ice-lite")
        offer = try SessionDescription(parsing: offer.text.replacing("t=0 0\r\n", with: "t=0 0\r\na=ice-lite\r\n"))
        for exchange in [Exchange.publishing(.ours), .playing(PlaybackChoice())] {
            let arrival = Arrival(
                identity: "obs", claims: obs.claims, mode: .exchange(exchange), request: LiveKitJoinRequest())
            #expect(throws: JoinRefusal.self) {
                try venue.room.open(arrival, obs.claims, exchange, offer, at: venue.now)
            }
            venue.drain()
        }
        #expect(obs.signal != nil && obs.news().isEmpty && ann.news().isEmpty)
        #expect(venue.webhooks.count == webhooks)
        #expect(venue.room.participants.map(\.identity) == ["ann", "obs"])
        #expect(try watch() >= 15)
        #expect(ann.others["obs"] == before)
        // And nothing is left of the attempts.
        for client in [ann, obs] { if let signal = client.signal { venue.room.close(signal, at: venue.now) } }
        venue.drain()
        #expect(venue.room.holdsNothing)
    }

    @Test func `an offer that was read before is the one that counts`() throws {
        let venue = Venue()
        let obs = try venue.open("obs", Self.both)
        var request = LiveKitJoinRequest()
        request.publisherOffer.sdp = obs.offered
        var arrival = Arrival(
            identity: "other", claims: obs.claims, mode: .exchange(.publishing(.ours)), request: request)
        try arrival.readOffer()
        // The room does not take the time to read it again.
        arrival.request.publisherOffer.sdp = "nonsense"
        _ = try venue.room.open(arrival, at: venue.now)
        #expect(venue.room.participants.map(\.identity) == ["obs", "other"])
        arrival = Arrival(
            identity: "third", claims: obs.claims, mode: .single,
            request: .with {
                $0.publisherOffer.type = "offer"
                $0.publisherOffer.sdp = "nonsense"
            })
        #expect(throws: JoinRefusal.self) { try arrival.readOffer() }
        venue.drain()
    }

    @Test func `whatever an offer calls its tracks, each of its sections is one`() throws {
        let venue = Venue()
        // Also what somebody might take for the numbers of other sections.
        try venue.open("obs", [OfferedSection(title: "1", kind: .video), .init(title: "0", kind: .audio)])
        #expect(venue.run { venue.room.participants.last?.isPublisher == true })
        let tracks = try #require(venue.room.participants.first).tracks
        #expect(tracks.map(\.source) == [.camera, .microphone])
        try venue.open("other", [OfferedSection(title: "camera", kind: .video), .init(title: "0", kind: .video)])
        #expect(venue.run { venue.room.participants.last?.isPublisher == true })
        #expect(venue.room.participants.last?.tracks.map(\.source) == [.camera, .screenShare])
    }

    @Test func `more sections than somebody may have tracks are refused as such`() throws {
        let venue = Venue { $0.limits.tracksPerParticipant = 1 }
        #expect(
            throws: JoinRefusal.unsuitableOffer("It has more sections than somebody may have tracks (1).")
        ) {
            try venue.open("obs", Self.both)
        }
        #expect(venue.room.participants.isEmpty)
    }

    @Test func `a token for the screen alone publishes the screen`() throws {
        let venue = Venue()
        try venue.open("obs", Self.both, grants: { $0.canPublishSources = ["screen_share", "screen_share_audio"] })
        #expect(venue.run { venue.room.participants.last?.isPublisher == true })
        #expect(venue.room.participants.first?.tracks.map(\.source) == [.screenShare, .screenShareAudio])
    }

    @Test func `it ends when its client says so, when it is sent away, and when another has its name`() throws {
        let venue = Venue()
        let first = try venue.open("obs", Self.both)
        #expect(venue.run { venue.room.participants.first?.state == .active })
        venue.close(first)
        #expect(first.news() == ["< closed"] && venue.room.participants.isEmpty)
        let second = try venue.open("obs", Self.both)
        let third = try venue.open("obs", Self.both)
        #expect(second.news() == ["< closed"])
        try venue.room.removeParticipant("obs", at: venue.now)
        venue.drain()
        #expect(third.news() == ["< closed"])
        #expect(venue.room.holdsNothing)
        #expect(
            venue.webhooks.map(\.event).filter { $0.hasPrefix("participant") } == [
                "participant_joined", "participant_left", "participant_connection_aborted",
                "participant_connection_aborted",
            ])
    }

    @Test func `whose media never come is out after a minute, and whose media have gone when they are missed`() throws {
        let venue = Venue()
        let silent = try venue.open("silent", Self.both)
        let obs = try venue.open("obs", Self.both)
        venue.isLost = { client, _ in client === silent }
        #expect(venue.run { venue.room.participants.last?.state == .active })
        venue.run(for: .seconds(Int64(58)))
        #expect(venue.room.participants.count == 2)
        #expect(venue.run { venue.room.participants.map(\.identity) == ["obs"] })
        #expect(silent.news() == ["< closed"])
        venue.isLost = { _, _ in true }
        #expect(venue.run(atMost: .seconds(Int64(60))) { venue.room.participants.isEmpty })
        #expect(obs.news() == ["< closed"])
    }

    @Test func `nothing is kept for it that it could never be told`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        try venue.open("obs", Self.both)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(500))
        try ann.publish("camera", .video)
        for number in 0..<10 { try ann.say("message \(number)") }
        venue.run(for: .seconds(Int64(1)))
        let obs = try #require(venue.room.people.last)
        #expect(obs.identity == "obs" && obs.outbox.isEmpty && obs.subscriptions.isEmpty)
        try venue.room.updateSubscriptions(
            .with {
                $0.identity = "obs"
                $0.trackSids = [ann.track("camera")?.sid ?? ""]
                $0.subscribe = true
            }, at: venue.now)
        #expect(obs.subscriptions.isEmpty)
    }
}
