import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

@Suite struct SubscribingTests {
    private static func show(_ venue: Venue, _ client: TestClient, _ titles: [String], pictures: Int = 10) throws {
        for number in 0..<pictures {
            for title in titles { try client.picture(number, title) }
            venue.run(for: .milliseconds(32))
        }
    }

    @Test func `a client of one connection is asked for as many sections as it lacks, and no more`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        let titles = (1...5).map { "camera\($0)" }
        for title in titles.prefix(3) { try ann.publish(title, .video) }
        #expect(venue.run { ann.lines.contains("< track_subscribed camera3") })
        let asked = bob.lines.filter { $0.hasPrefix("< media_sections") }
        #expect(asked.allSatisfy { $0 == "< media_sections 0 0" } && !asked.isEmpty, "three are there to begin with")
        _ = bob.news()
        for title in titles.suffix(2) { try ann.publish(title, .video) }
        #expect(venue.run { ann.lines.contains("< track_subscribed camera5") })
        let more = bob.lines.filter { $0.hasPrefix("< media_sections") }.compactMap { $0.split(separator: " ").last }
        #expect(more.compactMap { Int($0) }.reduce(0, +) == 2)
        try Self.show(venue, ann, titles)
        for title in titles { #expect(bob.numbers(of: ann.track(title)).last == 10) }
        let media = try SessionDescription(parsing: try #require(bob.answers.last).sdp).media
        #expect(media.filter { $0.kind == "video" }.count == 5)
        #expect(
            Set(try #require(bob.answers.last).midToTrackID.values) == Set(titles.compactMap { ann.track($0)?.sid }))
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `a publisher is told that somebody has its track when media can flow to them, and of nobody who is hidden`(
        _ mode: ConnectionMode
    ) throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let ghost = try venue.join("ghost", grants: { $0.hidden = true })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        venue.run(for: .milliseconds(500))
        try Self.show(venue, ann, ["camera"])
        #expect(ghost.numbers(of: ann.track("camera")).count == 10)
        let subscribed = "< track_subscribed camera"
        #expect(!ann.lines.contains(subscribed))
        venue.isLost = { client, _ in client.name == "bob" }
        let bob = try venue.join("bob", mode)
        venue.run(for: .milliseconds(500))
        let description = mode == .single ? bob.answers.last : bob.offers.last
        #expect(description?.midToTrackID.count == 1, "it has been agreed on")
        #expect(!ann.lines.contains(subscribed))
        venue.isLost = { _, _ in false }
        #expect(venue.run { ann.lines.contains(subscribed) })
    }

    @Test func `a client that never offers what it is asked for is not asked for ever`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        bob.isObedient = false
        for number in 1...4 {
            try ann.publish("camera\(number)", .video)
            venue.run(for: .milliseconds(100))
        }
        for _ in 0..<20 {
            // An offer, but nothing new in it.
            try bob.offer()
            venue.run(for: .milliseconds(100))
        }
        #expect(bob.answers.last?.midToTrackID.count == 3)
        let asked = bob.lines.filter { $0.hasPrefix("< media_sections") }
        #expect(asked.contains("< media_sections 0 1"))
        #expect(asked.count < 10)
        #expect(bob.lines.suffix(4).allSatisfy { $0 == "> offer" || $0.hasPrefix("< answer") })
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `who asks for a track by name gets it, and no longer when it says so`(_ mode: ConnectionMode) throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob", mode, request: { $0.connectionSettings.autoSubscribe = false })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        try ann.publish("other", .video)
        venue.run(for: .milliseconds(300))
        let sid = try #require(ann.track("camera")).sid
        #expect(!bob.lines.contains { $0.contains("with") })
        for _ in 0..<3 {
            venue.send(
                .subscription(
                    .with {
                        $0.trackSids = [sid]
                        $0.subscribe = true
                    }), from: bob)
            venue.run(for: .milliseconds(500))
            let before = bob.frames[sid]?.count ?? 0
            try Self.show(venue, ann, ["camera", "other"], pictures: 20)
            #expect((bob.frames[sid]?.count ?? 0) > before + 10)
            venue.send(
                .subscription(
                    .with {
                        $0.participantTracks = [
                            .with {
                                $0.participantSid = ann.sid
                                $0.trackSids = [sid]
                            }
                        ]
                    }), from: bob)
            venue.run(for: .milliseconds(500))
            let after = bob.frames[sid]?.count
            try Self.show(venue, ann, ["camera", "other"])
            #expect(bob.frames[sid]?.count == after)
        }
        #expect(bob.frames[ann.track("other")?.sid ?? ""] == nil)
        let description = mode == .single ? bob.answers.last : bob.offers.last
        let media = try SessionDescription(parsing: try #require(description).sdp).media
        // The client's own of one connection; of two, one each time, for some clients hear of a track in a section
        // once.
        #expect(media.filter { $0.kind == "video" }.count == 3)
        #expect(!bob.lines.contains { $0.hasPrefix("!") })
        _ = bob.news()
        venue.send(
            .subscription(
                .with {
                    $0.trackSids = ["TR_nobody's"]
                    $0.subscribe = true
                }), from: bob)
        #expect(bob.news() == ["> subscribe", "< subscription_response TR_nobody's seTrackNotfound"])
    }

    @Test func `a request that names tracks without end is answered to an end`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        _ = ann.news()
        venue.send(
            .subscription(
                .with {
                    $0.trackSids = (0..<10_000).map { "TR_\($0)" }
                    $0.subscribe = true
                }), from: ann)
        #expect(ann.news().count == 1 + RoomMachine.maximumRefusals)
    }

    @Test func `who was named by a session may have the tracks in the next one as well`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.send(
            .subscriptionPermission(
                .with {
                    $0.trackPermissions = [
                        .with {
                            $0.participantSid = bob.sid
                            $0.allTracks = true
                        }
                    ]
                }), from: ann)
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        for name in ["bob", "cat"] { try venue.join(name) }
        let sid = try #require(ann.track("camera")).sid
        let people = venue.room.people.suffix(2)
        #expect(people.map(\.identity) == ["bob", "cat"] && people.first?.sid.rawValue != bob.sid)
        #expect(people.map { $0.subscriptions.keys.map(\.rawValue) } == [[sid], []])
    }

