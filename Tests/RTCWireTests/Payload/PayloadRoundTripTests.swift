import RTCWire
import Testing

/// Repeatable bytes for the tests of this folder.
struct TestBytes {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func next(below limit: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state >> 33) % max(limit, 1)
    }

    /// Bytes without zeros, so that no start code comes about in a NAL unit.
    mutating func nonzero(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(1 + next(below: 255)) } }

    mutating func any(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(next(below: 256)) } }

    /// An access unit: perhaps parameter sets, then slices of all sizes.
    mutating func accessUnit() -> [UInt8] {
        var units: [[UInt8]] = []
        let isKeyFrame = next(below: 2) == 0
        if next(below: 3) == 0 { units.append([0x09, 0xf0]) }
        if isKeyFrame { units += [[0x67] + nonzero(12), [0x68] + nonzero(4)] }
        if next(below: 2) == 0 { units.append([0x06] + nonzero(20)) }
        for slice in 0...next(below: 3) {
            // first_mb_in_slice is zero, the bit 1, in the first slice only.
            let macroblock: UInt8 = slice == 0 ? 0x88 : 0x44
            units.append([isKeyFrame ? 0x65 : 0x41, macroblock] + nonzero(next(below: 5_000)))
        }
        return units.flatMap { AnnexB.startCode + $0 }
    }
}

/// The payloads of a frame, each as an array.
func payloads(of frame: [UInt8], _ packetizer: inout Packetizer) -> [[UInt8]] {
    var list = PayloadList()
    packetizer.packetize(frame.span.bytes, into: &list)
    return (0..<list.count).map { Array(list.bytes[list.range($0)]) }
}

@Suite struct `Payload round trips` {
    @Test(arguments: 0..<60 as Range<UInt64>)
    func `an H264 access unit comes out as it went in`(seed: UInt64) throws {
        var random = TestBytes(seed: seed)
        let limit = 60 + random.next(below: 1_200)
        var packetizer = Packetizer(format: .h264, maximumPayloadSize: limit)
        var depacketizer = Depacketizer(format: .h264)
        for _ in 0..<5 {
            let frame = random.accessUnit()
            let payloads = payloads(of: frame, &packetizer)
            #expect(payloads.allSatisfy { $0.count <= limit })
            let first = try #require(payloads.first)
            #expect(depacketizer.startsFrame(first))
            var joined: [UInt8] = []
            for payload in payloads { #expect(depacketizer.append(payload, to: &joined)) }
            #expect(depacketizer.isAtUnitBoundary)
            #expect(joined == frame)
            let isKeyFrame = payloads.contains { depacketizer.startsKeyFrame($0) }
            #expect(isKeyFrame == PayloadFormat.h264.isKeyFrame(frame))
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `a VP8 frame comes out as it went in, with the next picture id`(seed: UInt64) throws {
        var random = TestBytes(seed: seed)
        let limit = 20 + random.next(below: 1_200)
        var packetizer = Packetizer(format: .vp8, maximumPayloadSize: limit, firstPictureID: 0x7ffe)
        var depacketizer = Depacketizer(format: .vp8)
        for id: UInt16 in [0x7ffe, 0x7fff, 0, 1] {
            let frame = random.any(1 + random.next(below: 6_000))
            let payloads = payloads(of: frame, &packetizer)
            #expect(payloads.allSatisfy { $0.count <= limit })
            var joined: [UInt8] = []
            for (index, payload) in payloads.enumerated() {
                #expect(VP8PayloadDescriptor(payload)?.pictureID == id)
                #expect(depacketizer.startsFrame(payload) == (index == 0))
                #expect(depacketizer.append(payload, to: &joined))
            }
            #expect(joined == frame)
            let first = try #require(payloads.first)
            #expect(depacketizer.startsKeyFrame(first) == (frame[0] & 1 == 0))
        }
    }

    @Test func `an Opus packet is its payload, however long`() {
        var random = TestBytes(seed: 7)
        var packetizer = Packetizer(format: .opus, maximumPayloadSize: 100)
        var depacketizer = Depacketizer(format: .opus)
        for size in [1, 99, 100, 1_275] {
            let packet = random.any(size)
            #expect(payloads(of: packet, &packetizer) == [packet])
            var joined: [UInt8] = []
            #expect(depacketizer.append(packet, to: &joined))
            #expect(joined == packet)
            #expect(!depacketizer.append(packet, to: &joined), "one packet is a whole frame")
        }
    }

    @Test func `nothing is sent for a frame without content`() {
        for format in PayloadFormat.allCases {
            var packetizer = Packetizer(format: format)
            #expect(payloads(of: [], &packetizer).isEmpty)
        }
        var packetizer = Packetizer(format: .h264)
        #expect(payloads(of: [1, 2, 3], &packetizer).isEmpty, "no start code")
        #expect(payloads(of: [0, 0, 1, 0, 0, 1], &packetizer).isEmpty, "an empty unit")
    }

    @Test func `a list keeps its ranges apart and forgets on demand`() {
        var list = PayloadList()
        list.bytes += [1, 2, 3]
        list.endPayload()
        list.bytes += [4]
        list.endPayload()
        #expect(list.count == 2)
        #expect(list.range(0) == 0..<3)
        #expect(list.range(1) == 3..<4)
        #expect(list.range(2).isEmpty)
        let second = list[1].byteCount
        #expect(second == 1)
        list.removeAll()
        #expect(list.isEmpty)
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `random bytes are refused or read, and never trap`(seed: UInt64) {
        var random = TestBytes(seed: seed)
        for format in PayloadFormat.allCases {
            var depacketizer = Depacketizer(format: format)
            var packetizer = Packetizer(format: format, maximumPayloadSize: 16)
            var frame: [UInt8] = []
            for _ in 0..<20 {
                var bytes = random.any(random.next(below: 40))
                // Half of the time something that looks like an aggregate or a fragment.
                if !bytes.isEmpty, random.next(below: 2) == 0 {
                    bytes[0] = [24, 28, 0x90, 0x80][random.next(below: 4)]
                }
                _ = depacketizer.startsFrame(bytes)
                _ = depacketizer.startsKeyFrame(bytes)
                let before = frame
                if !depacketizer.append(bytes, to: &frame) { #expect(frame == before) }
                _ = payloads(of: bytes, &packetizer)
                _ = format.isKeyFrame(bytes)
                _ = H264SequenceParameterSet(([0x67] + bytes))
                _ = AVCConfiguration(bytes)
                _ = VP8FrameHeader(bytes)
                _ = OpusPacket(bytes)
            }
        }
    }
}
