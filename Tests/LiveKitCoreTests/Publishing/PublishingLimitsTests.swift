import CongestionLinks
import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// What publishers may not do, and how much of what they may.
@Suite struct PublishingLimitsTests {
    @Test func `what a participant may not publish is refused, and its media go nowhere`() throws {
        let venue = Venue()
        let bob = try venue.join("bob")
        let ann = try venue.join("ann", grants: { $0.canPublishSources = ["microphone"] })
        let cat = try venue.join("cat", grants: { $0.canPublish = false })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        #expect(ann.lines.suffix(2) == ["> add_track camera", "< request_response notAllowed"])
        try cat.publish("voice", .audio)
        #expect(cat.lines.last == "< request_response notAllowed")
        try ann.publish("voice", .audio)
        #expect(venue.run { bob.others["ann"]?.tracks.map(\.name) == ["voice"] })
        #expect(bob.others["cat"]?.tracks.isEmpty == true)
        let refused = cat.responses.compactMap { response in
            if case .requestResponse(let refusal) = response { refusal.addTrack.name } else { nil }
        }
        #expect(refused == ["voice"], "the refusal repeats what it refuses")
    }

    @Test func `a source that is allowed is no way to publish another kind of media`() throws {
        let venue = Venue()
        let ann = try venue.join("ann", grants: { $0.canPublishSources = ["microphone", "screen_share"] })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video, source: .microphone)
        #expect(ann.lines.last == "< request_response invalidRequest")
        try ann.publish("voice", .audio, source: .screenShare)
        #expect(ann.lines.last == "< request_response invalidRequest")
        try ann.publish("screen", .video, source: .screenShare)
        #expect(ann.track("screen") != nil)
        // Who says nothing of the source may publish either kind, where nothing is restricted.
        let bob = try venue.join("bob")
        try bob.publish("film", .video, source: .unknown)
        try bob.publish("sound", .audio, source: .unknown)
        #expect(bob.track("film") != nil && bob.track("sound") != nil)
    }

    @Test func `a client can make a room keep so many tracks and so much of each`() throws {
        let venue = Venue { $0.limits.tracksPerParticipant = 2 }
        let ann = try venue.join("ann")
        func add(_ change: (inout LiveKitAddTrackRequest) -> Void) -> String? {
            var request = LiveKitAddTrackRequest.with {
                $0.cid = "c"
                $0.source = .microphone
            }
            change(&request)
            venue.send(.addTrack(request), from: ann)
            return ann.lines.last
        }
        let long = String(repeating: "x", count: 257)
        #expect(add { $0.cid = "" } == "< request_response invalidRequest")
        #expect(add { $0.cid = long } == "< request_response invalidRequest")
        #expect(add { $0.name = long } == "< request_response invalidRequest")
        #expect(add { $0.stream = long } == "< request_response invalidRequest")
        #expect(add { $0.layers = Array(repeating: .init(), count: 33) } == "< request_response invalidRequest")
        #expect(add { $0.type = .data } == "< request_response unsupportedType")
        #expect(add { $0.sid = "TR_x" } == "< request_response notFound")
        #expect(add { $0.name = "one" } == "< track_published one")
        #expect(add { $0.name = "again" } == "< track_published one", "the same id while it waits is the same track")
        #expect(add { $0.cid = "d" } == "< track_published ")
        #expect(add { $0.cid = "e" } == "< request_response limitExceeded")
    }

    @Test func `what a client says beyond the protocol goes to nobody`() throws {
        let venue = Venue()
        let bob = try venue.join("bob")
        // A field of number 1,000 with a text in it.
        func unknown(_ count: Int) -> [UInt8] {
            let length = [UInt8(count & 0x7f) | 0x80, UInt8(count >> 7 & 0x7f) | 0x80, UInt8(count >> 14)]
            return [0xc2, 0x3e] + length + [UInt8](repeating: 0x78, count: count)
        }
        func request(_ cid: String, _ count: Int) throws -> LiveKitAddTrackRequest {
            let layer = try LiveKitVideoLayer(serializedBytes: unknown(count))
            #expect(layer.unknownFields.data.count > count)
            return .with {
                $0.cid = cid
                $0.type = .video
                $0.source = .camera
                $0.layers = [layer]
            }
        }
        let ann = try venue.join("ann") { _ in
        } claims: { _ in
        } request: {
            $0.clientInfo.capabilities = Array(repeating: .capPacketTrailer, count: 100_000) + [.UNRECOGNIZED(99)]
        }
        #expect(bob.others["ann"]?.capabilities == [.capPacketTrailer])
        venue.send(.addTrack(try request("a", 10_000)), from: ann)
        #expect(ann.lines.last == "< track_published ")
        #expect(ann.published["a"]?.layers == [LiveKitVideoLayer()])
        venue.send(.addTrack(try request("b", 20_000)), from: ann)
        #expect(ann.lines.last == "< request_response invalidRequest")
        guard case .requestResponse(let response)? = ann.responses.last else {
            Issue.record("no refusal")
            return
        }
        #expect(response.request == nil, "it would be sent as much again")
    }

    @Test func `changes without end are told in bounds, and the last of them in the end`() throws {
        let venue = Venue()
        let ann = try venue.join("ann", grants: { $0.canUpdateOwnMetadata = true })
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        venue.run(for: .seconds(Int64(2)))
        let sid = try #require(ann.track("camera")).sid
        let tokens = venue.tokens.values.reduce(0, +)
        _ = bob.news()
        for number in 1...101 {
            venue.send(
                .mute(
                    .with {
                        $0.sid = sid
                        $0.muted = number % 2 == 1
                    }), from: ann)
            venue.send(.updateMetadata(.with { $0.metadata = "\(number)" }), from: ann)
            for _ in 0..<2 {
                venue.send(
                    .updateVideoTrack(
                        .with {
                            $0.trackSid = sid
                            $0.width = UInt32(number)
                        }), from: ann)
            }
        }
        venue.run(for: .seconds(Int64(2)))
        #expect(bob.news().count { $0.hasPrefix("< update") } <= RoomMachine.maximumChanges + 1)
        let told = try #require(bob.others["ann"])
        #expect(told.metadata == "101" && told.tracks.map(\.muted) == [true] && told.tracks.map(\.width) == [101])
        #expect(ann.others["ann"]?.metadata == "101", "it is told itself, too")
        #expect(venue.tokens.values.reduce(0, +) - tokens == 2)
    }

    @Test
    func `a client that publishes and takes back without end is told of in bounds, and of the last track in the end`()
        throws
    {
        let venue = Venue()
        let clients = try venue.assemble([("ann", .single), ("bob", .dual)])
        let (ann, bob) = (clients[0], clients[1])
        let events = venue.webhooks.count
        for _ in 0..<40 {
            try ann.publish("camera", .video)
            try ann.unpublish("camera")
        }
        try ann.publish("last", .video)
        // One for each that was published, and one at the interval's end.
        #expect(bob.news().count { $0.hasPrefix("< update") } <= RoomMachine.maximumChanges)
        #expect(venue.webhooks.count - events <= 2 * RoomMachine.maximumChanges)
        #expect(venue.run { ann.lines.contains("< track_subscribed last") })
        #expect(bob.news().count { $0.hasPrefix("< update") } <= 2)
        #expect(bob.others["ann"]?.tracks.map(\.name) == ["last"])
        venue.run(for: .milliseconds(500))
        for number in 0..<20 {
            try ann.picture(number, "last")
            venue.run(for: .milliseconds(32))
        }
        #expect(bob.numbers(of: ann.track("last")) == (1...20).map { UInt8($0) })
    }
}