    @Test func `who may have a track is named by session or identity, for all tracks or some`() throws {
        let venue = Venue()
        for name in ["ann", "bob", "cat"] { try venue.join(name) }
        let (ann, bob, cat) = (venue.room.people[0], venue.room.people[1], venue.room.people[2])
        let (camera, voice) = (TrackSID(rawValue: "TR_camera"), TrackSID(rawValue: "TR_voice"))
        let rule = SubscriberRule(
            .with {
                $0.trackPermissions = [
                    .with {
                        $0.participantSid = ann.sid.rawValue
                        $0.allTracks = true
                    },
                    .with {
                        $0.participantIdentity = "bob"
                        $0.allTracks = true
                    },
                    // The last one counts.
                    .with {
                        $0.participantIdentity = "bob"
                        $0.trackSids = [camera.rawValue]
                    },
                    // Of nobody.
                    .with {
                        $0.participantSid = "PA_gone"
                        $0.allTracks = true
                    },
                    // The identity counts, where there are both.
                    .with {
                        $0.participantSid = cat.sid.rawValue
                        $0.participantIdentity = "dan"
                        $0.allTracks = true
                    },
                ]
            }, among: venue.room.people)
        #expect([ann, bob, cat].map { rule.allow($0, camera) } == [true, true, false])
        #expect([ann, bob, cat].map { rule.allow($0, voice) } == [true, false, false])
        #expect(SubscriberRule(.with { $0.allParticipants = true }, among: []).allow(cat, voice))
    }

