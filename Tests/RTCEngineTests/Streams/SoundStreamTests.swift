import RTCWire
import Testing

@testable import RTCEngine

/// What travels with sound: earlier packets again, and telephone keys.
@Suite struct SoundStreamTests {
    private static let start = Instant.zero + .seconds(Int64(3))
    /// Twenty milliseconds of Opus, told apart by its last byte.
    private static func opus(_ number: UInt8, size: Int = 40) -> [UInt8] {
        [0x78] + [UInt8](repeating: 0xaa, count: size - 2) + [number]
    }

    private func makeSender(
        depth: Int = 1, adjust: (inout SendStreamConfiguration) -> Void = { _ in }
    ) -> SendStream {
        var configuration = SendStreamConfiguration(
            ssrc: PacketScript.ssrc, payloadType: 111, format: .opus, cname: "a")
        configuration.redundancy = .init(payloadType: 63, depth: depth)
        configuration.telephoneEventType = 110
        adjust(&configuration)
        return SendStream(configuration: configuration, clock: WallClock(offset: .zero), random: .seeded(1))
    }

    private func makeReceiver() -> ReceiveStream {
        var configuration = ReceiveStreamConfiguration(
            ssrc: PacketScript.ssrc, localSSRC: 1, cname: "b",
            codecs: [111: .media(.opus), 63: .redundancy, 110: .telephoneEvent(clockRate: 48_000)])
        configuration.usesNACK = false
        return ReceiveStream(configuration: configuration)
    }

