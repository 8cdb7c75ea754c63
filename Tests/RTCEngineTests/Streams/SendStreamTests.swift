import RTCEngine
import RTCWire
import Testing

/// One send stream, and the packets it makes.
@Suite struct SendStreamTests {
    private static let start = Instant.zero + .seconds(Int64(3))

    private func makeStream(
        rtx: Bool = true, adjust: (inout SendStreamConfiguration) -> Void = { _ in }
    ) -> SendStream {
        var configuration = SendStreamConfiguration(
            ssrc: 10, payloadType: 96, format: .vp8, retransmission: rtx ? .init(ssrc: 11, payloadType: 97) : nil,
            cname: "sender", mid: "video",
            extensions: HeaderExtensionIDs(mid: 4, absoluteSendTime: 2, transportSequence: 3))
        adjust(&configuration)
        return SendStream(
            configuration: configuration, clock: WallClock(offset: .zero), random: .seeded(1))
    }

    private func frame(_ size: Int, isKeyFrame: Bool = false) -> EncodedFrame {
        EncodedFrame(
            payload: [isKeyFrame ? 0x10 : 0x11] + [UInt8](repeating: 7, count: size - 1), timestamp: 5,
            isKeyFrame: isKeyFrame, format: .vp8)
    }

    private func drain(_ queue: inout PacketQueue) -> [QueuedPacket] {
        var packets: [QueuedPacket] = []
        while let packet = queue.popFirst() { packets.append(packet) }
        return packets
    }

    private func header(_ packet: QueuedPacket) throws -> RTPHeader { try RTPHeader(parsing: packet.bytes.span.bytes) }

    private func mid(_ packet: QueuedPacket) -> String? {
        let bytes = packet.bytes
        let header = try? RTPHeader(parsing: bytes.span.bytes)
        return header?.text(4, in: bytes.span.bytes)
    }

    private func nack(_ numbers: UInt16...) -> RTCPPacket {
        .nack(GenericNACK(senderSSRC: 1, mediaSSRC: 10, missing: numbers))
    }

    @Test func `a frame becomes numbered packets within the limit, the last one marked`() throws {
        var stream = makeStream()
        var queue = PacketQueue()
        stream.send(frame(5_000), into: &queue, at: Self.start)
        let packets = drain(&queue)
        let headers = try packets.map(header)
        #expect(packets.count >= 5)
        #expect(packets.allSatisfy { $0.kind == .rtp && $0.bytes.count <= 1_200 })
        #expect(headers.map(\.marker) == Array(repeating: false, count: packets.count - 1) + [true])
        #expect(Set(headers.map(\.timestamp)).count == 1)
        #expect(zip(headers, headers.dropFirst()).allSatisfy { $1.sequenceNumber == $0.sequenceNumber &+ 1 })
        #expect(mid(packets[0]) == "video")
    }

    @Test func `the media section is named in the first hundred packets only`() {
        var stream = makeStream()
        var queue = PacketQueue()
        for _ in 0..<110 { stream.send(frame(100), into: &queue, at: Self.start) }
        let named = drain(&queue).map { mid($0) != nil }
        #expect(named == Array(repeating: true, count: 100) + Array(repeating: false, count: 10))
    }

    @Test func `what is only known when a packet leaves is written then`() throws {
        var stream = makeStream()
        var queue = PacketQueue()
        stream.send(frame(100), into: &queue, at: Self.start)
        guard var packet = queue.popFirst() else { throw Missing() }
        packet.places.write(transportSequence: 0xbeef, into: &packet.bytes)
        packet.places.write(absoluteSendTime: AbsoluteSendTime(value: 0x12_3456), into: &packet.bytes)
        let bytes = packet.bytes
        #expect(try header(packet).transportSequence(3, in: bytes.span.bytes) == 0xbeef)
        #expect(try header(packet).absoluteSendTime(2, in: bytes.span.bytes)?.value == 0x12_3456)
    }

