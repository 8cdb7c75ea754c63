import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Those who are sent a room's tracks in sections that they have offered once, as WHEP has it.
@Suite struct PlayingByExchangeTests {
    private static let both = [
        OfferedSection(title: "picture", kind: .video, direction: .recvonly),
        OfferedSection(title: "sound", kind: .audio, direction: .recvonly),
    ]

    private static func play(
        _ venue: Venue, _ name: String = "eve", _ sections: [OfferedSection] = both,
        codecs: [CodecParameters] = [.vp8, .h264], grants: (inout VideoGrants) -> Void = { _ in },
        choice change: (inout PlaybackChoice) -> Void = { _ in }
    ) throws -> TestClient {
        var choice = PlaybackChoice()
        change(&choice)
        return try venue.open(name, sections, .playing(choice), codecs: codecs) {
            $0.hidden = true
            grants(&$0)
        }
    }

    /// Pictures and sounds of some people, one after the other.
    private static func send(_ count: Int = 20, from people: [TestClient], _ venue: Venue, from first: Int = 0) throws {
        for number in first..<first + count {
            for one in people {
                try one.picture(number, "camera")
                try one.sound(number, "microphone")
            }
            venue.run(for: .milliseconds(30))
        }
    }

    private static func publisher(_ venue: Venue, _ name: String) throws -> TestClient {
        let client = try venue.join(name)
        try client.publish("camera", .video)
        try client.publish("microphone", .audio)
        return client
    }

    @Test func `a player is sent what is there, and nobody sees it`() throws {
        let venue = Venue()
        let ann = try Self.publisher(venue, "ann")
        venue.run(for: .milliseconds(500))
        _ = ann.news()
        let eve = try Self.play(venue)
        #expect(venue.run { venue.room.participants.last?.state == .active })
        try Self.send(from: [ann], venue)
        #expect(eve.numbers(in: "picture").count >= 15 && eve.numbers(in: "sound").count >= 15)
        #expect(!ann.news().contains { $0.contains("eve") } && eve.news().isEmpty)
        #expect(venue.room.info.numParticipants == 2, "it counts all the same")
        venue.close(eve)
        #expect(eve.news() == ["< closed"] && venue.room.participants.map(\.identity) == ["ann"])
    }

    @Test func `what comes after the player is sent in its sections, and what follows goes on with the same streams`()
        throws
    {
        let venue = Venue()
        let eve = try Self.play(venue)
        #expect(venue.run { venue.room.participants.last?.state == .active })
        let ann = try Self.publisher(venue, "ann")
        venue.run(for: .milliseconds(500))
        try Self.send(from: [ann], venue)
        #expect(eve.numbers(in: "picture").count >= 15)
        venue.send(.leave(.init()), from: ann)
        venue.forget(ann)
        venue.run(for: .seconds(Int64(1)))
        let before = (eve.numbers(in: "picture").count, eve.numbers(in: "sound").count)
        let bob = try Self.publisher(venue, "bob")
        venue.run(for: .milliseconds(500))
        try Self.send(from: [bob], venue)
        #expect(eve.numbers(in: "picture").count >= before.0 + 15)
        #expect(eve.numbers(in: "sound").count >= before.1 + 15)
        let streams = eve.publisherStats(at: venue.now).inboundRTP
        #expect(streams.count == 2, "one source for each section, whoever is in it")
        #expect(streams.allSatisfy { $0.packetsLost <= 0 })
        // Time went on, too: later pictures have later times.
        let times = (eve.frames["picture"] ?? []).map(\.timestamp)
        #expect(zip(times, times.dropFirst()).allSatisfy { Int32(bitPattern: $1 &- $0) > 0 })
    }

