import RTCEngine
import RTCWire
import Testing

@testable import SFUCore

/// Packets that were read together: a subscriber gets them together.
@Suite struct ReceivedTogetherTests {
    private static func isMedia(_ bytes: [UInt8]) -> Bool { bytes.count > 400 && bytes[0] & 0xc0 == 0x80 }

    /// Ann shows pictures to others.
    private static func company(_ others: Int) throws -> (
        RoomCompany, ann: RoomCompany.Person, camera: (track: TransceiverID, publication: PublicationID)
    ) {
        let company = RoomCompany()
        let ann = company.join("ann")
        let camera = try company.publish(ann, .video)
        for number in 0..<others { try company.subscribe(company.join("\(number)"), to: camera.publication) }
        company.run(for: .seconds(Int64(1)))
        // The first ones tell the room what the paths carry.
        for number in 0..<30 {
            try company.picture(number, of: ann, camera.track, size: 5_000)
            company.run(for: .milliseconds(33))
        }
        return (company, ann, camera)
    }

    @Test func `nothing leaves before all is in, and then subscriber after subscriber`() throws {
        let (company, ann, camera) = try Self.company(3)
        var early = 0
        var order: [String] = []
        company.isLostUp = { _, _ in
            early += company.forwarded.count
            return false
        }
        company.isLostDown = { person, bytes in
            if Self.isMedia(bytes) { order.append(person.name) }
            return false
        }
        try company.picture(30, of: ann, camera.track, size: 4_000)
        company.run(for: .milliseconds(1))
        #expect(early == 0)
        #expect(order == ["0", "0", "0", "0", "1", "1", "1", "1", "2", "2", "2", "2"])
        for other in company.people.dropFirst() { #expect(other.numbers(of: camera.publication).last == 31) }
    }

    @Test func `more than the smallest history holds does not wait to be complete, and nothing is lost`() throws {
        let (company, ann, camera) = try Self.company(2)
        var early = 0
        company.isLostUp = { _, _ in
            early = max(early, company.forwarded.count)
            return false
        }
        try company.picture(30, of: ann, camera.track, size: 60_000)
        company.run(for: .milliseconds(1))
        #expect(early > 0)
        company.run(for: .milliseconds(500))
        try company.picture(31, of: ann, camera.track)
        company.run(for: .milliseconds(100))
        for other in company.people.dropFirst() {
            #expect(other.numbers(of: camera.publication) == (1...32).map { UInt8($0) })
        }
    }

    /// Ann says something, and bob hears it.
    private struct Talk {
        let company = RoomCompany()
        let ann: RoomCompany.Person
        let bob: RoomCompany.Person
        let voice: (track: TransceiverID, publication: PublicationID)
        private let source: UInt32

        init() throws {
            ann = company.join("ann")
            bob = company.join("bob")
            voice = try company.publish(ann, .audio)
            try company.subscribe(bob, to: voice.publication)
            company.run(for: .seconds(Int64(1)))
            source = ann.publisher.transceivers.first?.sendParameters?.ssrc ?? 0
        }

        /// Packets with these numbers come in one step; each says its number.
        func say(_ numbers: some Sequence<UInt16>, padding: Int = 0) {
            for number in numbers {
                var packet: [UInt8] = []
                RTPHeader(
                    marker: false, payloadType: 111, sequenceNumber: number, timestamp: UInt32(number) * 960,
                    ssrc: source
                ).write(into: &packet)
                let body = [UInt8](repeating: 0, count: padding) + [UInt8(truncatingIfNeeded: number)]
                company.inject(packet + [0x78] + body, of: ann)
            }
            company.run(for: .milliseconds(20))
        }

        func heard(by person: RoomCompany.Person) -> [UInt8] { person.numbers(of: voice.publication) }
    }

    @Test func `more packets than the history of sound has places for are all heard, in their order`() throws {
        let talk = try Talk()
        talk.say(1...200)
        #expect(talk.heard(by: talk.bob) == (1...200).map { UInt8($0) })
        #expect(try #require(talk.bob.subscriber.stats(at: talk.company.now).inboundRTP.first).packetsLost == 0)
    }

    @Test func `more bytes than the history of sound has room for are all heard, in their order`() throws {
        for size in [700, 1_100, 1_400, 1_900] {
            let talk = try Talk()
            talk.say(1...60, padding: size)
            #expect(talk.heard(by: talk.bob) == (1...60).map { UInt8($0) }, "\(size)")
        }
    }

    @Test(arguments: [31, 32, 63, 64, 65, 128, 192, 1_024])
    func `numbers that fall on the same place of the history do not take it from one another`(step: Int) throws {
        let talk = try Talk()
        let numbers = [1, 2, 2 + step, 3 + step, 3 + 2 * step, 4 + 2 * step].map { UInt16($0) }
        talk.say(numbers)
        talk.company.run(for: .seconds(Int64(1)))
        #expect(talk.heard(by: talk.bob) == numbers.map { UInt8(truncatingIfNeeded: $0) })
        let inbound = try #require(talk.bob.subscriber.stats(at: talk.company.now).inboundRTP.first)
        #expect(inbound.packetsReceived == 6)
    }

    @Test func `a publisher that numbers its packets anew is heard from the first one on`() throws {
        let talk = try Talk()
        talk.say(1...5)
        talk.say(20_000...20_004)
        // The first one alone says nothing, and nobody hears it before the second.
        talk.say([40_000] as [UInt16])
        #expect(talk.heard(by: talk.bob) == [1, 2, 3, 4, 5, 32, 33, 34, 35, 36])
        talk.say([40_001] as [UInt16])
        #expect(talk.heard(by: talk.bob).suffix(3) == [36, 64, 65])
        let inbound = try #require(talk.bob.subscriber.stats(at: talk.company.now).inboundRTP.first)
        #expect(inbound.packetsReceived == 12)
        #expect(inbound.packetsLost == 0)
    }

    @Test func `a packet far away that nothing confirms is heard by nobody`() throws {
        let talk = try Talk()
        talk.say(1...5)
        talk.say([20_000, 40_000, 6, 20_001, 7] as [UInt16])
        #expect(talk.heard(by: talk.bob) == (1...7).map { UInt8($0) })
    }

    @Test func `who comes while packets come together hears all of them, and so does everybody after a mute`() throws {
        let talk = try Talk()
        talk.say(1...5)
        let cat = talk.company.join("cat")
        try talk.company.subscribe(cat, to: talk.voice.publication)
        talk.company.run(for: .seconds(Int64(1)))
        talk.say(6...15)
        #expect(talk.heard(by: cat) == (6...15).map { UInt8($0) })
        try talk.company.room.setMuted(true, talk.voice.publication, at: talk.company.now)
        talk.say(16...20)
        try talk.company.room.setMuted(false, talk.voice.publication, at: talk.company.now)
        talk.say(21...30)
        for person in [talk.bob, cat] { #expect(talk.heard(by: person).suffix(10) == (21...30).map { UInt8($0) }[...]) }
        #expect(!talk.heard(by: talk.bob).contains { (16...20).contains($0) })
    }

    @Test func `an outbox that is full is sent in between`() throws {
        let (company, ann, camera) = try Self.company(30)
        #expect(company.fullOutboxes == 0)
        try company.picture(30, of: ann, camera.track, size: 23_000)
        company.run(for: .milliseconds(500))
        #expect(company.fullOutboxes > 0)
        for other in company.people.dropFirst() { #expect(other.numbers(of: camera.publication).last == 31) }
    }

    @Test func `what still waits when its track ends goes to nobody`() throws {
        let (company, ann, camera) = try Self.company(2)
        var packets = 0
        company.isLostUp = { _, bytes in
            guard Self.isMedia(bytes) else { return false }
            packets += 1
            if packets == 3 { try? company.room.unpublish(camera.publication, at: company.now) }
            return false
        }
        var media = 0
        company.isLostDown = { _, bytes in
            if Self.isMedia(bytes) { media += 1 }
            return false
        }
        try company.picture(30, of: ann, camera.track, size: 4_000)
        company.run(for: .milliseconds(500))
        #expect(packets == 4)
        #expect(media == 0)
    }
}
