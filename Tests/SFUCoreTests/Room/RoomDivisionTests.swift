import RTCEngine
import RTCWire
import Testing

@testable import SFUCore

/// What of a picture's layers each subscriber of a room is sent, and the publisher is asked for: by what subscribers
/// say and what their paths carry, divided so often and no more.
@Suite struct RoomDivisionTests {
    private static let layers = ["q", "h", "f"]

    /// Bob is connected, and subscribed to what ann publishes in three layers.
    private static func watching(isScreenShare: Bool = false) throws -> (
        company: RoomCompany, ann: RoomCompany.Person, bob: RoomCompany.Person,
        published: (track: TransceiverID, publication: PublicationID)
    ) {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob")
        let published = try company.publish(ann, .video, layers: layers, isScreenShare: isScreenShare)
        try company.subscribe(bob, to: published.publication)
        company.run(for: .seconds(Int64(1)))
        return (company, ann, bob, published)
    }

    @Test func `what a subscriber says of a picture's priority is asked when its bitrate is divided`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob")
        let camera = try company.publish(ann, .video)
        try company.subscribe(bob, to: camera.publication)
        var hints = SubscriberHints()
        hints.priority = 3
        try company.room.setHints(hints, of: bob.subscribing, for: camera.publication, at: company.now)
        let subscription = try #require(company.room.peers[bob.subscribing]?.subscriptions.first)
        #expect(subscription.demand(isSpeaking: false, mayPause: false, at: company.now).priority == 3)
    }

    @Test func `a subscriber's layer is changed at a key frame, and no picture is missed`() throws {
        let (company, ann, bob, camera) = try Self.watching()
        var number = 0
        func watch(_ pictures: Int) throws {
            for _ in 0..<pictures {
                try company.picture(number, of: ann, camera.track, layers: Self.layers)
                company.run(for: .milliseconds(33))
                number += 1
            }
        }
        try watch(90)
        #expect(bob.layers(of: camera.publication).last == 3, "the highest, when the path is known to carry it")
        try company.room.setHints(
            SubscriberHints(width: 300, height: 160), of: bob.subscribing, for: camera.publication, at: company.now)
        try watch(60)
        #expect(bob.layers(of: camera.publication).last == 1)
        try company.room.setHints(
            SubscriberHints(width: 640, height: 360), of: bob.subscribing, for: camera.publication, at: company.now)
        try watch(90)
        #expect(bob.layers(of: camera.publication).last == 2)
        let numbers = bob.numbers(of: camera.publication)
        #expect(Set(numbers) == Set((0..<number).map { UInt8($0 % 250 + 1) }))
        // A picture may come twice where it is what the change happens at: of the lower layer, and of the higher one.
        let layers = bob.layers(of: camera.publication)
        for place in 1..<numbers.count where numbers[place] == numbers[place - 1] {
            #expect(layers[place] > layers[place - 1])
        }
        let frames = try #require(bob.received[camera.publication])
        for (before, after) in zip(frames, frames.dropFirst())
        where before.payload[before.payload.count - 2] != after.payload[after.payload.count - 2] {
            #expect(after.isKeyFrame)
        }
        let times = frames.map(\.timestamp)
        #expect(zip(times, times.dropFirst()).allSatisfy { Int32(bitPattern: $1 &- $0) > 0 })
        // Nobody wants the highest any more, for five seconds now.
        company.run(for: .seconds(Int64(1)))
        #expect(company.qualities.contains { $0.quality == .medium })
    }

    @Test func `a layer of which nothing comes but the key frames that another one was asked for is left`() throws {
        let (company, ann, bob, camera) = try Self.watching()
        var number = 0
        /// As browsers' encoders have it: who is asked for a key frame of one layer makes one of each, the largest
        /// first.
        ///
        /// - Parameter isFed: else there is nothing left for the largest layer beside those.
        func film(_ pictures: Int, isFed: Bool) throws {
            for _ in 0..<pictures {
                let layers = isFed || ann.wantsKeyFrame ? Self.layers : Array(Self.layers.prefix(2))
                try company.picture(number, of: ann, camera.track, layers: layers, isLargestFirst: true)
                company.run(for: .milliseconds(33))
                number += 1
            }
        }
        try film(90, isFed: true)
        #expect(bob.layers(of: camera.publication).last == 3)
        try film(150, isFed: false)
        #expect(bob.layers(of: camera.publication).suffix(60).allSatisfy { $0 == 2 })
        try film(150, isFed: true)
        #expect(bob.layers(of: camera.publication).last == 3)
        let numbers = bob.numbers(of: camera.publication).map { Int($0) }
        let steps = zip(numbers, numbers.dropFirst()).map { ($1 - $0 + 250) % 250 }
        #expect(steps.allSatisfy { $0 < 45 }, "\(steps)")
    }

    @Test(arguments: [(false, 2), (true, 3)])
    func `two pictures a second are enough of a screen, which is to be read, and of a camera they are not`(
        isScreenShare: Bool, layer: Int
    ) throws {
        let (company, ann, bob, track) = try Self.watching(isScreenShare: isScreenShare)
        for number in 0..<240 {
            let isWhole = number < 90 || number % 15 == 0 || ann.wantsKeyFrame
            let layers = isWhole ? Self.layers : Array(Self.layers.prefix(2))
            try company.picture(number, of: ann, track.track, layers: layers)
            company.run(for: .milliseconds(33))
        }
        #expect(bob.layers(of: track.publication).last.map { Int($0) } == layer)
    }

    @Test func `the publisher is told at once when somebody wants more, and later when nobody does`() throws {
        let (company, _, bob, camera) = try Self.watching()
        func look(_ quality: VideoQuality, isDisabled: Bool = false) throws {
            try company.room.setHints(
                SubscriberHints(isDisabled: isDisabled, quality: quality), of: bob.subscribing,
                for: camera.publication, at: company.now)
        }
        try look(.low)
        company.run(for: .seconds(Int64(4)))
        #expect(company.qualities.isEmpty)
        company.run(for: .seconds(Int64(2)))
        #expect(company.qualities.map(\.quality) == [.low])
        try look(.high)
        company.step()
        #expect(company.qualities.map(\.quality) == [.low, .high])
        try look(.high, isDisabled: true)
        company.run(for: .seconds(Int64(6)))
        #expect(company.qualities.map(\.quality) == [.low, .high, .off])
    }

    @Test func `what is muted and unmuted again and again is divided once in a while, and is sent at once`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let others = ["bob", "cat"].map { company.join($0) }
        let camera = try company.publish(ann, .video)
        for other in others { try company.subscribe(other, to: camera.publication) }
        company.run(for: .seconds(Int64(1)))
        for number in 0..<30 {
            try company.picture(number, of: ann, camera.track)
            company.run(for: .milliseconds(33))
        }
        let before = company.room.divisions
        for number in 1...101 {
            try company.room.setMuted(number % 2 == 1, camera.publication, at: company.now)
        }
        #expect(company.room.divisions == before)
        #expect(company.room.forwardedLayers(to: others[0].subscribing, of: camera.publication) == nil)
        company.run(for: .milliseconds(101))
        #expect((1...2 * others.count).contains(company.room.divisions - before))
        try company.room.setMuted(false, camera.publication, at: company.now)
        let seen = others[1].numbers(of: camera.publication).count
        for number in 30..<45 {
            try company.picture(number, of: ann, camera.track)
            company.run(for: .milliseconds(33))
        }
        #expect(others[1].numbers(of: camera.publication).count > seen + 5)
    }

    @Test func `hints that come together are divided once, and those that come again and again once in a while`() throws
    {
        let company = RoomCompany()
        let (ann, bob) = (company.join("ann"), company.join("bob"))
        let camera = try company.publish(ann, .video)
        try company.subscribe(bob, to: camera.publication)
        company.run(for: .seconds(Int64(1)))
        func hint(_ width: Int) throws {
            try company.room.setHints(
                SubscriberHints(width: width, height: width), of: bob.subscribing, for: camera.publication,
                at: company.now)
        }
        var before = company.room.divisions
        for width in 1...50 { try hint(width) }
        company.run(for: .milliseconds(1))
        #expect(company.room.divisions - before == 1)
        before = company.room.divisions
        for width in 1...500 {
            try hint(width)
            company.run(for: .milliseconds(1))
        }
        #expect(company.room.divisions - before <= 55)
    }

    @Test func `a picture that stands still keeps its layer, and one that is hidden comes back as it was`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob", mayPause: true)
        let screen = try company.publish(ann, .video, layers: Self.layers)
        try company.subscribe(bob, to: screen.publication)
        company.run(for: .seconds(Int64(1)))
        for number in 0..<90 {
            try company.picture(number, of: ann, screen.track, layers: Self.layers)
            company.run(for: .milliseconds(33))
        }
        for number in 90..<94 {
            company.run(for: .seconds(Int64(3)))
            try company.picture(number, of: ann, screen.track, layers: Self.layers)
            company.run(for: .milliseconds(100))
        }
        #expect(bob.layers(of: screen.publication).suffix(4) == [3, 3, 3, 3])
        func show(_ isShown: Bool) throws {
            try company.room.setHints(
                SubscriberHints(isDisabled: !isShown), of: bob.subscribing, for: screen.publication, at: company.now)
        }
        for number in 94..<160 {
            if number == 130 { try show(false) }
            if number == 133 { try show(true) }
            try company.picture(number, of: ann, screen.track, layers: Self.layers)
            company.run(for: .milliseconds(33))
        }
        #expect(company.paused.isEmpty, "nothing is told of a path that carries everything")
        #expect(bob.layers(of: screen.publication).last == 3)
    }

    @Test func `a picture that a path does not carry is not sent when it is unmuted, until the path carries it`() throws
    {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob", mayPause: true)
        let camera = try company.publish(ann, .video)
        try company.subscribe(bob, to: camera.publication)
        company.run(for: .seconds(Int64(1)))
        var number = 0
        /// Until something is so, or pictures have come for that long.
        func film(_ seconds: Int, until isSo: () -> Bool = { false }) throws {
            for _ in 0..<(seconds * 30) where !isSo() {
                try company.picture(number, of: ann, camera.track, size: 4_000)
                company.run(for: .milliseconds(33))
                number += 1
            }
        }
        try film(3)
        // A megabit comes, and the path takes an eighth of it.
        var room = 0.0
        var last = company.now
        company.isLostDown = { [unowned company] person, bytes in
            guard person === bob, bytes[0] & 0xc0 == 0x80 else { return false }
            room = min(room + Double((company.now - last).nanoseconds) * 1e-9 * 16_000, 4_000)
            last = company.now
            guard room >= Double(bytes.count) else { return true }
            room -= Double(bytes.count)
            return false
        }
        try film(60) { company.paused.last?.isPaused == true }
        let told = company.paused.count
        try company.room.setMuted(true, camera.publication, at: company.now)
        company.run(for: .seconds(Int64(1)))
        try company.room.setMuted(false, camera.publication, at: company.now)
        try film(1)
        #expect(company.paused.count == told && company.paused.last?.isPaused == true)
        #expect(company.room.forwardedLayers(to: bob.subscribing, of: camera.publication) == nil)
        company.isLostDown = { _, _ in false }
        try film(120) { company.paused.last?.isPaused == false }
        #expect(company.paused.last?.isPaused == false)
    }

    @Test func `sizes that nobody has are taken for large ones`() throws {
        let (company, ann, bob, camera) = try Self.watching()
        try company.room.setHints(
            SubscriberHints(width: Int(UInt32.max), height: Int(UInt32.max)), of: bob.subscribing,
            for: camera.publication, at: company.now)
        try company.picture(0, of: ann, camera.track, layers: Self.layers)
        company.run(for: .seconds(Int64(1)))
        #expect(bob.numbers(of: camera.publication).last == 1)
    }
}