    /// AV1 RTP specification, appendix A, as `DependencyDescriptorReader` understands it: what a browser would.
    @Test func `frames tell what they refer to from the first key frame on`() throws {
        var stream = makeStream { $0.extensions.dependencyDescriptor = 10 }
        var queue = PacketQueue()
        stream.send(frame(100), into: &queue, at: Self.start)
        #expect(try drain(&queue).allSatisfy { try descriptor($0).isEmpty }, "no structure, nothing to say")
        var reader = DependencyDescriptorReader()
        var number: UInt16?
        for (size, isKeyFrame) in [(3_000, true), (2_000, false), (100, false), (100, true), (100, false)] {
            stream.send(frame(size, isKeyFrame: isKeyFrame), into: &queue, at: Self.start)
            let packets = drain(&queue)
            #expect(packets.allSatisfy { $0.bytes.count <= 1_200 })
            for (index, packet) in packets.enumerated() {
                let data = try descriptor(packet)
                let read = reader.read(data.span.bytes)
                let told = try #require(read)
                #expect(told.startsFrame == (index == 0))
                #expect(told.endsFrame == (index == packets.count - 1))
                #expect(told.frameNumber == number ?? told.frameNumber)
                #expect(told.frameDifferences == (isKeyFrame ? [] : [1]))
                #expect(told.chainDifferences == (isKeyFrame ? [0] : [1]))
                // Browsers take what brings a structure for a key frame.
                #expect((told.structure != nil) == (isKeyFrame && index == 0))
                number = told.frameNumber
            }
            number = number.map { $0 &+ 1 }
        }
    }

    @Test func `a receiver that agrees to descriptors later has to have a key frame first`() throws {
        var stream = makeStream()
        var queue = PacketQueue()
        stream.send(frame(100, isKeyFrame: true), into: &queue, at: Self.start)
        var next = stream.configuration
        next.extensions.dependencyDescriptor = 10
        stream.reconfigure(next, random: .seeded(2))
        _ = drain(&queue)
        stream.send(frame(100), into: &queue, at: Self.start)
        #expect(try drain(&queue).allSatisfy { try descriptor($0).isEmpty })
        stream.send(frame(100, isKeyFrame: true), into: &queue, at: Self.start)
        #expect(try drain(&queue).allSatisfy { try !descriptor($0).isEmpty })
    }

    /// As after a browser's offer, which names fewer of them than it agrees to in ours.
    @Test func `when extensions are agreed on later pictures are numbered on, and what is missed is still repeated`()
        throws
    {
        var stream = makeStream()
        var queue = PacketQueue()
        stream.send(frame(100, isKeyFrame: true), into: &queue, at: Self.start)
        let before = drain(&queue)[0]
        var next = stream.configuration
        next.extensions.dependencyDescriptor = 10
        next.extensions.absoluteCaptureTime = 11
        let needsKeyFrame = stream.reconfigure(next, random: .seeded(2))
        #expect(!needsKeyFrame)
        stream.send(frame(100), into: &queue, at: Self.start)
        let after = drain(&queue)[0]
        let numbers = try [before, after].map { packet in
            let bytes = packet.bytes
            let payload = try header(packet).payload(of: bytes.span.bytes)
            return VP8PayloadDescriptor(payload)?.pictureID
        }
        #expect(try #require(numbers[1]) == (try #require(numbers[0]) + 1) & 0x7fff)

        stream.receive(nack(try header(before).sequenceNumber), into: &queue, at: Self.start + .milliseconds(50))
        #expect(queue.count == 1)
        next.payloadType = 100
        stream.reconfigure(next, random: .seeded(3))
        _ = drain(&queue)
        stream.receive(nack(try header(after).sequenceNumber), into: &queue, at: Self.start + .milliseconds(50))
        #expect(queue.isEmpty)
    }

    private func descriptor(_ packet: QueuedPacket) throws -> [UInt8] {
        let bytes = packet.bytes
        let range = try header(packet).extensionElement(10, in: bytes.span.bytes)
        return range.map { Array(bytes[$0]) } ?? []
    }

    @Test func `a missing packet is sent again over RTX, but not twice within a round trip`() throws {
        var stream = makeStream()
        var queue = PacketQueue()
        stream.send(frame(100), into: &queue, at: Self.start)
        let original = drain(&queue)[0]
        let number = try header(original).sequenceNumber
        stream.receive(nack(number), into: &queue, at: Self.start + .milliseconds(50))
        var again = drain(&queue)
        #expect(again.count == 1)
        let resent = try header(again[0])
        #expect(resent.ssrc == 11)
        #expect(resent.payloadType == 97)
        #expect(resent.marker)
        let payload = Array(again[0].bytes[resent.payloadRange])
        let originalNumber = RTXPayload.originalSequenceNumber(payload.span.bytes)
        #expect(originalNumber == number)
        let originalSize = try header(original).payloadRange.count
        #expect(payload.count == originalSize + 2)
        let isStamped = again[0].places.write(transportSequence: 9, into: &again[0].bytes)
        #expect(isStamped)

        stream.receive(nack(number), into: &queue, at: Self.start + .milliseconds(60))
        #expect(queue.isEmpty)
        stream.receive(nack(number), into: &queue, at: Self.start + .milliseconds(70))
        #expect(queue.count == 1)
        #expect(stream.stats(at: Self.start).retransmittedPacketsSent == 2)
    }