    @Test func `a picture has its own sound, and who asks for somebody, a source or a track has nothing else`() throws {
        let venue = Venue()
        let radio = try venue.join("radio")
        try radio.publish("microphone", .audio)
        let ann = try Self.publisher(venue, "ann")
        let bob = try Self.publisher(venue, "bob")
        try bob.publish("screen", .video, source: .screenShare)
        venue.run(for: .milliseconds(500))
        func tracks(_ change: (inout PlaybackChoice) -> Void = { _ in }) throws -> Set<String> {
            let eve = try Self.play(venue, choice: change)
            let player = try #require(venue.room.people.last)
            let names = player.subscriptions.values.map { "\($0.track.publisher.identity) \($0.track.info.name)" }
            venue.close(eve)
            return Set(names)
        }
        #expect(try tracks() == ["ann camera", "ann microphone"])
        #expect(try tracks { $0.identity = "bob" } == ["bob camera", "bob microphone"])
        #expect(try tracks { $0.sources = [.screenShare] } == ["bob screen", "bob microphone"])
        let sid = TrackSID(rawValue: try #require(bob.track("camera")?.sid))
        #expect(try tracks { $0.tracks = [sid] } == ["bob camera"])
        #expect(try tracks { $0.identity = "nobody" }.isEmpty)
        _ = ann
    }

    @Test func `a player is given nothing that it cannot decode, and what it can when that comes`() throws {
        let venue = Venue()
        let ann = try Self.publisher(venue, "ann")
        let eve = try Self.play(venue, codecs: [.h264])
        venue.run(for: .milliseconds(500))
        let player = try #require(venue.room.people.last)
        #expect(player.subscriptions.values.map(\.track.kind) == [.audio])
        let bob = try venue.join("bob", codecs: [.h264])
        try bob.publish("camera", .video)
        venue.run(for: .milliseconds(500))
        #expect(Set(player.subscriptions.values.map(\.track.publisher.identity)) == ["ann", "bob"])
        try Self.send(from: [ann], venue)
        #expect(eve.numbers(in: "sound").count >= 15 && eve.numbers(in: "picture").isEmpty)
    }

    @Test func `who may not see anybody, or offers to send, is refused, and a room is full of players, too`() throws {
        let venue = Venue { $0.maximumParticipants = 2 }
        func refusal(
            _ sections: [OfferedSection] = Self.both, grants: (inout VideoGrants) -> Void = { _ in }
        ) -> JoinRefusal? {
            do {
                _ = try Self.play(venue, "eve", sections, grants: grants)
                return nil
            } catch {
                return error as? JoinRefusal
            }
        }
        #expect(refusal(grants: { $0.canSubscribe = false }) == .mayNotSubscribe)
        guard case .unsuitableOffer = refusal([.init(title: "picture", kind: .video)]) else {
            Issue.record("an offer to send was taken")
            return
        }
        _ = (try Self.play(venue, "one"), try Self.play(venue, "two"))
        #expect(refusal() == .roomFull(limit: 2))
    }

    @Test func `who may no longer see anybody is sent nothing more`() throws {
        let venue = Venue()
        let ann = try Self.publisher(venue, "ann")
        let eve = try Self.play(venue)
        #expect(venue.run { venue.room.participants.last?.state == .active })
        try Self.send(from: [ann], venue)
        let before = eve.numbers(in: "picture").count
        #expect(before > 0)
        _ = try venue.room.updateParticipant(
            .with {
                $0.identity = "eve"
                $0.permission = .with { $0.hidden = true }
            }, at: venue.now)
        venue.run(for: .milliseconds(300))
        let last = eve.numbers(in: "picture").count
        try Self.send(from: [ann], venue, from: 20)
        #expect(eve.numbers(in: "picture").count == last)
    }

    @Test func `a publisher that lets nobody subscribe is played no longer, and again when it does`() throws {
        let venue = Venue()
        let ann = try Self.publisher(venue, "ann")
        let eve = try Self.play(venue)
        #expect(venue.run { venue.room.participants.last?.state == .active })
        try Self.send(from: [ann], venue)
        #expect(eve.numbers(in: "picture").count > 0)
        venue.send(.subscriptionPermission(.init()), from: ann)
        venue.run(for: .milliseconds(300))
        let last = eve.numbers(in: "picture").count
        try Self.send(from: [ann], venue, from: 20)
        #expect(eve.numbers(in: "picture").count == last)
        venue.send(.subscriptionPermission(.with { $0.allParticipants = true }), from: ann)
        venue.run(for: .milliseconds(300))
        ann.wantsKeyFrame = true
        try Self.send(40, from: [ann], venue, from: 40)
        #expect(eve.numbers(in: "picture").count > last)
    }

    @Test func `new paths are found without an offer, and media go on`() throws {
        let venue = Venue()
        let sections = [OfferedSection(title: "camera", kind: .video), .init(title: "microphone", kind: .audio)]
        let obs = try venue.open("obs", sections)
        let eve = try Self.play(venue)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try Self.send(from: [obs], venue)
        for client in [obs, eve] {
            let signal = try #require(client.signal)
            let connection = try #require(venue.room.bySignal[signal]?.publisher)
            let former = venue.room.media.withMachine(of: connection.id) { $0.remoteDescription?.sdp } ?? nil
            let fragment = try TrickleFragment(parsing: try client.restartFragment(at: venue.now))
            let first = try #require(try venue.room.take(fragment, from: signal, isRestart: true, at: venue.now))
            let answer = first.fragment
            #expect(first.isNew)
            let ours = try TrickleFragment(parsing: answer)
            #expect(ours.usernameFragment != nil && ours.password != nil && ours.isComplete)
            #expect(ours.candidates.contains { $0.line.contains("198.51.100.1 7882 typ host") })
            venue.drain()
            // Checks under the new name find their way from wherever they come.
            #expect(venue.fragments[ours.usernameFragment ?? ""] != nil)
            try client.takeRestart(answer, at: venue.now)
            // Again, it is no news, but the answer may have been lost.
            #expect(try venue.room.take(fragment, from: signal, at: venue.now) == nil)
            let again = try venue.room.take(fragment, from: signal, isRestart: true, at: venue.now)
            #expect(again == OwnTransport(fragment: answer, isNew: false))
            // What was kept of the paths before changes nothing.
            var late = fragment
            (late.usernameFragment, late.password) = (former?.credential("ice-ufrag"), former?.credential("ice-pwd"))
            #expect(throws: ExchangeRefusal.former) {
                try venue.room.take(late, from: signal, at: venue.now)
            }
        }
        venue.run(for: .seconds(Int64(2)))
        let before = eve.numbers(in: "picture").count
        try Self.send(from: [obs], venue, from: 20)
        #expect(eve.numbers(in: "picture").count >= before + 15)
        // Consent to the new paths lasts.
        venue.run(for: .seconds(Int64(40)))
        #expect(venue.room.participants.map(\.identity) == ["obs", "eve"])
    }

    @Test func `a fragment that cannot be used changes nothing`() throws {
        let venue = Venue()
        let obs = try venue.open("obs", [.init(title: "camera", kind: .video)])
        #expect(venue.run { venue.room.participants.first?.state == .active })
        let signal = try #require(obs.signal)
        func refusal(_ text: String) -> ExchangeRefusal? {
            do {
                _ = try venue.room.take(try TrickleFragment(parsing: text), from: signal, at: venue.now)
                return nil
            } catch {
                return error as? ExchangeRefusal
            }
        }
        guard case .unusable = refusal("a=ice-ufrag:else\r\n") else {
            Issue.record("a credential without a password was taken")
            return
        }
        let elsewhere = "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:7\r\na=candidate:1 1 udp 1 203.0.113.9 9 typ host\r\n"
        #expect(refusal(elsewhere) == nil)
        venue.run(for: .seconds(Int64(3)))
        #expect(venue.room.participants.first?.state == .active)
        venue.close(obs)
        #expect(refusal("a=end-of-candidates\r\n") == .noSuchSession)
    }
}