    @Test func `a track that is named without end is looked at once`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        try ann.publish("camera", .video)
        let sid = try #require(ann.track("camera")).sid
        #expect(venue.room.known(Array(repeating: sid, count: 1_000) + ["TR_gone"]).map(\.sid.rawValue) == [sid])
    }

    @Test func `a publisher says who may have its tracks, and both sides are told`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        let cat = try venue.join("cat", .dual)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.send(
            .subscriptionPermission(
                .with {
                    $0.trackPermissions = [
                        .with {
                            $0.participantIdentity = "cat"
                            $0.allTracks = true
                        }
                    ]
                }), from: ann)
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        venue.run(for: .milliseconds(500))
        try Self.show(venue, ann, ["camera"])
        #expect(cat.numbers(of: ann.track("camera")).count == 10)
        #expect(bob.numbers(of: ann.track("camera")).isEmpty)
        _ = (bob.news(), cat.news())
        venue.send(.subscriptionPermission(.with { $0.allParticipants = true }), from: ann)
        #expect(bob.news().first == "< subscription_permission ann camera true")
        #expect(cat.news().isEmpty)
        venue.run(for: .milliseconds(500))
        try Self.show(venue, ann, ["camera"], pictures: 30)
        #expect(!bob.numbers(of: ann.track("camera")).isEmpty)
        _ = (bob.news(), cat.news())
        venue.send(.subscriptionPermission(.init()), from: ann)
        #expect(bob.news().first == "< subscription_permission ann camera false")
        venue.run(for: .milliseconds(500))
        let counts = [bob, cat].map { $0.numbers(of: ann.track("camera")).count }
        try Self.show(venue, ann, ["camera"])
        #expect([bob, cat].map { $0.numbers(of: ann.track("camera")).count } == counts)
    }

    @Test func `who may not have a track is told so when it is published, when they come in, and when they ask`() throws
    {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.send(.subscriptionPermission(.init()), from: ann)
        let refusal = "< subscription_permission ann camera false"
        #expect(!bob.news().contains(refusal))
        try ann.publish("camera", .video)
        #expect(venue.run { bob.lines.contains(refusal) })
        // The track is known by then.
        let lines = bob.news()
        let update = try #require(lines.firstIndex { $0.hasPrefix("< update ann") && $0.contains("camera") })
        #expect(try #require(lines.firstIndex(of: refusal)) > update)
        let sid = try #require(ann.track("camera")).sid
        venue.send(.subscription(.with { ($0.trackSids, $0.subscribe) = ([sid], true) }), from: bob)
        #expect(bob.news().filter { $0.hasPrefix("<") } == [refusal])
        let cat = try venue.join("cat")
        #expect(cat.news().contains(refusal))
        venue.send(.subscriptionPermission(.with { $0.allParticipants = true }), from: ann)
        #expect(bob.news().contains("< subscription_permission ann camera true"))
    }

    @Test func `of whose tracks somebody has nothing anyway, it is not told who may have them`() throws {
        let venue = Venue()
        let bob = try venue.join("bob")
        let cat = try venue.join("cat", grants: { $0.canSubscribe = false })
        for name in ["ghost", "ann"] {
            let publisher = try venue.join(name, grants: { $0.hidden = name == "ghost" })
            try publisher.publish("\(name)'s", .audio)
            #expect(venue.run { venue.room.participants.last?.isPublisher == true })
            venue.send(.subscriptionPermission(.init()), from: publisher)
        }
        func told(_ client: TestClient) -> [String] { client.lines.filter { $0.contains("subscription_permission") } }
        #expect(told(bob) == ["< subscription_permission ann ann's false"])
        #expect(told(cat).isEmpty)
    }

    @Test func `permissions that change without end are told in bounds, and the last of them holds in the end`() throws
    {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        venue.run(for: .seconds(Int64(1)))
        _ = bob.news()
        for number in 1...101 {
            venue.send(.subscriptionPermission(.with { $0.allParticipants = number % 2 == 0 }), from: ann)
        }
        venue.run(for: .seconds(Int64(1)))
        let told = bob.news().filter { $0.contains("subscription_permission") }
        #expect(told.count <= RoomMachine.maximumChanges + 1)
        #expect(told.last == "< subscription_permission ann camera false")
        #expect(venue.room.people.allSatisfy { $0.subscriptions.isEmpty })
        // The next interval is another one.
        venue.send(.subscriptionPermission(.with { $0.allParticipants = true }), from: ann)
        #expect(bob.news().first == "< subscription_permission ann camera true")
    }

    @Test func `a track that cannot be had is tried once, however often a request names it`() throws {
        let venue = Venue { $0.limits.transceivers = 2 }
        let ann = try venue.join("ann", .dual)
        let bob = try venue.join("bob", .dual)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        for number in 1...2 { try ann.publish("a\(number)", .video) }
        let cat = try venue.join("cat", .dual)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try cat.publish("c1", .video)
        venue.run(for: .seconds(Int64(1)))
        let sid = try #require(cat.track("c1")).sid
        _ = bob.news()
        venue.send(
            .subscription(
                .with {
                    $0.trackSids = Array(repeating: sid, count: 1_000) + (0..<1_000).map { "TR_\($0)" }
                    $0.subscribe = true
                }), from: bob)
        let told = bob.news()
        #expect(told.count { $0.hasSuffix("seUnknown") } == 1)
        #expect(told.count { $0.hasSuffix("seTrackNotfound") } == RoomMachine.maximumRefusals - 1)
    }

    @Test func `a codec that a subscriber has not is told, and nothing else fails`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob", codecs: [.vp9])
        let cat = try venue.join("cat", .dual, codecs: [.vp9])
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        try ann.publish("voice", .audio)
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        venue.run(for: .milliseconds(500))
        for client in [bob, cat] {
            #expect(client.lines.contains("< subscription_response camera seCodecUnsupported"))
        }
        for number in 0..<30 {
            try ann.sound(number, "voice")
            venue.run(for: .milliseconds(20))
        }
        for client in [bob, cat] { #expect(client.numbers(of: ann.track("voice")).count == 30) }
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `a connection has so many sections, and what is beyond them is not sent`(_ mode: ConnectionMode) throws {
        let venue = Venue { $0.limits.transceivers = 7 }
        let ann = try venue.join("ann", .dual)
        let cat = try venue.join("cat", .dual)
        let bob = try venue.join("bob", mode)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        for number in 1...5 { try ann.publish("a\(number)", .video) }
        for number in 1...5 { try cat.publish("c\(number)", .video) }
        venue.run(for: .seconds(Int64(3)))
        #expect(venue.room.participants.map(\.identity) == ["ann", "cat", "bob"])
        let description = mode == .single ? bob.answers.last : bob.offers.last
        // In a client of one connection three sections are for sound.
        #expect(description?.midToTrackID.count == (mode == .single ? 4 : 7))
        let refused = bob.lines.filter { $0.hasSuffix("seUnknown") }
        #expect(refused.count == (mode == .single ? 0 : 3))
    }

    @Test func `a track for which there was no section comes once there is one`() throws {
        let venue = Venue { $0.limits.transceivers = 2 }
        let people = try ["ann", "cat"].map { try venue.join($0, .dual) }
        let bob = try venue.join("bob", .dual)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        for person in people {
            for number in 1...2 { try person.publish("\(person.name)\(number)", .video) }
        }
        venue.run(for: .seconds(Int64(1)))
        #expect(bob.offers.last?.midToTrackID.count == 2)
        #expect(bob.lines.count { $0.hasSuffix("seUnknown") } == 2)
        _ = bob.news()
        try people[0].unpublish("ann1")
        #expect(venue.run { people[1].lines.contains("< track_subscribed cat1") })
        venue.run(for: .milliseconds(500))
        try Self.show(venue, people[1], ["cat1"])
        #expect(bob.numbers(of: people[1].track("cat1")).last == 10)
        #expect(!bob.lines.contains { $0.hasSuffix("seUnknown") }, "it was told that there is none for the other")
    }

    @Test func `a client that serves as many as come is asked on`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        for number in 1...3 { try ann.publish("camera\(number)", .video) }
        venue.run(for: .milliseconds(500))
        bob.isObedient = false
        try ann.publish("camera4", .video)
        for number in 5...14 {
            try ann.publish("camera\(number)", .video)
            venue.run(for: .milliseconds(100))
            // One section at a time, and one track more.
            try bob.offerSection(.video)
            #expect(bob.lines.last == "< media_sections 0 1")
        }
    }
}