    @Test func `without RTX the same packet goes out again`() throws {
        var stream = makeStream(rtx: false)
        var queue = PacketQueue()
        stream.send(frame(100), into: &queue, at: Self.start)
        let original = drain(&queue)[0]
        stream.receive(nack(try header(original).sequenceNumber), into: &queue, at: Self.start + .milliseconds(50))
        var expected = original
        expected.priority = .retransmission
        expected.isRepeat = true
        #expect(drain(&queue) == [expected])
    }

    @Test func `what is too old or was never sent is not sent again`() throws {
        var stream = makeStream()
        var queue = PacketQueue()
        stream.send(frame(100), into: &queue, at: Self.start)
        let number = try header(drain(&queue)[0]).sequenceNumber
        stream.receive(nack(number &+ 1, number &- 1), into: &queue, at: Self.start)
        stream.receive(nack(number), into: &queue, at: Self.start + .milliseconds(1_001))
        #expect(queue.isEmpty)
    }

    @Test func `requests for key frames are passed on once an interval, and none is lost`() {
        var stream = makeStream()
        var queue = PacketQueue()
        let pli = RTCPPacket.pictureLossIndication(PictureLossIndication(senderSSRC: 1, mediaSSRC: 10))
        stream.receive(pli, into: &queue, at: Self.start)
        #expect(stream.pollOutput() == .keyFrameRequested)
        stream.send(frame(100, isKeyFrame: true), into: &queue, at: Self.start + .milliseconds(10))
        for time in [20, 30, 40] as [Int64] { stream.receive(pli, into: &queue, at: Self.start + .milliseconds(time)) }
        #expect(stream.pollOutput() == nil)
        #expect(stream.nextWake == Self.start + .milliseconds(300))
        stream.tick(at: Self.start + .milliseconds(300))
        #expect(stream.pollOutput() == .keyFrameRequested)
        #expect(stream.pollOutput() == nil)
        #expect(stream.nextWake == nil)
    }

    @Test func `the same full intra request is one command`() {
        var stream = makeStream()
        var queue = PacketQueue()
        func command(_ number: UInt8) -> RTCPPacket {
            .fullIntraRequest(FullIntraRequest(senderSSRC: 1, entries: [.init(ssrc: 10, sequenceNumber: number)]))
        }
        stream.receive(command(1), into: &queue, at: Self.start)
        #expect(stream.pollOutput() == .keyFrameRequested)
        stream.receive(command(1), into: &queue, at: Self.start + .seconds(Int64(1)))
        #expect(stream.pollOutput() == nil)
        stream.receive(command(2), into: &queue, at: Self.start + .seconds(Int64(2)))
        #expect(stream.pollOutput() == .keyFrameRequested)
    }

    @Test func `a sender report relates the media clock to the wall clock`() {
        var stream = makeStream()
        var queue = PacketQueue()
        #expect(stream.senderReport(at: Self.start) == nil)
        stream.send(frame(100), into: &queue, at: Self.start)
        let first = stream.senderReport(at: Self.start)
        let second = stream.senderReport(at: Self.start + .milliseconds(500))
        // RFC 5905 §6: 1970 is 2,208,988,800 seconds after 1900.
        #expect(first?.ntpTime.value == (2_208_988_803 as UInt64) << 32)
        #expect((second?.rtpTimestamp ?? 0) &- (first?.rtpTimestamp ?? 0) == 45_000)
        #expect((second?.ntpTime.value ?? 0) - (first?.ntpTime.value ?? 0) == 1 << 31)
        #expect(first?.packetCount == 1)
        #expect(first?.octetCount == UInt32(stream.stats(at: Self.start).bytesSent))
    }

    @Test func `an impossible round trip is not believed`() {
        var stream = makeStream()
        var queue = PacketQueue()
        let block = ReportBlock(
            ssrc: 10, fractionLost: 128, cumulativeLost: 3, highestSequenceNumber: 0, jitter: 900,
            lastSenderReport: 1, delaySinceLastSenderReport: .max)
        stream.receive(.receiverReport(ReceiverReport(ssrc: 1, blocks: [block])), into: &queue, at: Self.start)
        let stats = stream.remoteStats()
        #expect(stats?.roundTripTime == nil)
        #expect(stats?.fractionLost == 0.5)
        #expect(stats?.jitter == 0.01)
    }

    @Test func `recycled buffers serve the next packets`() {
        var queue = PacketQueue()
        var stream = makeStream()
        for _ in 0..<3_000 {
            stream.send(frame(3_000), into: &queue, at: Self.start)
            while let packet = queue.popFirst() {
                #expect(packet.bytes.capacity >= PacketQueue.bufferCapacity)
                queue.recycle(packet.bytes)
            }
        }
        #expect(queue.isEmpty)
    }

    private struct Missing: Error {}
}
