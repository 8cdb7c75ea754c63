import RTCEngine
import RTCWire
import Testing

@testable import SFUCore

/// Sound that comes with that of earlier packets (RFC 2198).
@Suite struct RedundantSoundTests {
    private typealias Track = (track: TransceiverID, publication: PublicationID)

    private static func codec(_ codec: CodecParameters, _ payloadType: UInt8) -> CodecParameters {
        var codec = codec
        codec.payloadType = payloadType
        return codec
    }

    /// Not the numbers that the room gives when it offers.
    private static let publisherCodecs = [codec(.opus, 109), codec(.redundantOpus, 61)]
    private static let bothCodecs: [CodecParameters] = [.opus, .redundantOpus]

    /// Ann publishes with redundancy; Bob takes it, and Cat does not.
    private struct Trio {
        let company = RoomCompany()
        let ann: RoomCompany.Person
        let bob: RoomCompany.Person
        let cat: RoomCompany.Person
        let voice: Track
        var number = 0

        init() throws {
            ann = company.join("ann", sound: RedundantSoundTests.publisherCodecs)
            bob = company.join("bob", sound: RedundantSoundTests.bothCodecs)
            cat = company.join("cat")
            voice = try company.publish(ann, .audio, redundancy: .redundantOpus)
            for other in [bob, cat] { try company.subscribe(other, to: voice.publication) }
            company.run(for: .seconds(Int64(1)))
        }

        /// Ann says something for so many packets.
        mutating func speak(_ count: Int) throws {
            for _ in 0..<count {
                try company.sound(number, of: ann, voice.track, level: 20)
                number += 1
                company.run(for: .milliseconds(20))
            }
        }

        func numbers(of person: RoomCompany.Person) -> [UInt8] { person.numbers(of: voice.publication) }
    }

    /// A packet of sound on its way, without what `NullSecurity` has in the place of a tag; nil for anything else.
    private static func sound(_ datagram: [UInt8]) -> (header: RTPHeader, payload: [UInt8])? {
        let packet = Array(datagram.dropLast(16))
        guard let first = packet.first, first & 0xc0 == 0x80, !RTPMultiplexing.isRTCP(packet.span.bytes),
            let header = try? RTPHeader(parsing: packet.span.bytes)
        else { return nil }
        return (header, Array(packet[header.payloadRange]))
    }

    @Test func `who takes redundancy gets it in numbers of its own, and who does not the packet's own sound`() throws {
        var trio = try Trio()
        var seen: [String: [(header: RTPHeader, payload: [UInt8])]] = [:]
        var sent: [UInt8] = []
        trio.company.isLostDown = { person, datagram in
            if let sound = Self.sound(datagram) { seen[person.name, default: []].append(sound) }
            return false
        }
        trio.company.isLostUp = { _, datagram in
            if let sound = Self.sound(datagram) { sent.append(sound.header.payloadType) }
            return false
        }
        try trio.speak(30)
        #expect(sent == [UInt8](repeating: 61, count: 30))
        #expect(trio.numbers(of: trio.bob) == (1...30).map { UInt8($0) })
        #expect(trio.numbers(of: trio.cat) == (1...30).map { UInt8($0) })
        let (bob, cat) = (try #require(seen["bob"]), try #require(seen["cat"]))
        // Of the first there is nothing before.
        #expect(bob.map(\.header.payloadType) == [111] + [UInt8](repeating: 63, count: 29))
        #expect(bob.first?.payload == [0x78, 1])
        for (number, packet) in bob.enumerated().dropFirst() {
            let expected: [UInt8] = [0xef, 0x0f, 0, 2, 0x6f, 0x78, UInt8(number), 0x78, UInt8(number + 1)]
            #expect(packet.payload == expected)
        }
        #expect(cat.map(\.header.payloadType) == [UInt8](repeating: 111, count: 30))
        #expect(cat.map(\.payload) == (1...30).map { [0x78, $0] })
        for packets in [bob, cat] {
            for (before, after) in zip(packets, packets.dropFirst()) {
                #expect(after.header.sequenceNumber == before.header.sequenceNumber &+ 1)
                #expect(after.header.timestamp == before.header.timestamp &+ 960)
            }
        }
        // Levels are told by the packet, not by what comes along.
        let levels = trio.bob.received[trio.voice.publication]?.map(\.metadata.audioLevel?.level)
        #expect(levels == [UInt8?](repeating: 20, count: 30))
    }

    /// The same losses for both, packet by packet.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `on a lossy path who takes redundancy misses far fewer packets`(_ seed: UInt64) throws {
        var trio = try Trio()
        var random = EngineRandom.seeded(seed)
        let isLost = (0..<200).map { $0 > 5 && random.next() % 100 < 10 }
        var counts: [String: Int] = [:]
        trio.company.isLostDown = { person, datagram in
            guard Self.sound(datagram) != nil else { return false }
            defer { counts[person.name, default: 0] += 1 }
            let place = counts[person.name] ?? 0
            return isLost.indices.contains(place) && isLost[place]
        }
        try trio.speak(200)
        trio.company.isLostDown = { _, _ in false }
        try trio.speak(5)
        trio.company.run(for: .milliseconds(300))
        let lost = isLost.count { $0 }
        // One packet brings the one before along: only where two in a row are lost is anything missed.
        let pairs = zip(isLost, isLost.dropFirst()).count { $0 && $1 }
        #expect(205 - trio.numbers(of: trio.cat).count == lost)
        #expect(205 - trio.numbers(of: trio.bob).count == pairs)
        #expect(pairs * 2 < lost)
        let inbound = try #require(trio.bob.subscriber.stats(at: trio.company.now).inboundRTP.first)
        #expect(inbound.packetsRecovered == UInt64(lost - pairs))
    }

