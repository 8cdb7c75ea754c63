import RTCWire
import Testing

@testable import RTCEngine

/// One receive stream, packet by packet.
@Suite struct ReceiveStreamTests {
    @Test func `a missing packet is asked for after the tolerance for reordering, and again after a round trip`() {
        var script = PacketScript()
        script.stream.roundTripTime = .milliseconds(40)
        script.picture(10, isKeyFrame: true)
        script.picture(13)
        #expect(script.feedback() == [])
        script.wait(.milliseconds(10))
        #expect(script.feedback() == [PacketScript.nack(11, 12)])
        script.wait(.milliseconds(49))
        #expect(script.feedback() == [])
        script.picture(11)
        script.wait(.milliseconds(1))
        #expect(script.feedback() == [PacketScript.nack(12)])
        script.picture(12)
        #expect(script.frames() == [10, 11, 12, 13])
        script.wait(.seconds(Int64(1)))
        #expect(script.feedback() == [])
    }

    @Test func `what is missing behind a packet from before the first one is asked for, in order`() {
        var script = PacketScript()
        script.picture(10)
        script.picture(12)
        script.picture(7, isKeyFrame: true)
        script.wait(.milliseconds(10))
        #expect(script.feedback() == [PacketScript.nack(8, 9, 11)])
        for number in [11, 9, 8] as [UInt16] { script.picture(number) }
        #expect(script.frames() == [7, 8, 9, 10, 11, 12])
        script.wait(.seconds(Int64(1)))
        #expect(script.feedback() == [])
    }

    @Test func `while this side is the one that loses packets, none is asked for twice`() {
        var script = PacketScript()
        script.stream.roundTripTime = .milliseconds(40)
        script.stream.asksOnceUntil = script.now + .milliseconds(200)
        script.picture(10, isKeyFrame: true)
        script.picture(13)
        script.wait(.milliseconds(10))
        #expect(script.feedback() == [PacketScript.nack(11, 12)])
        script.picture(11)
        script.wait(.milliseconds(100))
        #expect(!script.feedback().contains(PacketScript.nack(12)))
        // From then on all is as ever.
        script.wait(.milliseconds(90))
        script.picture(15, isKeyFrame: true)
        script.picture(17)
        script.wait(.milliseconds(10))
        #expect(script.feedback().contains(PacketScript.nack(16)))
        script.wait(.milliseconds(50))
        #expect(script.feedback().contains(PacketScript.nack(16)))
    }

