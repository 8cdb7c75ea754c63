import RTCWire
import Testing

@Suite struct SequenceNumberTests {
    @Test func `the shortest way round decides who is newer`() {
        #expect(SequenceNumber.isNewer(1, than: 0))
        #expect(SequenceNumber.isNewer(0, than: 65_535))
        #expect(!SequenceNumber.isNewer(65_535, than: 0))
        #expect(!SequenceNumber.isNewer(7, than: 7))
        #expect(SequenceNumber.distance(from: 65_530, to: 5) == 11)
        #expect(SequenceNumber.distance(from: 5, to: 65_530) == -11)
    }

    @Test func `numbers unwrap forward and back over the end`() {
        var unwrapper = SequenceUnwrapper()
        let numbers = [65_534, 65_535, 1, 0, 2, 65_533].map { unwrapper.unwrap($0) - 65_536 }
        #expect(numbers == [65_534, 65_535, 65_537, 65_536, 65_538, 65_533])
        #expect(unwrapper.highest == 131_074)
        #expect(unwrapper.peek(3) == 131_075)
        #expect(unwrapper.highest == 131_074)
    }

    @Test func `a walk of small steps unwraps to the same walk`() {
        for seed in 0..<20 as Range<UInt64> {
            var random = SeededGenerator(seed)
            var unwrapper = SequenceUnwrapper()
            var position = Int64(random.number() as UInt16) + 65_536
            for _ in 0..<2_000 {
                #expect(unwrapper.unwrap(UInt16(truncatingIfNeeded: position)) == position)
                position += Int64(random.byte()) - 40
                position = max(position, (unwrapper.highest ?? 0) - 1_000)
            }
        }
    }

    @Test func `timestamps unwrap over the end`() {
        var unwrapper = TimestampUnwrapper()
        let first = unwrapper.unwrap(.max - 10)
        let second = unwrapper.unwrap(20)
        let third = unwrapper.unwrap(.max)
        #expect(second - first == 31)
        #expect(third - first == 10)
    }

    @Test func `a retransmission keeps all but its stream and number`() throws {
        var original: [UInt8] = []
        original.append(addingCapacity: 32) { out in
            RTPHeader(marker: true, payloadType: 96, sequenceNumber: 0x0102, timestamp: 77, ssrc: 5).write(into: &out)
            let writer = HeaderExtensionWriter(form: .oneByte, in: &out)
            writer.append(1, text: "a", in: &out)
            writer.finish(in: &out)
        }
        // Three bytes of padding.
        original[0] |= 0x20
        original += [10, 11, 12, 0, 0, 3]
        let header = try RTPHeader(parsing: original.span.bytes)
        var bytes: [UInt8] = []
        RTXPayload.write(
            original.span.bytes, header: header, ssrc: 6, payloadType: 97, sequenceNumber: 900, into: &bytes)
        let resent = try RTPHeader(parsing: bytes.span.bytes)
        #expect(resent.marker)
        #expect(resent.payloadType == 97)
        #expect(resent.sequenceNumber == 900)
        #expect(resent.timestamp == 77)
        #expect(resent.ssrc == 6)
        #expect(resent.paddingCount == 0)
        let mid = resent.text(1, in: bytes.span.bytes)
        #expect(mid == "a")
        // RFC 4588 §4: the original number, then the original payload.
        #expect(Array(bytes[resent.payloadRange]) == [0x01, 0x02, 10, 11, 12])
    }

    @Test func `the send time is 6.18 of the wall clock`() {
        // 1.5 seconds past a multiple of 64.
        #expect(AbsoluteSendTime(NTPTimestamp(value: 64 << 32 | 3 << 31)).value == 3 << 17)
        #expect(AbsoluteSendTime(NTPTimestamp(value: .max)).value == 0xff_ffff)
    }
}
