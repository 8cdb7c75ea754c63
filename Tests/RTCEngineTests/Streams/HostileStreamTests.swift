import RTCEngine
import RTCWire
import Testing

/// Streams that are made to cost much.
@Suite struct HostileStreamTests {
    // Milliseconds now; many minutes when each packet made all the others be walked over again.
    @Test(.timeLimit(.minutes(20))) func `packets that all claim to begin a key frame are looked at once each`() {
        // Slices of one picture whose beginning is missing: none can be decoded, and each is a candidate.
        var script = PacketScript(codecs: [96: .media(.h264)]) {
            $0.usesNACK = false
            $0.videoHoldLimit = .seconds(Int64(1_000))
        }
        for number in 0..<1_500 as Range<UInt16> {
            script.packet(number, timestamp: 9_000, marker: false, [0x65, 0x00, 1, 2, 3])
        }
        #expect(script.frames() == [])
        // The next key frame with its parameter sets is decoded.
        script.packet(1_500, timestamp: 12_000, marker: false, [0x67, 0x42, 0xe0, 0x1f])
        script.packet(1_501, timestamp: 12_000, marker: true, [0x65, 0x88, 1, 2, 3])
        #expect(script.frames() == [4])
    }

    @Test func `a key frame is found behind frames that lack a piece, and with what opens it`() {
        var script = PacketScript(codecs: [96: .media(.h264)]) { $0.usesNACK = false }
        script.packet(10, timestamp: 3_000, marker: true, [0x41, 0x9a, 1])
        script.packet(12, timestamp: 6_000, marker: false, [0x41, 0x1a, 1])
        // A delimiter, parameter sets and the picture.
        script.packet(13, timestamp: 9_000, marker: false, [0x09, 0xf0])
        script.packet(14, timestamp: 9_000, marker: false, [0x67, 0x42, 0xe0, 0x1f])
        script.packet(15, timestamp: 9_000, marker: true, [0x65, 0x88, 1, 2, 3])
        let frames = script.outputs().compactMap { output -> EncodedFrame? in
            if case .frame(let frame) = output { frame } else { nil }
        }
        #expect(frames.count == 1)
        #expect(frames.first?.payload.prefix(6) == [0, 0, 0, 1, 0x09, 0xf0])
        #expect(frames.first?.isKeyFrame == true)
    }

    @Test func `jumps of the sequence number hold no more than the buffer does`() {
        var script = PacketScript()
        var number: UInt16 = 0
        for _ in 0..<500 {
            number &+= 2_999
            script.picture(number)
            #expect(script.stream.heldPackets <= 2_048)
        }
        script.wait(.seconds(Int64(2)))
        number &+= 1
        script.picture(number, isKeyFrame: true)
        #expect(script.outputs().contains { if case .frame = $0 { true } else { false } })
    }

    @Test func `a key frame that is lost for minutes is asked for again and again, and what is held stays bounded`() {
        var script = PacketScript()
        script.stream.roundTripTime = .milliseconds(50)
        script.picture(0)
        var requests = 0
        for number in 1..<6_000 as Range<UInt16> {
            script.picture(number)
            script.wait(.milliseconds(33))
            requests += script.feedback().count { $0 == PacketScript.pli }
            #expect(script.stream.heldPackets <= 2_048)
        }
        // Every 300 ms for 200 seconds.
        #expect((500...700).contains(requests))
        script.picture(6_000, isKeyFrame: true)
        #expect(script.frames() == [6_000])
        #expect(script.stream.heldPackets == 0)
    }

    @Test func `a sender that pauses for five minutes goes on without a key frame`() {
        var script = PacketScript()
        script.picture(1, isKeyFrame: true)
        script.picture(2)
        script.wait(.seconds(Int64(300)))
        script.picture(3)
        #expect(script.frames() == [1, 2, 3])
        #expect(!script.feedback().contains(PacketScript.pli))
    }

    @Test func `sequence numbers and timestamps wrap in the middle of a picture`() {
        var script = PacketScript()
        script.packet(65_534, timestamp: 0xffff_fff0, marker: true, VP8.payload(isKeyFrame: true))
        script.packet(65_535, timestamp: 0x0000_0010, marker: false, VP8.payload(isKeyFrame: false))
        script.packet(1, timestamp: 0x0000_0bc8, marker: true, VP8.payload(isKeyFrame: false))
        script.packet(0, timestamp: 0x0000_0010, marker: true, VP8.continuation)
        let frames = script.outputs().compactMap { output -> UInt32? in
            if case .frame(let frame) = output { frame.timestamp } else { nil }
        }
        #expect(frames == [0xffff_fff0, 0x10, 0xbc8])
    }

