import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// What subscribers are told of those whom they hear and see: who speaks, and how their connections are.
@Suite struct SpeakersAndQualityTests {
    @Test func `those who speak are told to those who hear them, and to themselves`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        let cat = try venue.join("cat", request: { $0.connectionSettings.autoSubscribe = false })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("voice", .audio)
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        venue.run(for: .milliseconds(500))
        for number in 0..<150 {
            try ann.sound(number, "voice", level: number < 75 ? 10 : 127)
            venue.run(for: .milliseconds(20))
        }
        for client in [ann, bob] {
            let speakers = client.lines.filter { $0.hasPrefix("< speakers") }
            #expect(speakers.first == "< speakers ann speaks")
            #expect(speakers.last == "< speakers ann is silent")
        }
        #expect(!cat.lines.contains { $0.hasPrefix("< speakers") })
        for number in 150..<200 {
            try ann.sound(number, "voice", level: 10)
            venue.run(for: .milliseconds(20))
        }
        _ = bob.news()
        try ann.unpublish("voice")
        #expect(bob.lines.contains("< speakers ann is silent"), "a track that is over is not heard any more")
    }

    @Test func `what a shared screen plays makes nobody a speaker, and speech beside it does`() throws {
        let venue = Venue()
        let (ann, bob) = (try venue.join("ann"), try venue.join("bob"))
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("film", .audio, source: .screenShareAudio)
        #expect(venue.run { ann.lines.contains("< track_subscribed film") })
        try ann.publish("voice", .audio, source: .unknown)
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        for number in 0..<75 {
            try ann.sound(number, "film", level: 10)
            venue.run(for: .milliseconds(20))
        }
        #expect(bob.numbers(of: ann.track("film")).count > 50)
        for client in [ann, bob] { #expect(!client.lines.contains { $0.hasPrefix("< speakers") }) }
        for number in 0..<75 {
            try ann.sound(number, "voice", level: 10)
            venue.run(for: .milliseconds(20))
        }
        #expect(bob.lines.contains("< speakers ann speaks"))
    }

    @Test func `who begins or ends to have something of somebody in mid-sentence is told so`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        let cat = try venue.join("cat", request: { $0.connectionSettings.autoSubscribe = false })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("voice", .audio)
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        var number = 0
        func speak() throws {
            for _ in 0..<50 {
                try ann.sound(number, "voice", level: 10)
                number += 1
                venue.run(for: .milliseconds(20))
            }
        }
        func subscribe(_ client: TestClient, _ title: String, _ isWanted: Bool) throws {
            let sid = try #require(ann.track(title)).sid
            venue.send(.subscription(.with { ($0.trackSids, $0.subscribe) = ([sid], isWanted) }), from: client)
        }
        func speakers(_ client: TestClient) -> [String] { client.news().filter { $0.hasPrefix("< speakers") } }
        try speak()
        #expect(speakers(bob).last == "< speakers ann speaks")
        try subscribe(bob, "voice", false)
        #expect(speakers(bob).isEmpty, "it has the camera")
        try subscribe(bob, "camera", false)
        #expect(speakers(bob) == ["< speakers ann is silent"])
        try speak()
        #expect(speakers(bob).isEmpty)
        try subscribe(bob, "voice", true)
        #expect(speakers(bob) == ["< speakers ann speaks"])
        // Somebody who has the camera alone, and to whom that is lost.
        #expect(speakers(cat).isEmpty)
        try subscribe(cat, "camera", true)
        #expect(speakers(cat) == ["< speakers ann speaks"])
        try ann.unpublish("camera")
        #expect(speakers(cat) == ["< speakers ann is silent"])
        let dan = try venue.join("dan")
        #expect(speakers(dan) == ["< speakers ann speaks"])
    }

    @Test func `who leaves in the middle of a word is told nothing more, and the others that it is silent`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("voice", .audio)
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        for number in 0..<75 {
            try ann.sound(number, "voice", level: 10)
            venue.run(for: .milliseconds(20))
        }
        #expect(ann.lines.contains("< speakers ann speaks"))
        _ = bob.news()
        try venue.room.removeParticipant("ann", at: venue.now)
        venue.drain()
        #expect(ann.lines.suffix(2) == ["< leave participantRemoved disconnect", "< closed"])
        #expect(bob.lines.contains("< speakers ann is silent"))
    }

    @Test func `a publisher that leaves out layers is not said to be well, unless nobody wants them`() throws {
        let venue = Venue()
        let (ann, bob) = (try venue.join("ann"), try venue.join("bob"))
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video, layers: ["q", "h", "f"])
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        var number = 0
        func show(_ layers: [String], seconds: Int) throws {
            for _ in 0..<(seconds * 30) {
                try ann.picture(number, "camera", layers: layers)
                number += 1
                venue.run(for: .milliseconds(33))
            }
        }
        try show(["q", "h", "f"], seconds: 11)
        // In the order of their ids.
        let both = ["< quality ann excellent, bob excellent", "< quality bob excellent, ann excellent"]
        #expect(bob.news().contains(where: both.contains))
        try show(["q"], seconds: 4)
        #expect(!bob.news().contains { $0.contains("ann good") }, "it may be about to come back")
        try show(["q"], seconds: 12)
        #expect(bob.news().contains { $0.contains("ann good") })
        venue.send(
            .trackSetting(
                .with {
                    $0.trackSids = [ann.track("camera")?.sid ?? ""]
                    $0.quality = .low
                }), from: bob)
        try show(["q"], seconds: 30)
        #expect(bob.news().contains { $0.contains("ann excellent") })
    }

    /// Of sound that comes with earlier packets a quarter may be lost without being missed much.
    @Test(arguments: [("poor", true), ("good", false)])
    func `how connections are is told to those whom it concerns, and again when it changes`(
        _ word: String, _ disablesRedundancy: Bool
    ) throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        let cat = try venue.join("cat", request: { $0.connectionSettings.autoSubscribe = false })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("voice", .audio) { $0.disableRed = disablesRedundancy }
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        var number = 0
        func speak(_ seconds: Int) throws {
            for _ in 0..<(seconds * 50) {
                try ann.sound(number, "voice")
                number += 1
                venue.run(for: .milliseconds(20))
            }
        }
        try speak(11)
        /// Who, and how, in the order in which it was told.
        func said(_ client: TestClient) -> [Substring] {
            client.news().filter { $0.hasPrefix("< quality ") }.flatMap { $0.dropFirst(10).split(separator: ", ") }
        }
        #expect(said(bob).sorted() == ["ann excellent", "bob excellent"])
        #expect(said(cat) == ["cat excellent"])
        #expect(said(ann) == ["ann excellent"])
        var count = 0
        venue.isLost = { client, bytes in
            guard client === ann, bytes.count > 20, bytes[0] & 0xc0 == 0x80,
                bytes[1] & 0x7f < 72 || bytes[1] & 0x7f > 76
            else { return false }
            count += 1
            return count % 4 == 0
        }
        try speak(11)
        #expect(said(bob) == ["ann \(word)"], "what ann's path loses is not bob's fault")
        #expect(said(ann) == ["ann \(word)"])
        #expect(said(cat).isEmpty)
        // The other way round: bob's own path is bad, and ann's good again.
        venue.isLost = { client, bytes in
            guard client === bob, bytes.count > 20, bytes[0] & 0xc0 == 0x80,
                bytes[1] & 0x7f < 72 || bytes[1] & 0x7f > 76
            else { return false }
            count += 1
            return count % 4 == 0
        }
        try speak(26)
        let later = said(bob)
        #expect(later.contains("bob \(word)") && later.contains("ann excellent"))
    }
}
