import CongestionLinks
import LiveKitProtocol
import RTCEngine
import RTCWire
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// A link that carries so much and has a short queue, of which the rest is lost.
private final class NarrowLink {
    /// Bits a second; nil for as much as comes.
    var rate: Int?
    private var queued = 0.0
    private var last = Instant.zero
    /// In what follows.
    private(set) var offered: [UInt32: Int] = [:]
    var all: Int { offered.values.reduce(0, +) }

    /// How long what has been let in last waits in the queue.
    private(set) var wait = Interval.zero

    func loses(_ bytes: [UInt8], at now: Instant) -> Bool {
        guard let rate else {
            wait = .zero
            return false
        }
        if bytes.count >= 12, bytes[0] >> 6 == 2, let ssrc = bytes.span.bytes.uint32(at: 8), bytes.count > 200 {
            offered[ssrc, default: 0] += bytes.count
        }
        queued = max(queued - Double(rate) / 8 * Double((now - last).nanoseconds) / 1e9, 0)
        last = now
        guard queued + Double(bytes.count) <= Double(rate) / 8 * 0.3 else { return true }
        queued += Double(bytes.count)
        wait = Interval(nanoseconds: Int64(queued / Double(rate) * 8 * 1e9))
        return false
    }
}

@Suite struct NarrowLinkTests {
    private static let layers = ["q", "h", "f"]