    @Test func `timestamps that leap for ever do not overflow the playout clock`() {
        var script = PacketScript { $0.playoutDelay = .adaptive(minimum: .zero, maximum: .milliseconds(100)) }
        var timestamp: UInt32 = 0
        // 5,000 steps of six and a half hours: in the packets of a long hostile call there would be millions.
        for number in 0..<5_000 as Range<Int> {
            timestamp &+= 0x7fff_ffff
            script.packet(
                UInt16(truncatingIfNeeded: number), timestamp: timestamp, VP8.payload(isKeyFrame: number % 2 == 0))
            script.wait(.microseconds(10))
        }
        script.wait(.seconds(Int64(1)))
        #expect(script.stream.heldPackets < 2_048)
    }

    @Test func `where timestamps leap back, what was held comes after its delay all the same`() {
        var script = PacketScript {
            $0.playoutDelay = .adaptive(minimum: .milliseconds(40), maximum: .milliseconds(200))
        }
        for number in 0..<4 as Range<UInt16> {
            // Ten seconds back before the last one.
            let timestamp = (number < 3 ? 9_000_000 : 8_100_000) + UInt32(number) * 3_000
            script.packet(number, timestamp: timestamp, VP8.payload(isKeyFrame: true))
            script.wait(.milliseconds(33))
        }
        script.wait(.milliseconds(200))
        #expect(script.frames() == [3_000, 3_001, 3_002, 2_703])
    }

    @Test func `a packet is sent again ten times at most, however often and fast it is asked for`() throws {
        let configuration = SendStreamConfiguration(
            ssrc: 10, payloadType: 96, format: .vp8, retransmission: .init(ssrc: 11, payloadType: 97), cname: "sender")
        var stream = SendStream(configuration: configuration, clock: WallClock(offset: .zero), random: .seeded(1))
        var queue = PacketQueue()
        var now = Instant.zero + .seconds(Int64(3))
        let frame = EncodedFrame(
            payload: VP8.payload(isKeyFrame: true), timestamp: 1, isKeyFrame: true, format: .vp8)
        stream.send(frame, into: &queue, at: now)
        let packet = queue.popFirst()
        let bytes = try #require(packet).bytes
        let first = try RTPHeader(parsing: bytes.span.bytes).sequenceNumber
        // A report that claims a round trip of next to nothing.
        let ntp = WallClock(offset: .zero).ntp(at: now)
        let block = ReportBlock(
            ssrc: 10, fractionLost: 0, cumulativeLost: 0, highestSequenceNumber: 0, jitter: 0,
            lastSenderReport: ntp.middle, delaySinceLastSenderReport: 0)
        stream.receive(.receiverReport(ReceiverReport(ssrc: 1, blocks: [block])), into: &queue, at: now)
        let nack = RTCPPacket.nack(GenericNACK(senderSSRC: 1, mediaSSRC: 10, missing: [first]))
        var sent = 0
        for _ in 0..<2_000 {
            now += .microseconds(200)
            stream.receive(nack, into: &queue, at: now)
            while queue.popFirst() != nil { sent += 1 }
        }
        #expect(sent == 10)
    }

    @Test func `floods of requests for key frames reach the encoder three times a second`() {
        let configuration = SendStreamConfiguration(ssrc: 10, payloadType: 96, format: .vp8, cname: "sender")
        var stream = SendStream(configuration: configuration, clock: WallClock(offset: .zero), random: .seeded(1))
        var queue = PacketQueue()
        var now = Instant.zero
        var requests = 0
        for number in 0..<10_000 {
            now += .milliseconds(1)
            stream.receive(
                .pictureLossIndication(PictureLossIndication(senderSSRC: 1, mediaSSRC: 10)), into: &queue, at: now)
            stream.receive(
                .fullIntraRequest(
                    FullIntraRequest(
                        senderSSRC: UInt32(number), entries: [.init(ssrc: 10, sequenceNumber: UInt8(number & 0xff))])),
                into: &queue, at: now)
            stream.tick(at: now)
            while stream.pollOutput() != nil { requests += 1 }
        }
        #expect((30...35).contains(requests))
    }
}