    private func packets(_ queue: inout PacketQueue) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        while let packet = queue.popFirst() { packets.append(packet.bytes) }
        return packets
    }

    private func frame(_ number: Int, size: Int = 40) -> EncodedFrame {
        EncodedFrame(
            payload: Self.opus(UInt8(number), size: size), timestamp: UInt32(number * 960), isKeyFrame: true,
            format: .opus)
    }

    /// The numbers of the frames that come out when packets of `lost` are lost.
    private func received(count: Int, depth: Int, lost: Set<Int>) throws -> (frames: [UInt8], recovered: UInt64) {
        var sender = makeSender(depth: depth)
        var receiver = makeReceiver()
        var (queue, feedback) = (PacketQueue(), PacketQueue())
        var now = Self.start
        for number in 0..<count {
            sender.send(frame(number), into: &queue, at: now)
            for packet in packets(&queue) where !lost.contains(number) {
                let header = try RTPHeader(parsing: packet.span.bytes)
                #expect(header.payloadType == 63)
                receiver.receive(header, packet.span.bytes, into: &feedback, at: now)
            }
            now += .milliseconds(20)
        }
        now += .seconds(Int64(1))
        receiver.tick(into: &feedback, at: now)
        var frames: [UInt8] = []
        while let output = receiver.pollOutput() {
            if case .frame(let frame) = output {
                frames.append(frame.payload.last ?? 0)
                let first = try #require(frames.first)
                #expect(frame.payload == Self.opus(first + UInt8(frames.count - 1)) || !lost.isEmpty)
            }
        }
        return (frames, receiver.stats(at: now).packetsRecovered)
    }

    @Test func `a lost packet's sound comes with the next one`() throws {
        let result = try received(count: 10, depth: 1, lost: [3, 6])
        #expect(result.frames == Array(0..<10))
        #expect(result.recovered == 2)
    }

    @Test func `two lost packets need a depth of two`() throws {
        #expect(try received(count: 10, depth: 1, lost: [3, 4]).frames == [0, 1, 2, 4, 5, 6, 7, 8, 9])
        #expect(try received(count: 10, depth: 2, lost: [3, 4]).frames == Array(0..<10))
    }

    @Test func `nothing is recovered when nothing is lost`() throws {
        let result = try received(count: 10, depth: 2, lost: [])
        #expect(result.frames == Array(0..<10))
        #expect(result.recovered == 0)
    }

    @Test func `what does not fit, or lies too far back, does not go along`() throws {
        var sender = makeSender(depth: 2)
        var queue = PacketQueue()
        sender.send(frame(0, size: 1_100), into: &queue, at: Self.start)
        sender.send(frame(1, size: 200), into: &queue, at: Self.start)
        // A second of silence: 48,000 ticks do not fit fourteen bits.
        var late = frame(2)
        late.timestamp = 60_000
        sender.send(late, into: &queue, at: Self.start)
        let payloads = try packets(&queue).map { packet in
            Array(packet[try RTPHeader(parsing: packet.span.bytes).payloadRange])
        }
        #expect(payloads == [[111] + Self.opus(0, size: 1_100), [111] + Self.opus(1, size: 200), [111] + Self.opus(2)])
    }

    @Test func `redundancy with silence between is not taken for the packet before`() {
        var receiver = makeReceiver()
        var queue = PacketQueue()
        func redundant(offset: UInt16) -> [UInt8] {
            var payload: [UInt8] = []
            RedundantAudio.appendHeader(payloadType: 111, timestampOffset: offset, size: 40, to: &payload)
            RedundantAudio.appendHeader(payloadType: 111, to: &payload)
            return payload + Self.opus(1) + Self.opus(2)
        }
        for (number, offset) in [(UInt16(10), UInt16(960)), (12, 1_920), (14, 960)] {
            var packet: [UInt8] = []
            RTPHeader(
                marker: false, payloadType: 63, sequenceNumber: number, timestamp: UInt32(number) * 960,
                ssrc: PacketScript.ssrc
            ).write(into: &packet)
            packet += redundant(offset: offset)
            guard let header = try? RTPHeader(parsing: packet.span.bytes) else { continue }
            receiver.receive(header, packet.span.bytes, into: &queue, at: Self.start)
        }
        let stats = receiver.stats(at: Self.start)
        #expect(stats.packetsRecovered == 1)
        #expect(stats.fecPacketsReceived == 3 && stats.fecPacketsDiscarded == 2)
        #expect(stats.fecBytesReceived == 3 * UInt64(Self.opus(1).count))
    }

    @Test func `what is passed on tells what is in it, whether it came at once or again`() throws {
        var script = PacketScript(codecs: [
            111: .media(.opus), 63: .redundancy, 62: .retransmission(of: 63), 110: .telephoneEvent(clockRate: 48_000),
            0: .media(.pcmu),
        ]) { $0.unit = .packets }
        func redundant(_ types: [UInt8]) -> [UInt8] {
            var payload: [UInt8] = []
            for type in types.dropLast() {
                RedundantAudio.appendHeader(payloadType: type, timestampOffset: 960, size: 40, to: &payload)
            }
            RedundantAudio.appendHeader(payloadType: types.last ?? 0, to: &payload)
            for number in types.indices { payload += Self.opus(UInt8(number)) }
            return payload
        }
        func passed(_ number: UInt16, _ payload: [UInt8], as type: UInt8 = 63, ssrc: UInt32 = PacketScript.ssrc)
            -> PassedPacket?
        {
            script.packet(number, timestamp: UInt32(number) * 960, payloadType: type, ssrc: ssrc, payload)
            return script.stream.passing.take()
        }
        let plain = try #require(passed(1, Self.opus(1), as: 111))
        #expect(plain.format == .opus && plain.redundancy == nil)
        let packet = try #require(passed(2, redundant([111, 111])))
        #expect(packet.format == nil && packet.sequence == plain.sequence + 1)
        #expect(packet.redundancy == RedundantSound(format: .opus, primaryOffset: 45, earlierPackets: 1))
        let three = try #require(passed(3, redundant([111, 111, 111])))
        #expect(three.redundancy == RedundantSound(format: .opus, primaryOffset: 89, earlierPackets: 2))
        let alone = try #require(passed(4, redundant([111])))
        #expect(alone.redundancy == RedundantSound(format: .opus, primaryOffset: 1, earlierPackets: 0))
        // Broken, of several formats, of one that was not negotiated, of none, of redundancy itself.
        for (number, payload) in [
            Array(redundant([111, 111]).prefix(30)), redundant([111, 0]), redundant([96]), [], redundant([63, 63]),
        ].enumerated() {
            let other = try #require(passed(UInt16(5 + number), payload))
            #expect(other.format == nil && other.redundancy == nil)
        }
        _ = passed(11, redundant([111, 111]))
        // RFC 4588 §4: what was lost comes on a source of its own, behind its number.
        let again = try #require(passed(500, [0, 10] + redundant([111, 111]), as: 62, ssrc: 9))
        #expect(again.isRetransmission && again.header.sequenceNumber == 10)
        #expect(again.redundancy == RedundantSound(format: .opus, primaryOffset: 45, earlierPackets: 1))
    }

    // MARK: Telephone keys

    /// Lets the sender's time pass, with what it sends at which millisecond.
    private func run(
        _ sender: inout SendStream, _ queue: inout PacketQueue, for length: Int64
    ) -> [(at: Int64, packet: [UInt8])] {
        var sent: [(at: Int64, packet: [UInt8])] = []
        for time in 0...length {
            sender.tick(into: &queue, at: Self.start + .milliseconds(time))
            sent += packets(&queue).map { (time, $0) }
        }
        return sent
    }

    @Test func `a key is told every 50 ms, and its end three times`() throws {
        var sender = makeSender()
        var queue = PacketQueue()
        sender.send(frame(0), into: &queue, at: Self.start)
        _ = packets(&queue)
        let keys = try #require(DialedKeys("5", duration: .milliseconds(120)))
        #expect(sender.dial(keys, into: &queue, at: Self.start))
        let sent = run(&sender, &queue, for: 400)
        let headers = try sent.map { try RTPHeader(parsing: $0.packet.span.bytes) }
        let events = sent.compactMap { TelephoneEvent($0.packet.span.bytes.extracting(droppingFirst: 12)) }
        #expect(sent.map(\.at) == [50, 100, 120, 140, 160])
        #expect(events.map(\.duration) == [2_400, 4_800, 5_760, 5_760, 5_760])
        #expect(events.map(\.isEnd) == [false, false, true, true, true])
        #expect(events.allSatisfy { $0.code == 5 })
        #expect(headers.map(\.marker) == [true, false, false, false, false])
        #expect(Set(headers.map(\.timestamp)).count == 1)
        #expect(headers.allSatisfy { $0.payloadType == 110 })
        #expect(zip(headers, headers.dropFirst()).allSatisfy { $1.sequenceNumber == $0.sequenceNumber &+ 1 })
    }

    @Test func `keys in the place of those that wait leave the gap after the one that is being sent`() throws {
        var sender = makeSender()
        var queue = PacketQueue()
        let (first, second) = (try #require(DialedKeys("12", gap: .milliseconds(200))), try #require(DialedKeys("3")))
        sender.dial(first, into: &queue, at: Self.start)
        sender.dial(second, into: &queue, at: Self.start)
        let sent = run(&sender, &queue, for: 700)
        let starts = try sent.filter { try RTPHeader(parsing: $0.packet.span.bytes).marker }
        let keys = starts.compactMap { TelephoneEvent($0.packet.span.bytes.extracting(droppingFirst: 12))?.code }
        #expect(keys == [1, 3])
        // 100 ms of the first, 40 ms for the copies of its end, the gap, and 50 ms until the next key's first packet.
        #expect(starts.map(\.at) == [50, 390])
    }

    @Test func `sound gives way to a key`() throws {
        var sender = makeSender()
        var queue = PacketQueue()
        let keys = try #require(DialedKeys("1"))
        sender.dial(keys, into: &queue, at: Self.start)
        #expect(!sender.send(frame(1), into: &queue, at: Self.start + .milliseconds(20)))
        _ = run(&sender, &queue, for: 400)
        #expect(sender.send(frame(2), into: &queue, at: Self.start + .milliseconds(400)))
    }

    @Test func `keys arrive once each, whatever is lost`() throws {
        for lost in [[], [0], [2, 3], [0, 1, 2, 3, 4]] {
            var sender = makeSender()
            var queue = PacketQueue()
            let keys = try #require(DialedKeys("1#d"))
            sender.dial(keys, into: &queue, at: Self.start)
            let sent = run(&sender, &queue, for: 1_000).map(\.packet)
            var receiver = makeReceiver()
            var told: [ReceivedTone] = []
            for (index, packet) in sent.enumerated() where !lost.contains(index) {
                receiver.receive(
                    try RTPHeader(parsing: packet.span.bytes), packet.span.bytes, into: &queue, at: Self.start)
                while let output = receiver.pollOutput() { if case .tone(let tone) = output { told.append(tone) } }
            }
            let expected: [Character] = lost.count == 5 ? ["#", "D"] : ["1", "#", "D"]
            #expect(told.filter { $0.duration == nil }.map(\.key) == expected)
            #expect(told.compactMap(\.duration) == expected.map { _ in .milliseconds(100) })
        }
    }

    @Test func `a long key goes in segments and arrives as one`() throws {
        var sender = makeSender()
        var receiver = makeReceiver()
        var queue = PacketQueue()
        // 48,000 ticks a second: sixteen bits are full after 1.4 s.
        let keys = try #require(DialedKeys("7", duration: .seconds(Int64(3))))
        sender.dial(keys, into: &queue, at: Self.start)
        let sent = run(&sender, &queue, for: 3_500).map(\.packet)
        var told: [ReceivedTone] = []
        for packet in sent {
            receiver.receive(
                try RTPHeader(parsing: packet.span.bytes), packet.span.bytes, into: &queue, at: Self.start)
            while let output = receiver.pollOutput() { if case .tone(let tone) = output { told.append(tone) } }
        }
        #expect(told.map(\.key) == ["7", "7"])
        let duration = try #require(told.last?.duration)
        #expect(abs((duration - .seconds(Int64(3))).nanoseconds) < 1_000_000)
    }

    @Test func `keys are heard again after the sender's clock has begun anew, or gone round`() {
        // A restart gives any timestamp (RFC 3550 §5.1), and 32 bits at 48 kHz are gone round after a day.
        for step: UInt32 in [0x7fff_ffff, 0x8000_0001, 0xf000_0000] {
            var receiver = ToneReceiver()
            func press(_ code: UInt8, at timestamp: UInt32) -> [UInt8] {
                let end = TelephoneEvent(code: code, isEnd: true, duration: 4_800)
                return receiver.receive(end, timestamp: timestamp, clockRate: 48_000).map(\.code)
            }
            #expect(press(1, at: 1_000) == [1, 1])
            // What has been on its way for a second is of before, and told already.
            #expect(press(9, at: 1_000 &- 48_000) == [])
            #expect(press(2, at: 1_000 &+ step) == [2, 2])
        }
    }

    @Test func `only keys can be dialed, and not without telephone events`() throws {
        #expect(DialedKeys("12x") == nil)
        #expect(DialedKeys(String(repeating: "1", count: 200)) == nil)
        var sender = makeSender { $0.telephoneEventType = nil }
        var queue = PacketQueue()
        #expect(!sender.dial(try #require(DialedKeys("1")), into: &queue, at: Self.start))
    }
}
