import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Sound that comes with that of earlier packets (RFC 2198), from its announcement to whoever gets it; and Opus alone,
/// of which lost packets are asked for instead.
@Suite struct RedundancyTests {
    private static let alone: [CodecParameters] = [.opus]

    private static func connected(_ venue: Venue, _ clients: TestClient...) {
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(20))
        for client in clients { _ = client.news() }
    }

    private static func speak(_ client: TestClient, _ title: String = "voice", in venue: Venue) throws {
        venue.run(for: .milliseconds(500))
        for number in 0..<40 {
            try client.sound(number, title)
            venue.run(for: .milliseconds(20))
        }
        venue.run(for: .milliseconds(200))
    }

    /// The names of what the first section that is answered to be sent in has.
    private static func answered(_ client: TestClient) throws -> [String] {
        let answer = try SessionDescription(parsing: try #require(client.answers.last).sdp)
        let section = try #require(answer.media.first { $0.direction == .recvonly })
        return section.all(SDP.RTPMap.self).map(\.encoding)
    }

    /// What a description has of feedback for Opus, in its first section of sound that goes a way.
    private static func feedback(_ text: String, _ direction: SDP.Direction) throws -> [String] {
        let description = try SessionDescription(parsing: text)
        let section = try #require(description.media.first { $0.kind == "audio" && $0.direction == direction })
        let opus = try #require(section.all(SDP.RTPMap.self).first { $0.encoding == "opus" })
        return section.all(SDP.RTCPFeedback.self).filter { $0.payloadType == opus.payloadType }.map(\.feedback)
    }

    private static let wanted: [(String, Bool, @Sendable (inout LiveKitAddTrackRequest) -> Void)] = [
        ("nothing is said", true, { _ in }),
        ("it is not wanted", false, { $0.disableRed = true }),
        ("sealed from end to end", false, { $0.encryption = .gcm }),
        ("Opus by name", false, { $0.simulcastCodecs = [.with { $0.codec = "opus" }] }),
        (
            "by name, whatever else is said", true,
            {
                $0.simulcastCodecs = [.with { $0.codec = "red" }]
                $0.disableRed = true
            }
        ),
        ("by its whole name", true, { $0.simulcastCodecs = [.with { $0.codec = "audio/RED" }] }),
        // As LiveKit's server has it: what is not wanted with stereo is the client's to say.
        ("stereo", true, { $0.audioFeatures = [.tfStereo] }),
    ]

    @Test(arguments: 0..<wanted.count, [ConnectionMode.single, .dual])
    func `redundancy is asked for before Opus where it is wanted, and everybody is told`(
        _ place: Int, _ mode: ConnectionMode
    ) throws {
        let (_, isWanted, change) = Self.wanted[place]
        let venue = Venue()
        let (ann, bob) = (try venue.join("ann", mode), try venue.join("bob", mode))
        Self.connected(venue, ann, bob)
        try ann.publish("voice", .audio, change: change)
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        #expect(try Self.answered(ann).prefix(2) == (isWanted ? ["red", "opus"] : ["opus", "PCMU"]))
        let info = try #require(bob.others["ann"]?.tracks.first)
        #expect(info.mimeType == (isWanted ? "audio/red" : "audio/opus"))
        #expect(info.codecs.map(\.mimeType) == [info.mimeType])
        #expect(info.disableRed == ann.track("voice")?.disableRed)
        try Self.speak(ann, in: venue)
        #expect(bob.numbers(of: ann.track("voice")) == (1...40).map { UInt8($0) })
        let codecs = try #require(ann.sending("voice")?.codecs)
        #expect(codecs.contains { $0.name == "red" } == isWanted)
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `who knows redundancy is sent it, who does not the sound alone, and one who sends that alone is heard by all`(
        _ mode: ConnectionMode
    ) throws {
        let venue = Venue()
        let ann = try venue.join("ann", mode)
        let bob = try venue.join("bob", mode)
        let cat = try venue.join("cat", mode, sound: Self.alone)
        Self.connected(venue, ann, bob, cat)
        try ann.publish("voice", .audio)
        try cat.publish("alone", .audio)
        #expect(venue.run { cat.lines.contains("< track_subscribed alone") })
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        #expect(bob.others["cat"]?.tracks.first?.mimeType == "audio/opus")
        // What is lost to each shows who has it twice.
        var counts: [String: Int] = [:]
        venue.isLost = { client, bytes in
            guard client !== ann, bytes.count > 20, bytes[0] & 0xc0 == 0x80, [63, 111].contains(bytes[1] & 0x7f) else {
                return false
            }
            counts[client.name, default: 0] += 1
            return counts[client.name, default: 0] % 8 == 0
        }
        try Self.speak(ann, in: venue)
        #expect(bob.numbers(of: ann.track("voice")).count >= 39)
        #expect(cat.numbers(of: ann.track("voice")).count == 35)
        venue.isLost = { _, _ in false }
        try Self.speak(cat, "alone", in: venue)
        for other in [ann, bob] { #expect(other.numbers(of: cat.track("alone")).count == 40) }
    }

    @Test(arguments: [true, false])
    func `a player is sent redundancy if it has offered to take it`(_ takesRedundancy: Bool) throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        Self.connected(venue, ann)
        let eve = try venue.open(
            "eve", [OfferedSection(title: "sound", kind: .audio, direction: .recvonly)], .playing(PlaybackChoice()),
            sound: takesRedundancy ? CodecParameters.defaultAudio : Self.alone, grants: { $0.hidden = true })
        #expect(venue.run { venue.room.participants.last?.state == .active })
        try ann.publish("voice", .audio)
        // Of a player that is hidden nobody is told.
        venue.run(for: .seconds(1))
        #expect(!ann.lines.contains("< track_subscribed voice"))
        var types: Set<UInt8> = []
        venue.watch = { client, bytes in
            guard client === eve, bytes.count > 20, bytes[0] & 0xc0 == 0x80, !(192...223).contains(bytes[1]) else {
                return
            }
            types.insert(bytes[1] & 0x7f)
        }
        try Self.speak(ann, in: venue)
        #expect(eve.numbers(in: "sound") == (1...40).map { UInt8($0) })
        // The first packet has nothing before it.
        #expect(types == (takesRedundancy ? [111, 63] : [111]))
    }

    @Test func `who comes without messages publishes redundancy if it has offered to`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        Self.connected(venue, ann)
        let sections = [OfferedSection(title: "sound", kind: .audio)]
        let (new, old) = (try venue.open("new", sections), try venue.open("old", sections, sound: Self.alone))
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        #expect(ann.others["new"]?.tracks.map(\.mimeType) == ["audio/red"])
        #expect(ann.others["old"]?.tracks.map(\.mimeType) == ["audio/opus"])
        for (client, name) in [(new, "new"), (old, "old")] {
            try Self.speak(client, "sound", in: venue)
            #expect(ann.numbers(of: ann.others[name]?.tracks.first).count >= 39)
        }
    }

    // MARK: Opus alone

    @Test(arguments: [true, false])
    func `what is lost of Opus is asked for though the offer says nothing of it, and by all who get it`(
        _ isRedundant: Bool
    ) throws {
        let venue = Venue()
        let (ann, bob) = (try venue.join("ann"), try venue.join("bob", .dual))
        Self.connected(venue, ann, bob)
        try ann.publish("voice", .audio) { $0.disableRed = !isRedundant }
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        let (answer, offer) = (try #require(ann.answers.last).sdp, try #require(bob.offers.last).sdp)
        #expect(try Self.feedback(answer, .recvonly) == ["transport-cc", "nack"])
        #expect(try Self.feedback(offer, .sendonly) == ["transport-cc", "nack"])
    }

    @Test(arguments: [ConnectionMode.single, .dual], [true, false])
    func `of Opus alone hardly anything is missing over paths that lose a tenth, also if it comes with redundancy`(
        _ mode: ConnectionMode, _ isRedundant: Bool
    ) throws {
        let venue = Venue()
        let sound: [CodecParameters] = [.repairedOpus]
        let ann = try venue.join("ann", mode, sound: isRedundant ? CodecParameters.defaultAudio : sound)
        let bob = try venue.join("bob", mode, sound: sound)
        Self.connected(venue, ann, bob)
        try ann.publish("voice", .audio)
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        venue.run(for: .milliseconds(500))
        #expect(bob.others["ann"]?.tracks.first?.mimeType == (isRedundant ? "audio/red" : "audio/opus"))
        var random = EngineRandom.seeded(1)
        var lost = 0
        // Redundancy, which has another payload type, gets through.
        venue.isLost = { _, bytes in
            guard bytes.count > 20, bytes[0] & 0xc0 == 0x80, bytes[1] & 0x7f == 111, random.next() % 10 == 0 else {
                return false
            }
            lost += 1
            return true
        }
        for number in 0..<200 {
            try ann.sound(number, "voice")
            venue.run(for: .milliseconds(20))
        }
        venue.run(for: .milliseconds(200))
        #expect(lost > (isRedundant ? 10 : 20))
        // Nobody notices that the last one was lost.
        #expect(bob.numbers(of: ann.track("voice")).count >= 198)
    }
}