    /// Bob watches ann's camera over the link, which messages and short packets pass.
    private static func watching(over link: NarrowLink) throws -> (venue: Venue, ann: TestClient, bob: TestClient) {
        let venue = Venue(security: NullSecurity(seed: 1))
        let (ann, bob) = (try venue.join("ann", .dual), try venue.join("bob", .dual))
        venue.isLost = { [unowned venue] client, bytes in
            client === bob && bytes.count > 100 && link.loses(bytes, at: venue.now)
        }
        venue.delay = { client, _ in client === bob ? .milliseconds(10) + link.wait : .zero }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video, layers: layers)
        return (venue, ann, bob)
    }

    /// Pictures of all layers, thirty a second.
    private static func show(
        _ pictures: Int, from number: inout Int, by client: TestClient, in venue: Venue
    ) throws {
        for _ in 0..<pictures {
            try client.picture(number, "camera", layers: layers, size: 1_300)
            number += 1
            venue.run(for: .milliseconds(32))
        }
    }

    @Test func `a link that becomes narrow is not filled with what it loses`() throws {
        let link = NarrowLink()
        let (venue, ann, bob) = try Self.watching(over: link)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        var number = 0
        func show(_ pictures: Int) throws { try Self.show(pictures, from: &number, by: ann, in: venue) }
        func newest() -> [UInt8] {
            (bob.frames[ann.track("camera")?.sid ?? ""] ?? []).suffix(30).compactMap { $0.payload.dropLast().last }
        }
        try show(150)
        #expect(Set(newest()) == [3])
        link.rate = 450_000
        _ = bob.news()
        try show(62)
        let sid = try #require(ann.track("camera")).sid
        let count = bob.frames[sid]?.count ?? 0
        try show(124)
        #expect(Set(newest()) == [1])
        // What is lost on the way down, and two layers less than there are.
        #expect(bob.lines.last { $0.hasPrefix("< quality") }?.contains("bob excellent") == false)
        #expect((bob.frames[sid]?.count ?? 0) - count >= 120, "from the second second on nothing stands still")
        // The stream itself comes first and is more; what is repeated has a source of its own.
        let repeated = try #require(link.offered.values.min())
        #expect(link.offered.count == 2 && repeated < 450_000 / 8 * 3 / 2, "a second and a half of the link")
    }

    @Test func `a camera that is switched on again is sent as before to who has a narrow link`() throws {
        let link = NarrowLink()
        let (venue, ann, bob) = try Self.watching(over: link)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        let sid = try #require(ann.track("camera")).sid
        var number = 0
        func show(_ pictures: Int) throws { try Self.show(pictures, from: &number, by: ann, in: venue) }
        func mute(_ isMuted: Bool) {
            venue.send(
                .mute(
                    .with {
                        $0.sid = sid
                        $0.muted = isMuted
                    }), from: ann)
        }
        try show(30)
        link.rate = 450_000
        try show(200)
        for _ in 0..<2 {
            mute(true)
            venue.run(for: .seconds(Int64(5)))
            let before = bob.frames[sid]?.count ?? 0
            mute(false)
            try show(90)
            let shown = (bob.frames[sid] ?? []).dropFirst(before).compactMap { $0.payload.dropLast().last }
            #expect(shown.count >= 80 && Set(shown) == [1], "\(shown)")
        }
    }

    @Test func `pictures that a path does not carry are told to be paused, and to flow again, also after coming back`()
        throws
    {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob", request: { $0.connectionSettings.subscriberAllowPause = true })
        let cat = try venue.join("cat")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        venue.run(for: .milliseconds(500))
        var number = 0
        /// Until something is so, or pictures have come for that long.
        func show(_ seconds: Int, until isSo: () -> Bool) throws -> Bool {
            for _ in 0..<(seconds * 31) {
                guard !isSo() else { return true }
                try ann.picture(number, "camera", size: 4_000)
                number += 1
                venue.run(for: .milliseconds(32))
            }
            return isSo()
        }
        _ = try show(2) { false }
        // A megabit comes, and the path takes an eighth of it.
        var room = 0.0
        var last = venue.now
        venue.isLost = { client, bytes in
            guard client === bob, bytes[0] & 0xc0 == 0x80 else { return false }
            room = min(room + Double((venue.now - last).nanoseconds) * 1e-9 * 16_000, 4_000)
            last = venue.now
            guard room >= Double(bytes.count) else { return true }
            room -= Double(bytes.count)
            return false
        }
        _ = bob.news()
        #expect(try show(60) { bob.lines.contains("< stream_state camera paused") })
        #expect(!cat.lines.contains { $0.hasPrefix("< stream_state") })
        // So it is while it is hidden, and when it is shown again.
        let sid = try #require(ann.track("camera")).sid
        _ = bob.news()
        for isHidden in [true, false] {
            venue.send(
                .trackSetting(
                    .with {
                        $0.trackSids = [sid]
                        $0.disabled = isHidden
                        $0.quality = .high
                    }), from: bob)
            _ = try show(1) { false }
        }
        #expect(!bob.lines.contains { $0.hasPrefix("< stream_state") })
        venue.cut(bob)
        _ = bob.news()
        venue.resume(bob)
        bob.forgetOffer()
        try bob.offer(iceRestart: true)
        #expect(bob.news().contains("< stream_state camera paused"))
        venue.isLost = { _, _ in false }
        #expect(try show(120) { bob.lines.contains("< stream_state camera active") })
    }

    /// Pictures with layers in time, of which every fourth is five times as large as its neighbours: what fits on the
    /// average does not fit at once.
    @Test(arguments: [(250_000, 1, 0.9), (400_000, 2, 0.75), (600_000, 3, 0.6)])
    func `on a narrow link the largest layer that fits is shown most of the time, and no picture is missing`(
        rate: Int, layer: Int, share: Double
    ) throws {
        let link = NarrowLink()
        let (venue, ann, bob) = try Self.watching(over: link)
        try ann.publish("microphone", .audio)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        let sid = try #require(ann.track("camera")).sid
        var (number, sounds) = (0, 0)
        func show(seconds: Int) throws {
            for _ in 0..<(seconds * 15) {
                // 120, 240 and 360 kbit/s.
                let size = [2_200, 400, 1_000, 400][number % 4]
                try ann.picture(number, "camera", layers: Self.layers, size: size)
                number += 1
                for _ in 0..<3 {
                    try ann.sound(sounds, "microphone")
                    sounds += 1
                    venue.run(for: .milliseconds(22))
                }
            }
        }
        try show(seconds: 8)
        link.rate = rate
        try show(seconds: 4)
        let before = bob.frames[sid]?.count ?? 0
        try show(seconds: 30)
        let shown = (bob.frames[sid] ?? []).dropFirst(before).compactMap { $0.payload.dropLast().last.map(Int.init) }
        let best = shown.count { $0 == layer }
        #expect(shown.count >= 435, "of 450 pictures")
        #expect(Double(best) >= share * Double(shown.count), "\(best) of \(shown.count) are of layer \(layer)")
    }
}
