import RTCWire
import Testing

/// What was written reads the same, and nothing that was damaged does harm.
@Suite struct RTCPPropertyTests {
    private func read(_ bytes: [UInt8]) -> [RTCPElement] {
        var elements: [RTCPElement] = []
        var reader = RTCPReader(bytes.span.bytes)
        while let element = reader.next() { elements.append(element) }
        return elements
    }

    @Test func `compounds of all kinds read as they were written`() {
        for seed in 0..<300 as Range<UInt64> {
            var random = SeededGenerator(seed)
            let packets = (0..<random.below(5) + 1).map { _ in random.packet() }
            var bytes: [UInt8] = []
            for packet in packets { packet.write(into: &bytes) }
            #expect(bytes.count % 4 == 0)
            #expect(read(bytes) == packets.map { .packet($0) })
        }
    }

    @Test func `no prefix and no damage traps`() {
        for seed in 0..<60 as Range<UInt64> {
            var random = SeededGenerator(seed)
            var bytes: [UInt8] = []
            for _ in 0..<3 { random.packet().write(into: &bytes) }
            for count in 0..<bytes.count { _ = read(Array(bytes.prefix(count))) }
            for _ in 0..<100 {
                var damaged = bytes
                for _ in 0..<3 { damaged[random.below(damaged.count)] = random.byte() }
                #expect(read(damaged).count <= damaged.count / 4 + 1)
            }
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func block() -> ReportBlock {
        ReportBlock(
            ssrc: number(), fractionLost: byte(), cumulativeLost: (number() as Int32) >> 8,
            highestSequenceNumber: number(), jitter: number(), lastSenderReport: number(),
            delaySinceLastSenderReport: number())
    }

    fileprivate mutating func text() -> String {
        String(decoding: array(upTo: 20) { 0x20 + $0.byte() % 0x5f }, as: UTF8.self)
    }

    fileprivate mutating func transportFeedback() -> TransportFeedback {
        let count = 1 + below(600)
        let density = below(4)
        var arrivals: [TransportFeedback.Arrival] = []
        for offset in 0..<count where below(4) <= density {
            let delta: Int16 = below(10) == 0 ? number() : Int16(byte())
            arrivals.append(.init(offset: UInt16(offset), delta: delta))
        }
        return TransportFeedback(
            senderSSRC: number(), mediaSSRC: number(), baseSequence: number(), statusCount: UInt16(count),
            referenceTime: (number() as Int32) >> 8, feedbackCount: byte(), arrivals: arrivals)
    }

    fileprivate mutating func packet() -> RTCPPacket {
        switch below(9) {
        case 0:
            .senderReport(
                SenderReport(
                    ssrc: number(), ntpTime: NTPTimestamp(value: number()), rtpTimestamp: number(),
                    packetCount: number(), octetCount: number(), blocks: array(upTo: 31) { $0.block() }))
        case 1: .receiverReport(ReceiverReport(ssrc: number(), blocks: array(upTo: 31) { $0.block() }))
        case 2:
            .sourceDescription(
                SourceDescription(
                    chunks: array(upTo: 5) { random in
                        let ssrc: UInt32 = random.number()
                        let items = random.array(upTo: 4) { random in
                            SourceDescription.Item(type: 1 + random.byte() % 15, text: random.text())
                        }
                        return SourceDescription.Chunk(ssrc: ssrc, items: items)
                    }))
        case 3: .goodbye(Goodbye(ssrcs: array(upTo: 31) { $0.number() }, reason: bool() ? text() : nil))
        case 4:
            .nack(
                GenericNACK(
                    senderSSRC: number(), mediaSSRC: number(),
                    entries: [.init(packetID: number(), followingLost: number())]
                        + array(upTo: 20) { .init(packetID: $0.number(), followingLost: $0.number()) }))
        case 5: .pictureLossIndication(PictureLossIndication(senderSSRC: number(), mediaSSRC: number()))
        case 6:
            .fullIntraRequest(
                FullIntraRequest(
                    senderSSRC: number(),
                    entries: [.init(ssrc: number(), sequenceNumber: byte())]
                        + array(upTo: 5) { .init(ssrc: $0.number(), sequenceNumber: $0.byte()) }))
        case 7:
            .receiverEstimatedBitrate(
                ReceiverEstimatedBitrate(
                    senderSSRC: number(), bitrate: UInt64(number() as UInt16) << UInt64(below(48)),
                    ssrcs: array(upTo: 8) { $0.number() }))
        default: .transportFeedback(transportFeedback())
        }
    }
}