    @Test func `what is lost on the way to the room comes to everybody with the next packet, and once`() throws {
        var trio = try Trio()
        var count = 0
        var late: [UInt8]?
        trio.company.isLostUp = { _, datagram in
            guard Self.sound(datagram) != nil else { return false }
            count += 1
            if count == 20 { late = datagram }
            return count % 5 == 0
        }
        try trio.speak(22)
        // It was only late, and is not heard twice.
        trio.company.inject(Array(try #require(late).dropLast(16)), of: trio.ann)
        try trio.speak(10)
        for person in [trio.bob, trio.cat] {
            #expect(trio.numbers(of: person) == (1...32).map { UInt8($0) })
            let inbound = try #require(person.subscriber.stats(at: trio.company.now).inboundRTP.first)
            #expect(inbound.packetsLost == 0 && inbound.packetsDuplicated == 0)
        }
    }

    @Test func `what is too large to bring others along comes alone, and is of the same track`() throws {
        var trio = try Trio()
        try trio.speak(5)
        // As libwebrtc does it: with the payload type of the sound.
        let source = try #require(trio.ann.publisher.transceivers.first?.sendParameters?.ssrc)
        var last: RTPHeader?
        trio.company.isLostUp = { _, datagram in
            last = Self.sound(datagram)?.header ?? last
            return false
        }
        try trio.speak(1)
        var header = try #require(last)
        header = RTPHeader(
            marker: false, payloadType: 109, sequenceNumber: header.sequenceNumber &+ 1,
            timestamp: header.timestamp &+ 960, ssrc: source)
        var packet: [UInt8] = []
        header.write(into: &packet)
        trio.company.inject(packet + [0x78, 7], of: trio.ann)
        trio.company.run(for: .milliseconds(200))
        for person in [trio.bob, trio.cat] { #expect(trio.numbers(of: person) == [1, 2, 3, 4, 5, 6, 7]) }
    }

    @Test func `what was said while a track was muted does not come with what is said afterwards`() throws {
        var trio = try Trio()
        var payloads: [[UInt8]] = []
        trio.company.isLostDown = { _, datagram in
            if let sound = Self.sound(datagram), sound.payload != OpusPacket.silence { payloads.append(sound.payload) }
            return false
        }
        try trio.speak(10)
        let heard = (Array(1...10) + Array(21...30)).map { UInt8($0) }
        try trio.company.room.setMuted(true, trio.voice.publication, at: trio.company.now)
        try trio.speak(10)
        try trio.company.room.setMuted(false, trio.voice.publication, at: trio.company.now)
        try trio.speak(10)
        for person in [trio.bob, trio.cat] {
            #expect(trio.numbers(of: person) == heard)
            let inbound = try #require(person.subscriber.stats(at: trio.company.now).inboundRTP.first)
            #expect(inbound.packetsLost == 0)
        }
        // To bob, too, the first one comes alone.
        #expect(payloads.count == 40)
        #expect(payloads.count { $0 == [0x78, 21] } == 2)
        // Whatever stands behind the first byte of a packet of Opus.
        let said: [UInt8] = payloads.flatMap { payload in
            payload.indices.dropFirst().filter { payload[$0 - 1] == 0x78 }.map { payload[$0] }
        }
        #expect(Set(said) == Set(heard))
    }

    @Test func `what was said while a track was muted is not heard though nothing of then has come`() throws {
        var trio = try Trio()
        var payloads: [[UInt8]] = []
        trio.company.isLostDown = { _, datagram in
            if let sound = Self.sound(datagram), sound.payload != OpusPacket.silence { payloads.append(sound.payload) }
            return false
        }
        try trio.speak(10)
        try trio.company.room.setMuted(true, trio.voice.publication, at: trio.company.now)
        trio.company.isLostUp = { _, datagram in Self.sound(datagram) != nil }
        try trio.speak(3)
        trio.company.isLostUp = { _, _ in false }
        try trio.company.room.setMuted(false, trio.voice.publication, at: trio.company.now)
        try trio.speak(5)
        let heard = (Array(1...10) + Array(14...18)).map { UInt8($0) }
        for person in [trio.bob, trio.cat] { #expect(trio.numbers(of: person) == heard) }
        #expect(!payloads.contains { $0.contains(13) })
    }

    @Test func `a packet that brings dozens of others along is not made dozens of packets`() throws {
        let trio = try Trio()
        var down = 0
        trio.company.isLostDown = { _, datagram in
            if Self.sound(datagram) != nil { down += 1 }
            return false
        }
        let source = try #require(trio.ann.publisher.transceivers.first?.sendParameters?.ssrc)
        for number in 1...10 {
            var packet: [UInt8] = []
            RTPHeader(
                marker: false, payloadType: 61, sequenceNumber: UInt16(1_000 + number * 32),
                timestamp: UInt32(number * 32) * 120, ssrc: source
            ).write(into: &packet)
            // RFC 2198 §3: F and the payload type, 14 bits of time and 10 of length; of 2.5 ms each (RFC 6716 §3.1).
            for distance in (1...31).reversed() {
                packet.append(0x80 | 109)
                packet.append(uint24: UInt32(distance * 120) << 10 | 1)
            }
            packet += [109] + [UInt8](repeating: 0x80, count: 31) + [0x80, UInt8(number)]
            trio.company.inject(packet, of: trio.ann)
            trio.company.run(for: .milliseconds(20))
        }
        #expect((20...2 * 10 * (LostSound.most + 1)).contains(down))
    }

    @Test func `a packet that lies about what it carries reaches nobody, and those after it everybody`() throws {
        let trio = try Trio()
        var down = 0
        trio.company.isLostDown = { _, datagram in
            if Self.sound(datagram) != nil { down += 1 }
            return false
        }
        let source = try #require(trio.ann.publisher.transceivers.first?.sendParameters?.ssrc)
        var random = EngineRandom.seeded(5)
        var payloads: [[UInt8]] = [
            [], [0xed], [0xed, 0x0f], [0xed, 0x0f, 0], [0xed, 0x0f, 0, 2], [0xed, 0x0f, 0, 2, 0x6d],
            [0xed, 0x0f, 0, 2, 0x6d, 0x78], [0xed, 0xff, 0xff, 0xff, 0x6d, 0x78, 1], [0x6d],
            // Nothing of its own; a format that was not agreed on, in either place; redundancy in itself.
            [0xed, 0x0f, 0, 2, 0x6d, 0x78, 1], [0xe0, 0x0f, 0, 2, 0x6d, 0x78, 1, 0x78, 2],
            [0xed, 0x0f, 0, 2, 0x60, 0x78, 1, 0x78, 2], [0xbd, 0x0f, 0, 2, 0x3d, 0x78, 1, 0x78, 2],
            [UInt8](repeating: 0xed, count: 1_200), [UInt8](repeating: 0x80, count: 400),
        ]
        for size in 0..<200 { payloads.append(random.bytes(size % 40).map { $0 | 0x80 }) }
        var sequence: UInt16 = 1_000
        func packet(_ payload: [UInt8]) -> [UInt8] {
            sequence &+= 1
            var packet: [UInt8] = []
            RTPHeader(
                marker: false, payloadType: 61, sequenceNumber: sequence, timestamp: UInt32(sequence) * 960,
                ssrc: source
            ).write(into: &packet)
            return packet + payload
        }
        for payload in payloads {
            trio.company.inject(packet(payload), of: trio.ann)
            trio.company.run(for: .milliseconds(2))
        }
        #expect(down == 0)
        for number in 1...20 {
            let number = UInt8(number)
            trio.company.inject(packet([0xed, 0x0f, 0, 2, 0x6d, 0x78, number - 1, 0x78, number]), of: trio.ann)
            trio.company.run(for: .milliseconds(20))
        }
        #expect(down == 40)
        for person in [trio.bob, trio.cat] {
            #expect(trio.numbers(of: person).suffix(20) == (1...20).map { UInt8($0) }[...])
        }
    }

    @Test func `what is asked for again is the same, byte for byte, with redundancy and without`() throws {
        var track = PublishedTrack(format: .opus)
        var forwarder = AudioForwarder(rewriter: .forAudio(clockRate: 48_000, firstSequenceNumber: 500))
        let now = Instant.zero + .seconds(Int64(10))
        let payload: [UInt8] = [0xed, 0x0f, 0, 2, 0x6d, 0x78, 1, 0x78, 2]
        var bytes: [UInt8] = []
        RTPHeader(marker: false, payloadType: 61, sequenceNumber: 9, timestamp: 960, ssrc: 5).write(into: &bytes)
        bytes += payload
        let header = try RTPHeader(parsing: bytes.span.bytes)
        let published = track.receive(
            header, bytes.span.bytes, layer: 0, extensions: HeaderExtensionIDs(),
            redundancy: RedundantSound(format: .opus, primaryOffset: 7, earlierPackets: 1), at: now)
        let out = forwarder.receive(try #require(published), of: track, at: now)
        #expect(out?.sequenceNumber == 500)
        let repaired = forwarder.repair(500, of: track, roundTrip: .zero, at: now)
        let again = try #require(repaired)
        func written(as primary: UInt8?) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(addingCapacity: payload.count) {
                again.out.appendPayload(payload.span.bytes, of: again.packet, redundantAs: primary, to: &$0)
            }
            return bytes
        }
        #expect(written(as: 111) == [0xef, 0x0f, 0, 2, 0x6f, 0x78, 1, 0x78, 2])
        #expect(written(as: nil) == [0x78, 2])
    }

    @Test func `what comes along counts for those alone who get it`() throws {
        var track = PublishedTrack(format: .opus)
        var now = Instant.zero + .seconds(Int64(10))
        var sizes = (whole: 0, own: 0)
        for number in 0..<50 as Range<UInt16> {
            var bytes: [UInt8] = []
            RTPHeader(marker: false, payloadType: 61, sequenceNumber: number, timestamp: UInt32(number) * 960, ssrc: 5)
                .write(into: &bytes)
            bytes += [0xed, 0x0f, 0, 2, 0x6d, 0x78, 1, 0x78, 2]
            let header = try RTPHeader(parsing: bytes.span.bytes)
            _ = track.receive(
                header, bytes.span.bytes, layer: 0, extensions: HeaderExtensionIDs(),
                redundancy: RedundantSound(format: .opus, primaryOffset: 7, earlierPackets: 1), at: now)
            sizes = (sizes.whole + bytes.count, sizes.own + bytes.count - 6)
            now += .milliseconds(20)
        }
        func rate(withRedundancy: Bool) -> Bitrate {
            track.bitrates.bitrate(
                spatial: 0, temporal: PublishedTrack.redundancyLayer - (withRedundancy ? 0 : 1), at: now)
        }
        #expect(rate(withRedundancy: true) == Bitrate(bytes: sizes.whole, in: .seconds(Int64(1))))
        #expect(rate(withRedundancy: false) == Bitrate(bytes: sizes.own, in: .seconds(Int64(1))))
    }
}
