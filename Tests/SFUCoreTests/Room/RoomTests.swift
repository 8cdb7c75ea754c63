import RTCEngine
import RTCWire
import Testing

@testable import SFUCore

@Suite struct RoomTests {
    /// A datagram of media, going either way.
    private static func isMedia(_ bytes: [UInt8]) -> Bool { bytes.count > 400 && bytes[0] & 0xc0 == 0x80 }

    @Test func `everybody who is subscribed gets every picture, and asks for one key frame between them`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let others = [company.join("bob"), company.join("cat"), company.join("dan")]
        let camera = try company.publish(ann, .video)
        for other in others { try company.subscribe(other, to: camera.publication) }
        company.run(for: .seconds(Int64(1)))
        for number in 0..<60 {
            try company.picture(number, of: ann, camera.track)
            company.run(for: .milliseconds(33))
        }
        for other in others { #expect(other.numbers(of: camera.publication) == (1...60).map { UInt8($0) }) }
        // The transport came up with one of them; the first picture was a key frame anyway.
        #expect((ann.keyFrameRequests[camera.track] ?? 0) <= 2)
    }

    @Test func `sound and pictures are told by one clock, whatever it took until they came`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob")
        let voice = try company.publish(ann, .audio)
        let camera = try company.publish(ann, .video)
        for publication in [voice.publication, camera.publication] { try company.subscribe(bob, to: publication) }
        company.run(for: .seconds(Int64(1)))
        // Pictures, which are larger, take a fifth of a second longer.
        company.delayUp = { Self.isMedia($0) ? .milliseconds(200) : .zero }
        for tick in 0..<600 {
            let number = [UInt8(tick >> 8), UInt8(tick & 255)]
            let sound = EncodedFrame(
                payload: [0x78] + number, timestamp: UInt32(tick * 960), isKeyFrame: true, format: .opus)
            try company.send(sound, of: ann, voice.track)
            if tick.isMultiple(of: 2) {
                let tag: [UInt8] = [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00]
                let picture = EncodedFrame(
                    payload: tag + [UInt8](repeating: 1, count: 500) + number, timestamp: UInt32(tick * 1_800),
                    isKeyFrame: true, format: .vp8)
                try company.send(picture, of: ann, camera.track)
            }
            company.run(for: .milliseconds(20))
        }
        /// When the first frame would have been captured.
        func beginning(_ publication: PublicationID) throws -> Double {
            let frame = try #require(bob.received[publication]?.last)
            let tick = frame.payload.suffix(2).reduce(0) { $0 << 8 | Int($1) }
            return try #require(bob.captureTime(of: frame, publication)) - Double(tick) * 0.02
        }
        let (heard, seen) = (try beginning(voice.publication), try beginning(camera.publication))
        #expect(abs(heard - seen) < 0.002)
        // A pause changes nothing.
        try company.room.setMuted(true, camera.publication, at: company.now)
        company.run(for: .seconds(Int64(5)))
        #expect(abs(try beginning(camera.publication) - seen) < 0.002)
    }

    @Test func `who comes later begins at a key frame that the room asks for`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let camera = try company.publish(ann, .video)
        company.run(for: .seconds(Int64(1)))
        for number in 0..<30 {
            try company.picture(number, of: ann, camera.track)
            company.run(for: .milliseconds(33))
        }
        let bob = company.join("bob")
        try company.subscribe(bob, to: camera.publication)
        for number in 30..<90 {
            try company.picture(number, of: ann, camera.track)
            company.run(for: .milliseconds(33))
        }
        let first = try #require(bob.received[camera.publication]?.first)
        #expect(first.isKeyFrame)
        let numbers = bob.numbers(of: camera.publication)
        #expect(numbers.count > 40)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 })
    }

    @Test func `what is lost on either side is repaired, and nobody else hears of it`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob")
        let cat = company.join("cat")
        let camera = try company.publish(ann, .video)
        for other in [bob, cat] { try company.subscribe(other, to: camera.publication) }
        company.run(for: .seconds(Int64(1)))
        var count = 0
        company.isLostUp = { person, bytes in
            guard person === ann, Self.isMedia(bytes) else { return false }
            count += 1
            return count % 10 == 0
        }
        company.isLostDown = { person, bytes in
            guard person === bob, Self.isMedia(bytes) else { return false }
            count += 1
            return count % 7 == 0
        }
        for number in 0..<90 {
            if number == 89 { company.isLostUp = { _, _ in false } }
            if number == 89 { company.isLostDown = { _, _ in false } }
            try company.picture(number, of: ann, camera.track, size: 2_500)
            company.run(for: .milliseconds(33))
        }
        company.run(for: .milliseconds(300))
        for other in [bob, cat] { #expect(other.numbers(of: camera.publication) == (1...90).map { UInt8($0) }) }
    }

    @Test func `a muted track reaches nobody, and goes on at a key frame`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob")
        let camera = try company.publish(ann, .video)
        try company.subscribe(bob, to: camera.publication)
        company.run(for: .seconds(Int64(1)))
        for number in 0..<60 {
            if number == 20 { try company.room.setMuted(true, camera.publication, at: company.now) }
            if number == 40 { try company.room.setMuted(false, camera.publication, at: company.now) }
            try company.picture(number, of: ann, camera.track)
            company.run(for: .milliseconds(33))
        }
        let numbers = bob.numbers(of: camera.publication)
        #expect(numbers.prefix(20) == ArraySlice((1...20).map { UInt8($0) }))
        #expect(numbers.filter { (21...40).contains($0) }.isEmpty)
        let after = try #require(bob.received[camera.publication]?.first { ($0.payload.last ?? 0) > 40 })
        #expect(after.isKeyFrame)
        #expect(numbers.last == 60)
        // To bob's receiver nothing was ever missing.
        let inbound = try #require(bob.subscriber.stats(at: company.now).inboundRTP.first)
        #expect(inbound.packetsLost == 0)
    }

    @Test func `muted sound ends with a second of silence, and what follows has no gap and no jump`() throws {
        let company = RoomCompany()
        let (ann, bob) = (company.join("ann"), company.join("bob"))
        let voice = try company.publish(ann, .audio)
        try company.subscribe(bob, to: voice.publication)
        company.run(for: .seconds(Int64(1)))
        for number in 0..<100 {
            if number == 20 { try company.room.setMuted(true, voice.publication, at: company.now) }
            if number == 90 { try company.room.setMuted(false, voice.publication, at: company.now) }
            try company.sound(number, of: ann, voice.track, level: 20)
            company.run(for: .milliseconds(20))
        }
        let frames = try #require(bob.received[voice.publication])
        #expect(bob.numbers(of: voice.publication) == (Array(1...20) + Array(91...100)).map { UInt8($0) })
        #expect(frames.map { $0.payload == OpusPacket.silence } == (0..<80).map { (20..<70).contains($0) })
        // It was muted for 70 packets.
        let steps = zip(frames, frames.dropFirst()).map { $1.timestamp &- $0.timestamp }
        let expected = [UInt32](repeating: 960, count: 69) + [21 * 960] + [UInt32](repeating: 960, count: 9)
        #expect(steps == expected)
        let inbound = try #require(bob.subscriber.stats(at: company.now).inboundRTP.first)
        #expect(inbound.packetsLost == 0)
    }

    /// As Pion, which LiveKit's Go SDK stands on.
    @Test(arguments: [MediaKind.audio, .video])
    func `who takes a track for there when packets come gets some of one that is muted`(kind: MediaKind) throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let track = try company.publish(ann, kind)
        company.run(for: .seconds(Int64(1)))
        try company.room.setMuted(true, track.publication, at: company.now)
        let (bob, cat) = (company.join("bob", needsPackets: true), company.join("cat"))
        for person in [bob, cat] { try company.subscribe(person, to: track.publication) }
        company.run(for: .seconds(Int64(20)))
        func inbound(_ person: RoomCompany.Person) -> InboundRTPStreamStats? {
            person.subscriber.stats(at: company.now).inboundRTP.first
        }
        let introduced = try #require(inbound(bob)).packetsReceived
        // Of pictures the estimate begins with them, and probes with padding of its own.
        #expect(kind == .audio ? introduced == 5 : introduced >= 5)
        #expect(bob.received[track.publication] == nil)
        #expect((inbound(cat)?.packetsReceived ?? 0) == 0)

        // What follows is whole, and goes on where the padding has ended.
        try company.room.setMuted(false, track.publication, at: company.now)
        for number in 0..<30 {
            if kind == .audio {
                try company.sound(number, of: ann, track.track, level: 20)
            } else {
                try company.picture(number, of: ann, track.track)
            }
            company.run(for: .milliseconds(20))
        }
        for person in [bob, cat] {
            #expect(person.numbers(of: track.publication) == (1...30).map { UInt8($0) })
            #expect(inbound(person)?.packetsLost == 0)
        }
        let times = try #require(bob.received[track.publication]).map(\.timestamp)
        #expect(times == times.sorted())
    }

    @Test func `a track that is muted before its first packet could be sent is introduced as well`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let voice = try company.publish(ann, .audio)
        company.run(for: .seconds(Int64(1)))
        let bob = company.join("bob", needsPackets: true)
        try company.subscribe(bob, to: voice.publication)
        // There is no way to bob yet.
        for isMuted in [true, false, true] {
            try company.room.setMuted(isMuted, voice.publication, at: company.now)
        }
        company.run(for: .seconds(Int64(20)))
        // With the silence that muted sound ends with.
        #expect((bob.subscriber.stats(at: company.now).inboundRTP.first?.packetsReceived ?? 0) >= 5)
        // Who has heard something of it needs no more.
        try company.room.setMuted(false, voice.publication, at: company.now)
        for number in 0..<10 {
            try company.sound(number, of: ann, voice.track, level: 20)
            company.run(for: .milliseconds(20))
        }
        try company.room.setMuted(true, voice.publication, at: company.now)
        #expect(company.room.mutedTrackPadding.isEmpty)
    }

    @Test(arguments: [MediaKind.audio, .video])
    func `a track that is muted anew while it is introduced is introduced with what is left`(kind: MediaKind) throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let track = try company.publish(ann, kind)
        company.run(for: .seconds(Int64(1)))
        try company.room.setMuted(true, track.publication, at: company.now)
        let bob = company.join("bob", needsPackets: true)
        try company.subscribe(bob, to: track.publication)
        func left() -> Int? { company.room.mutedTrackPadding.first?.subscription.paddingPacketsLeft }
        for _ in 0..<100 where left() == Room.mutedTrackPaddingPackets { company.run(for: .milliseconds(50)) }
        #expect(left() == Room.mutedTrackPaddingPackets - 1)
        // Nothing comes in between.
        try company.room.setMuted(false, track.publication, at: company.now)
        company.run(for: .milliseconds(20))
        #expect(left() == nil)
        try company.room.setMuted(true, track.publication, at: company.now)
        #expect(left() == Room.mutedTrackPaddingPackets - 1)
        company.run(for: .seconds(Int64(2)))
        #expect(company.room.mutedTrackPadding.isEmpty)
        #expect((bob.subscriber.stats(at: company.now).inboundRTP.first?.packetsReceived ?? 0) >= 5)
    }

    @Test func `who goes while a muted track is introduced to them leaves nothing behind`() throws {
        for isPublisher in [false, true] {
            let company = RoomCompany()
            let ann = company.join("ann")
            let voice = try company.publish(ann, .audio)
            company.run(for: .seconds(Int64(1)))
            try company.room.setMuted(true, voice.publication, at: company.now)
            let bob = company.join("bob", needsPackets: true)
            try company.subscribe(bob, to: voice.publication)
            company.run(for: .milliseconds(50))
            company.leave(isPublisher ? ann : bob)
            #expect(company.room.mutedTrackPadding.isEmpty)
            company.leave(isPublisher ? bob : ann)
            company.run(for: .seconds(Int64(2)))
            #expect(company.room.holdsNothing)
        }
    }

    @Test func `of sound that is heard again at once nothing is silent any more`() throws {
        let company = RoomCompany()
        let (ann, bob) = (company.join("ann"), company.join("bob"))
        let voice = try company.publish(ann, .audio)
        try company.subscribe(bob, to: voice.publication)
        company.run(for: .seconds(Int64(1)))
        for number in 0..<60 {
            if number == 20 { try company.room.setMuted(true, voice.publication, at: company.now) }
            if number == 25 { try company.room.setMuted(false, voice.publication, at: company.now) }
            try company.sound(number, of: ann, voice.track, level: 20)
            company.run(for: .milliseconds(20))
        }
        let frames = try #require(bob.received[voice.publication])
        #expect(bob.numbers(of: voice.publication) == (Array(1...20) + Array(26...60)).map { UInt8($0) })
        #expect(frames.map(\.timestamp) == frames.map(\.timestamp).sorted())
        #expect((4...6).contains(frames.count - 55))
        #expect(frames.suffix(35).allSatisfy { $0.payload != OpusPacket.silence })
    }

    @Test func `those who speak are told, the loudest first, and told again when they fall silent`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob")
        let first = try company.publish(ann, .audio)
        let second = try company.publish(bob, .audio)
        try company.subscribe(bob, to: first.publication)
        company.run(for: .seconds(Int64(1)))
        for number in 0..<100 {
            try company.sound(number, of: ann, first.track, level: 20)
            try company.sound(number, of: bob, second.track, level: number < 50 ? 5 : 127)
            company.run(for: .milliseconds(20))
        }
        #expect(company.speakers.contains { $0.map(\.publication) == [second.publication, first.publication] })
        #expect(company.speakers.last?.map(\.publication) == [second.publication])
        #expect(company.speakers.last?.map(\.level) == [0])
        #expect(bob.numbers(of: first.publication).count == 100)
        try company.room.unpublish(first.publication, at: company.now)
        company.run(for: .seconds(Int64(1)))
        #expect(company.speakers.last == [RoomEvent.Speaker(publication: first.publication, level: 0)])
    }

    @Test func `sound of eight kilohertz goes on after a pause by the time that has passed`() throws {
        let company = RoomCompany()
        let (ann, bob) = (company.join("ann", sound: [.pcmu]), company.join("bob", sound: [.pcmu]))
        let line = try company.publish(ann, .audio, codec: .pcmu, format: .pcmu)
        try company.subscribe(bob, to: line.publication)
        company.run(for: .seconds(Int64(1)))
        func speak(_ packets: Range<UInt32>) throws {
            for number in packets {
                let sound = EncodedFrame(
                    payload: [UInt8](repeating: UInt8(number & 0x7f), count: 160), timestamp: number * 160,
                    isKeyFrame: true, format: .pcmu)
                try company.send(sound, of: ann, line.track)
                company.run(for: .milliseconds(20))
            }
        }
        try speak(0..<50)
        try company.room.setMuted(true, line.publication, at: company.now)
        company.run(for: .seconds(Int64(20)))
        try company.room.setMuted(false, line.publication, at: company.now)
        try speak(1_050..<1_100)
        let times = try #require(bob.received[line.publication]?.map(\.timestamp))
        let steps = zip(times.dropFirst(), times).map { $0 &- $1 }
        #expect(times.count >= 98)
        #expect(steps.allSatisfy { $0 == 160 || (159_000...161_500).contains($0) }, "\(steps)")
    }

    @Test func `the room goes on when people leave, and is empty when all have`() throws {
        let company = RoomCompany()
        let people = ["ann", "bob", "cat"].map { company.join($0) }
        var cameras: [(track: TransceiverID, publication: PublicationID)] = []
        for person in people { cameras.append(try company.publish(person, .video)) }
        for person in people {
            for (owner, camera) in zip(people, cameras) where owner !== person {
                try company.subscribe(person, to: camera.publication)
            }
        }
        company.run(for: .seconds(Int64(1)))
        for number in 0..<60 {
            if number == 30 { company.leave(people[0]) }
            for (person, camera) in zip(people, cameras) where number < 30 || person !== people[0] {
                try company.picture(number, of: person, camera.track)
            }
            company.run(for: .milliseconds(33))
        }
        #expect(people[1].numbers(of: cameras[2].publication).last == 60)
        #expect(people[1].numbers(of: cameras[0].publication).last == 30)
        #expect(throws: RoomError.unknownPublication) {
            try company.room.subscribe(
                people[1].subscribing, to: cameras[0].publication, streamID: "x", at: company.now)
        }
        for person in company.people { company.leave(person) }
        company.run(for: .milliseconds(10))
        #expect(company.room.isEmpty)
        #expect(company.room.holdsNothing)
        #expect(company.room.nextWake == nil)
    }

    @Test func `the earliest time of all peers is known, also after some have left`() throws {
        let company = RoomCompany()
        let people = ["ann", "bob", "cat", "dan"].map { company.join($0) }
        let camera = try company.publish(people[3], .video)
        for person in people.dropLast() { try company.subscribe(person, to: camera.publication) }
        for number in 0..<60 {
            if number == 20 { company.leave(people[0]) }
            if number == 40 { company.leave(people[2]) }
            try company.picture(number, of: people[3], camera.track)
            company.run(for: .milliseconds(33))
            let times = company.room.peers.values.compactMap { $0.machine.nextWake }
            #expect(company.room.wakeTimes.earliest == times.min())
        }
        #expect(people[1].numbers(of: camera.publication).last == 60)
    }

    @Test func `a transceiver whose subscription is over is used again, with sources of its own`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob")
        let first = try company.publish(ann, .video)
        let second = try company.publish(ann, .video)
        var sources: Set<UInt32> = []
        var number = 0
        for round in 0..<6 {
            let camera = round % 2 == 0 ? first : second
            try company.subscribe(bob, to: camera.publication)
            company.run(for: .milliseconds(500))
            let before = bob.received[camera.publication]?.count ?? 0
            for _ in 0..<20 {
                let wantsKeyFrame = ann.wantsKeyFrame
                try company.picture(number, of: ann, first.track)
                ann.wantsKeyFrame = wantsKeyFrame
                try company.picture(number, of: ann, second.track)
                number += 1
                company.run(for: .milliseconds(33))
            }
            #expect((bob.received[camera.publication]?.count ?? 0) > before + 10, "round \(round)")
            let transceivers = company.room.withMachine(of: bob.subscribing) { $0.transceivers } ?? []
            // In one where it has not been.
            #expect(transceivers.count == round / 2 + 1)
            sources.formUnion(transceivers.compactMap { $0.sendParameters?.ssrc })
            try company.room.unsubscribe(bob.subscribing, from: camera.publication, at: company.now)
            try company.negotiate(bob)
            company.run(for: .milliseconds(50))
        }
        #expect(sources.count == 6)
    }

    @Test func `a stream that comes back is put where it has not been, but not for ever`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob")
        let camera = try company.publish(ann, .video)
        var counts: [Int] = []
        for number in 0..<20 {
            try company.subscribe(bob, to: camera.publication)
            company.run(for: .milliseconds(50))
            try company.picture(number, of: ann, camera.track)
            company.run(for: .milliseconds(50))
            counts.append(company.room.withMachine(of: bob.subscribing) { $0.transceivers.count } ?? 0)
            try company.room.unsubscribe(bob.subscribing, from: camera.publication, at: company.now)
            try company.negotiate(bob)
        }
        #expect(counts == (0..<20).map { min($0 + 1, 16) })
    }

    @Test func `an end that the peer has not heard of is no place for another`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob")
        let first = try company.publish(ann, .video)
        let second = try company.publish(ann, .video)
        try company.subscribe(bob, to: first.publication)
        company.run(for: .milliseconds(200))
        try company.room.unsubscribe(bob.subscribing, from: first.publication, at: company.now)
        try company.subscribe(bob, to: second.publication)
        let transceivers = company.room.withMachine(of: bob.subscribing) { $0.transceivers } ?? []
        #expect(transceivers.map(\.currentDirection) == [.inactive, .sendonly])
    }

    @Test func `what cannot be is refused, and changes nothing`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob")
        let camera = try company.publish(ann, .video)
        let now = company.now
        let room = company.room
        #expect(throws: RoomError.alreadySubscribed) {
            try room.subscribe(ann.publishing, to: camera.publication, streamID: "x", at: now)
        }
        try company.subscribe(bob, to: camera.publication)
        #expect(throws: RoomError.alreadySubscribed) {
            try room.subscribe(bob.subscribing, to: camera.publication, streamID: "x", at: now)
        }
        #expect(throws: RoomError.unusableTransceiver) {
            try room.publish(
                on: TransceiverID(rawValue: 99), of: ann.publishing,
                PublicationDescription(codec: .vp8, format: .vp8), at: now)
        }
        #expect(throws: RoomError.notSubscribed) {
            try room.unsubscribe(ann.subscribing, from: camera.publication, at: now)
        }
        #expect(throws: RoomError.unknownPeer) {
            try room.subscribe(RoomPeerID(rawValue: 999), to: camera.publication, streamID: "x", at: now)
        }
        try room.unsubscribe(bob.subscribing, from: camera.publication, at: now)
        #expect(throws: RoomError.notSubscribed) {
            try room.unsubscribe(bob.subscribing, from: camera.publication, at: now)
        }
    }

    @Test func `a codec that a subscriber has not is refused, and leaves no transceiver behind`() throws {
        let company = RoomCompany()
        let ann = company.join("ann")
        let bob = company.join("bob")
        let camera = try company.publish(ann, .video, codec: .av1, format: .av1)
        #expect(throws: RoomError.peer(.negotiation(.unknownCodec))) {
            try company.room.subscribe(
                bob.subscribing, to: camera.publication, streamID: "x", at: company.now)
        }
        #expect(company.room.withMachine(of: bob.subscribing) { $0.transceivers.isEmpty } == true)
    }
}