    @Test func `a packet that was only reordered is not asked for`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.picture(12)
        script.wait(.milliseconds(5))
        script.picture(11)
        script.wait(.milliseconds(100))
        #expect(script.feedback() == [])
        #expect(script.frames() == [10, 11, 12])
    }

    @Test func `a retransmission fills the gap`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.picture(12)
        // RFC 4588 §4: the original sequence number leads the payload.
        script.packet(500, timestamp: 33_000, payloadType: 97, ssrc: 77, [0, 11] + VP8.payload(isKeyFrame: false))
        #expect(script.frames() == [10, 11, 12])
        #expect(script.stream.retransmissionSSRC == 77)
        let stats = script.stream.stats(at: script.now)
        #expect(stats.retransmittedPacketsReceived == 1)
        // RFC 4588 §6.3: what RTX repairs is still lost on the stream itself.
        #expect(stats.packetsLost == 1)
    }

    @Test func `what comes under the SSRC of retransmissions counts with the stream, and is told apart`() {
        var script = PacketScript()
        let payload = VP8.payload(isKeyFrame: false)
        script.picture(10, isKeyFrame: true)
        script.picture(12)
        script.packet(500, timestamp: 33_000, payloadType: 97, ssrc: 77, [0, 11] + payload)
        // As probes: the same again, and nothing at all.
        script.packet(501, timestamp: 33_000, payloadType: 97, ssrc: 77, [0, 11] + payload)
        script.packet(502, timestamp: 36_000, payloadType: 97, ssrc: 77, [])
        // Late, asked for by then, and no retransmission: those have an SSRC of their own, as has been learnt.
        script.picture(14)
        script.wait(.milliseconds(15))
        script.picture(13)
        let stats = script.stream.stats(at: script.now)
        #expect(stats.ownPacketsReceived == 4)
        #expect(stats.packetsReceived == 7)
        #expect(stats.retransmittedPacketsReceived == 2)
        #expect(stats.bytesReceived == UInt64(VP8.payload(isKeyFrame: true).count + 5 * payload.count))
        #expect(stats.retransmittedBytesReceived == UInt64(2 * payload.count))
        #expect(stats.headerBytesReceived == 7 * 12 + 2 * 2)
    }

    @Test func `a retransmission of what nobody misses is ignored`() {
        var script = PacketScript()
        script.packet(500, timestamp: 0, payloadType: 97, ssrc: 77, [0, 9] + VP8.payload(isKeyFrame: true))
        script.picture(10, isKeyFrame: true)
        script.packet(501, timestamp: 0, payloadType: 97, ssrc: 77, [])
        script.packet(502, timestamp: 30_000, payloadType: 97, ssrc: 77, [0, 10] + VP8.payload(isKeyFrame: true))
        script.packet(503, timestamp: 60_000, payloadType: 97, ssrc: 77, [0, 20] + VP8.payload(isKeyFrame: true))
        #expect(script.frames() == [10])
    }

    @Test func `what the path is probed with on SSRC 0 is not taken for the source of retransmissions`() {
        var script = PacketScript()
        // libwebrtc's first probes are padding; whatever is in them, they are nobody's.
        script.packet(1, timestamp: 0, payloadType: 97, ssrc: 0, [])
        script.picture(10, isKeyFrame: true)
        script.packet(2, timestamp: 0, payloadType: 97, ssrc: 0, VP8.repeated(10))
        script.picture(12)
        #expect(script.stream.retransmissionSSRC == nil)
        #expect(script.stream.stats(at: script.now).packetsReceived == 2)
        script.packet(500, timestamp: 33_000, payloadType: 97, ssrc: 77, VP8.repeated(11))
        #expect(script.frames() == [10, 11, 12])
        #expect(script.stream.retransmissionSSRC == 77)
    }

    @Test func `padding alone tells no source of retransmissions, and what was learnt gives way to another`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.picture(12)
        script.packet(1, timestamp: 0, payloadType: 97, ssrc: 66, [])
        #expect(script.stream.retransmissionSSRC == nil)
        // Another stream's, whose number might be ours.
        script.packet(2, timestamp: 0, payloadType: 97, ssrc: 66, VP8.repeated(9))
        #expect(script.stream.retransmissionSSRC == 66)
        script.packet(500, timestamp: 33_000, payloadType: 97, ssrc: 77, VP8.repeated(11))
        #expect(script.frames() == [10, 11, 12])
        #expect(script.stream.retransmissionSSRC == 77)
    }

    @Test func `a source of retransmissions that a description names is the only one`() {
        var script = PacketScript { $0.retransmissionSSRC = 66 }
        script.picture(10, isKeyFrame: true)
        script.picture(12)
        script.packet(500, timestamp: 33_000, payloadType: 97, ssrc: 77, VP8.repeated(11))
        #expect(script.frames() == [10])
        script.packet(1, timestamp: 33_000, payloadType: 97, ssrc: 66, VP8.repeated(11))
        #expect(script.frames() == [11, 12])
    }

    @Test func `a packet given up leads to a key frame request, and only a key frame follows`() {
        var script = PacketScript { $0.videoHoldLimit = .milliseconds(300) }
        script.stream.roundTripTime = .milliseconds(100)
        script.picture(10, isKeyFrame: true)
        script.picture(12)
        script.wait(.milliseconds(299))
        #expect(!script.feedback().contains(PacketScript.pli))
        script.wait(.milliseconds(1))
        #expect(script.feedback().last == PacketScript.pli)
        script.picture(13)
        script.picture(11)
        #expect(script.frames() == [10])
        script.picture(14, isKeyFrame: true)
        script.picture(15)
        #expect(script.frames() == [14, 15])
        script.wait(.seconds(Int64(2)))
        #expect(!script.feedback().contains(PacketScript.pli))
    }

    /// Else the stream waits for what was missing before them, until it may be held no longer, and asks late.
    @Test func `more losses than can be asked for lead to a key frame request at once, whatever is missing before`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.picture(12)
        script.wait(.milliseconds(20))
        #expect(script.feedback() == [PacketScript.nack(11)])
        script.picture(1_500)
        script.wait(.milliseconds(1))
        #expect(script.feedback() == [PacketScript.pli])
        script.picture(1_501, isKeyFrame: true)
        #expect(script.frames() == [10, 1_501])
    }

    @Test func `key frames are asked for no more often than the interval, and only while packets come`() {
        var script = PacketScript { $0.usesNACK = false }
        for number in 0..<100 as Range<UInt16> {
            script.picture(number)
            script.wait(.milliseconds(10))
        }
        let requests = script.feedback().filter { $0 == PacketScript.pli }
        // The first after 50 ms, then each 300 ms of the second that this takes.
        #expect(requests.count == 4)
        script.wait(.seconds(Int64(10)))
        #expect(script.feedback().count <= 1)
    }

    @Test func `without PLI a key frame is commanded by FIR, each time with another number`() {
        var script = PacketScript {
            $0.usesPLI = false
            $0.usesFIR = true
        }
        for number in 0..<50 as Range<UInt16> {
            script.picture(number)
            script.wait(.milliseconds(10))
        }
        let numbers = script.feedback().compactMap { packet -> UInt8? in
            guard case .fullIntraRequest(let request) = packet else { return nil }
            return request.entries.first?.sequenceNumber
        }
        #expect(numbers == [1, 2])
    }

    @Test func `a key frame that is asked for is asked for until it comes`() {
        var script = PacketScript()
        for number in 0..<100 as Range<UInt16> {
            // Asked for within the throttle of the first key frame's request, and the first request of it is lost.
            script.picture(number, isKeyFrame: number == 1 || number == 60)
            if number == 5 || number == 70 { script.stream.requestKeyFrame(into: &script.queue, at: script.now) }
            if number == 90 { script.picture(91, isKeyFrame: true) }
            script.wait(.milliseconds(20))
        }
        let count = script.feedback().filter { $0 == PacketScript.pli }.count
        // From 100 ms to 1,200 ms every 300 ms, and from 1,400 ms to 1,800 ms.
        #expect((5...7).contains(count))
    }

    @Test func `feedback follows a report and a name when reduced size was not negotiated`() {
        var script = PacketScript { $0.allowsReducedSizeRTCP = false }
        script.stream.requestKeyFrame(into: &script.queue, at: script.now)
        #expect(
            script.feedback() == [
                .receiverReport(ReceiverReport(ssrc: 1)),
                .sourceDescription(SourceDescription(chunks: [.init(ssrc: 1, cname: "receiver")])),
                PacketScript.pli,
            ])
    }

    @Test func `a picture of several packets needs them all, and its first`() {
        var script = PacketScript()
        script.packet(20, timestamp: 3_000, marker: false, VP8.payload(isKeyFrame: true))
        script.packet(22, timestamp: 3_000, marker: true, VP8.continuation)
        #expect(script.frames() == [])
        script.packet(21, timestamp: 3_000, marker: false, VP8.continuation)
        #expect(
            script.outputs() == [
                .frame(
                    EncodedFrame(
                        payload: [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00, 1, 2, 3, 4, 5, 6, 4, 5, 6],
                        timestamp: 3_000, isKeyFrame: true, format: .vp8))
            ])
        // The next picture has lost its marker: the one after it ends it.
        script.packet(23, timestamp: 6_000, marker: false, VP8.payload(isKeyFrame: false))
        #expect(script.frames() == [])
        script.packet(24, timestamp: 9_000, VP8.payload(isKeyFrame: false))
        #expect(script.frames() == [2, 3])
    }

    /// A server goes to another stream's key frame when the end of a picture does not come.
    @Test func `a VP8 picture without an end before a key frame is no picture`() {
        var script = PacketScript()
        script.packet(20, timestamp: 3_000, VP8.payload(isKeyFrame: true))
        script.packet(21, timestamp: 6_000, marker: false, VP8.payload(isKeyFrame: false))
        script.packet(22, timestamp: 9_000, VP8.payload(isKeyFrame: true))
        script.packet(23, timestamp: 12_000, VP8.payload(isKeyFrame: false))
        #expect(script.frames() == [1, 3, 4])
    }

    @Test func `padding and foreign payload types fill their places`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.packet(11, timestamp: 30_000, [])
        script.packet(12, timestamp: 30_000, payloadType: 13, [1, 2, 3])
        script.picture(13)
        script.wait(.seconds(Int64(1)))
        #expect(script.frames() == [10, 13])
        #expect(script.feedback() == [])
    }

    @Test func `a picture that is lost is missed also where nothing but padding follows it`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.packet(12, timestamp: 33_000, [])
        script.wait(.milliseconds(200))
        script.picture(13)
        script.wait(.seconds(Int64(1)))
        #expect(script.frames() == [10])
        #expect(script.feedback().contains(PacketScript.pli))
    }

    @Test func `another codec in mid-stream begins at its own key frame`() {
        var script = PacketScript(codecs: [96: .media(.vp8), 102: .media(.h264)])
        script.picture(10, isKeyFrame: true)
        script.packet(11, timestamp: 33_000, payloadType: 102, [0x41, 0x88, 1, 2])
        #expect(script.frames() == [10])
        #expect(script.feedback() == [PacketScript.pli])
        // RFC 6184 §5.7.1: parameter sets in one aggregation packet, then the IDR slice.
        script.packet(
            12, timestamp: 36_000, payloadType: 102, marker: false,
            [0x78, 0, 5, 0x67, 0x42, 0xe0, 0x1f, 0xda, 0, 4, 0x68, 0xce, 0x38, 0x80])
        script.packet(13, timestamp: 36_000, payloadType: 102, [0x65, 0x88, 3, 4])
        let outputs = script.outputs()
        #expect(outputs.first == .codecChanged(.h264))
        guard case .frame(let frame) = outputs.last else {
            Issue.record("no frame")
            return
        }
        #expect(frame.format == .h264)
        #expect(frame.isKeyFrame)
        #expect(frame.payload.suffix(8) == [0, 0, 0, 1, 0x65, 0x88, 3, 4])
    }

    @Test func `an H.264 key frame whose parameter sets were lost is not taken for one that can be decoded`() {
        var script = PacketScript(codecs: [102: .media(.h264)]) { $0.usesNACK = false }
        let sets: [UInt8] = [0x78, 0, 5, 0x67, 0x42, 0xe0, 0x1f, 0xda, 0, 4, 0x68, 0xce, 0x38, 0x80]
        script.packet(10, timestamp: 3_000, payloadType: 102, marker: false, sets)
        script.packet(11, timestamp: 3_000, payloadType: 102, [0x65, 0x88, 1])
        // 12 held the parameter sets of the next one.
        script.packet(13, timestamp: 6_000, payloadType: 102, [0x65, 0x88, 2])
        script.wait(.seconds(Int64(1)))
        #expect(script.frames() == [1])
        script.packet(14, timestamp: 9_000, payloadType: 102, marker: false, sets)
        script.packet(15, timestamp: 9_000, payloadType: 102, [0x65, 0x88, 3])
        #expect(script.frames() == [3])
    }

    @Test func `sequence numbers and timestamps wrap, in the middle of a loss`() {
        var script = PacketScript()
        var timestamps: [UInt32] = []
        for step in 0..<12 as Range<UInt16> {
            let number = 65_530 &+ step
            let timestamp = (UInt32.max - 15_000) &+ UInt32(step) * 3_000
            // The last two before the wrap come late.
            guard ![4, 5].contains(step) else { continue }
            script.packet(number, timestamp: timestamp, VP8.payload(isKeyFrame: step == 0))
        }
        script.wait(.milliseconds(10))
        #expect(script.feedback() == [PacketScript.nack(65_534, 65_535)])
        script.packet(65_535, timestamp: UInt32.max, VP8.payload(isKeyFrame: false))
        script.packet(65_534, timestamp: UInt32.max - 3_000, VP8.payload(isKeyFrame: false))
        for output in script.outputs() {
            if case .frame(let frame) = output { timestamps.append(frame.timestamp) }
        }
        #expect(timestamps == (0..<12).map { (UInt32.max - 15_000) &+ UInt32($0) * 3_000 })
        #expect(script.stream.reportBlock(at: script.now)?.highestSequenceNumber == 0x1_0005)
    }

    @Test func `a goodbye ends the stream`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.picture(12)
        script.stream.receive(.goodbye(Goodbye(ssrcs: [7, PacketScript.ssrc])), at: script.now)
        #expect(script.outputs().last == .ended)
        #expect(script.stream.nextWake == nil)
        script.picture(13)
        #expect(script.outputs() == [])
    }

    // MARK: Hostile senders

    @Test func `a single jump of the sequence number is not believed`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.picture(30_000)
        script.picture(11)
        #expect(script.frames() == [10, 11])
        #expect(script.stream.stats(at: script.now).packetsLost == 0)
    }

    @Test func `two packets in a row at a new place start the stream over at a key frame`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.packet(30_000, timestamp: 9_000, VP8.payload(isKeyFrame: false))
        script.packet(30_001, timestamp: 12_000, VP8.payload(isKeyFrame: false))
        script.packet(30_002, timestamp: 15_000, VP8.payload(isKeyFrame: true))
        #expect(script.frames() == [10, 5])
    }

    @Test func `of two packets in a row at a new place neither is lost`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.picture(30_000, isKeyFrame: true)
        #expect(script.frames() == [10])
        #expect(script.stream.stats(at: script.now).packetsDiscarded == 1)
        script.wait(.milliseconds(33))
        script.picture(30_001)
        script.picture(30_002)
        #expect(script.frames() == [30_000, 30_001, 30_002])
        // No key frame is asked for, and each packet is counted once.
        #expect(script.feedback().isEmpty)
        let stats = script.stream.stats(at: script.now)
        #expect(stats.packetsReceived == 4)
        #expect(stats.packetsDiscarded == 0)
        #expect(stats.packetsLost == 0)
        let sizes = [true, true, false, false].map { (isKeyFrame: Bool) -> Int in
            VP8.payload(isKeyFrame: isKeyFrame).count
        }
        #expect(stats.bytesReceived == UInt64(sizes.reduce(0, +)))
        #expect(stats.headerBytesReceived == UInt64(4 * RTPHeader.fixedSize))
        let block = script.stream.reportBlock(at: script.now)
        #expect(block?.cumulativeLost == 0)
        #expect(block?.highestSequenceNumber == 30_002)
    }

    @Test func `a packet far away is let go when the next one does not continue from it`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.picture(30_000, isKeyFrame: true)
        script.picture(40_000, isKeyFrame: true)
        script.picture(11)
        script.picture(40_001)
        script.picture(12)
        #expect(script.frames() == [10, 11, 12])
        #expect(script.stream.stats(at: script.now).packetsDiscarded == 3)
    }

    @Test func `a packet of no known type that begins a new place is discarded once`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        script.picture(30_000, payloadType: 77)
        script.picture(30_001, isKeyFrame: true)
        script.picture(30_002)
        #expect(script.frames() == [10, 30_001, 30_002])
        #expect(script.stream.stats(at: script.now).packetsDiscarded == 1)
    }

    @Test func `what is passed on has both packets that begin a new place, the first one whole`() throws {
        var script = PacketScript { $0.unit = .packets }
        script.picture(10, isKeyFrame: true)
        script.stream.passing = nil
        script.picture(30_000, isKeyFrame: true)
        #expect(script.stream.passing == nil)
        #expect(script.stream.confirmed == nil)
        script.picture(30_001)
        let second = try #require(script.stream.passing)
        let first = try #require(script.stream.confirmed)
        #expect(first.passed.startsAnew)
        #expect(second.followsConfirmed && !second.startsAnew)
        #expect(second.sequence == first.passed.sequence + 1)
        #expect(first.passed.header.sequenceNumber == 30_000)
        #expect(Array(first.bytes[first.passed.header.payloadRange]) == VP8.payload(isKeyFrame: true))
        script.stream.confirmed = nil
        script.picture(30_002)
        let third = try #require(script.stream.passing)
        #expect(!third.followsConfirmed && !third.startsAnew)
        #expect(script.stream.stats(at: script.now).keyFramesReceived == 2)
    }

    @Test func `a sender that jumps about cannot make the stream hold more than its bounds`() {
        var random = EngineRandom.seeded(3)
        var script = PacketScript {
            $0.maximumPackets = 256
            $0.maximumBytes = 100_000
        }
        var number: UInt16 = 0
        for _ in 0..<5_000 {
            number &+= UInt16.random(in: 1...6_000, using: &random)
            let isStart = Bool.random(using: &random)
            script.packet(
                number, timestamp: UInt32.random(in: 0...UInt32.max, using: &random),
                marker: Bool.random(using: &random),
                (isStart ? VP8.payload(isKeyFrame: Bool.random(using: &random)) : VP8.continuation)
                    + [UInt8](repeating: 1, count: Int.random(in: 0...1_400, using: &random)))
            script.wait(.milliseconds(Int64.random(in: 0...5, using: &random)))
            _ = script.outputs()
            // No more than a compound of a thousand requests.
            #expect(script.feedback().count <= 2)
            #expect(script.stream.heldBytes <= 100_000)
            #expect(script.stream.heldPackets <= 256)
        }
    }
}
