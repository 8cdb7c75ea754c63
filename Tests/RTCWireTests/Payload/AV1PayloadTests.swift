import RTCWire
import Testing

@Suite struct `AV1 payloads` {
    /// As libaom writes it for 320 by 180 (the first bytes of Media/webRtcTestVideo-av1.ivf).
    static let sequenceHeader: [UInt8] = [
        0x0a, 0x0e, 0x00, 0x00, 0x00, 0x04, 0x3c, 0xfe, 0xcc, 0xda, 0xf9, 0x10, 0x20, 0x20, 0x10, 0x40,
    ]
    static let delimiter: [UInt8] = [0x12, 0x00]

    /// A unit of the low-overhead format with its size in one or two bytes.
    private func unit(_ kind: UInt8, layers: UInt8? = nil, _ content: [UInt8]) -> [UInt8] {
        var size: [UInt8] = [UInt8(content.count & 0x7f)]
        if content.count > 127 { size = [size[0] | 0x80, UInt8(content.count >> 7)] }
        return [kind << 3 | 0x02 | (layers == nil ? 0 : 0x04)] + (layers.map { [$0] } ?? []) + size + content
    }

    private func keyUnit(_ size: Int) -> [UInt8] { unit(6, [0x10] + [UInt8](repeating: 5, count: size)) }
    private func interUnit(_ size: Int) -> [UInt8] { unit(6, [0x30] + [UInt8](repeating: 6, count: size)) }

    private func join(_ payloads: [[UInt8]]) -> [UInt8]? {
        var depacketizer = Depacketizer(format: .av1)
        var frame: [UInt8] = []
        for payload in payloads where !depacketizer.append(payload, to: &frame) { return nil }
        return depacketizer.isAtUnitBoundary ? frame : nil
    }

    @Test func `a sequence header tells the size`() throws {
        let header = try #require(AV1SequenceHeader(inTemporalUnit: Self.delimiter + Self.sequenceHeader))
        #expect(header.profile == 0)
        #expect(header.width == 320)
        #expect(header.height == 180)
        for count in 0..<7 {
            let short = Array(Self.sequenceHeader[2..<2 + count])
            #expect(AV1SequenceHeader(inTemporalUnit: [0x0a, UInt8(count)] + short) == nil)
        }
        #expect(AV1SequenceHeader(inTemporalUnit: interUnit(5)) == nil)
    }

    @Test func `a key frame is a sequence header with a key frame behind it`() {
        #expect(PayloadFormat.av1.isKeyFrame(Self.delimiter + Self.sequenceHeader + keyUnit(9)))
        #expect(!PayloadFormat.av1.isKeyFrame(Self.sequenceHeader + interUnit(9)))
        #expect(!PayloadFormat.av1.isKeyFrame(keyUnit(9)))
        #expect(!PayloadFormat.av1.isKeyFrame(Self.sequenceHeader))
        #expect(!PayloadFormat.av1.isKeyFrame([]))
    }

    @Test func `a small temporal unit is one packet without delimiter and sizes`() {
        var packetizer = Packetizer(format: .av1, maximumPayloadSize: 100)
        let payloads = payloads(of: Self.delimiter + Self.sequenceHeader + keyUnit(3), &packetizer)
        // W is 2, N is set; the sequence header has its length, the frame is the rest.
        #expect(payloads == [[0x28, 15, 0x08] + Self.sequenceHeader[2...] + [0x30, 0x10, 5, 5, 5]])
        #expect(join(payloads) == Self.sequenceHeader + keyUnit(3))
    }

    @Test func `a large unit goes in fragments, joined again`() {
        var packetizer = Packetizer(format: .av1, maximumPayloadSize: 100)
        var depacketizer = Depacketizer(format: .av1)
        let frame = Self.sequenceHeader + keyUnit(300)
        let payloads = payloads(of: frame, &packetizer)
        #expect(payloads.count == 4)
        #expect(payloads.allSatisfy { $0.count <= 100 })
        // Z and Y: what continues, and what goes on.
        #expect(payloads.map { $0[0] & 0xc8 } == [0x48, 0xc0, 0xc0, 0x80])
        #expect(payloads.map { depacketizer.startsFrame($0) } == [true, false, false, false])
        #expect(payloads.map { depacketizer.startsKeyFrame($0) } == [true, false, false, false])
        #expect(join(payloads) == frame)
        // A lost fragment is noticed on either side of it.
        #expect(join([payloads[0], payloads[1], payloads[2]]) == nil)
        #expect(join(Array(payloads[1...])) == nil)
        var joined: [UInt8] = []
        #expect(depacketizer.append(payloads[0], to: &joined))
        #expect(!depacketizer.append([0x10, 0x30, 1], to: &joined), "another unit inside one")
    }

    @Test func `more than three units in a packet all have lengths`() {
        var packetizer = Packetizer(format: .av1, maximumPayloadSize: 200)
        let frame = unit(3, [0x30, 1]) + unit(4, [2]) + unit(4, [3, 3]) + unit(4, [4]) + unit(5, [])
        let payloads = payloads(of: frame, &packetizer)
        #expect(payloads == [[0x00, 3, 0x18, 0x30, 1, 2, 0x20, 2, 3, 0x20, 3, 3, 2, 0x20, 4, 1, 0x28]])
        #expect(join(payloads) == frame)
    }

    @Test func `units of two layers share no packet`() {
        var packetizer = Packetizer(format: .av1, maximumPayloadSize: 200)
        let frame = unit(6, layers: 0x20, [0x30, 1]) + unit(6, layers: 0x28, [0x30, 2])
        let payloads = payloads(of: frame, &packetizer)
        #expect(payloads == [[0x10, 0x34, 0x20, 0x30, 1], [0x10, 0x34, 0x28, 0x30, 2]])
        #expect(join(payloads) == frame)
    }

    @Test func `sizes that were left in give way to the true ones`() {
        #expect(join([[0x10, 0x32, 2, 0x30, 1]]) == [0x32, 2, 0x30, 1])
        #expect(join([[0x10, 0x22, 4, 3, 1, 2]]) == [0x22, 3, 3, 1, 2])
        #expect(join([[0x10, 0x22, 2, 3, 1, 2]]) == [0x22, 3, 3, 1, 2])
        // In more bytes than it needs; of a unit that comes in fragments; of one in the midst of others.
        #expect(join([[0x10, 0x22, 0x89, 0x00, 3, 1, 2]]) == [0x22, 3, 3, 1, 2])
        #expect(join([[0x50, 0x36, 0x20, 9, 3], [0x90, 1, 2]]) == [0x36, 0x20, 3, 3, 1, 2])
        #expect(join([[0x20, 3, 0x22, 0, 7, 0x30, 0x30]]) == [0x22, 1, 7, 0x32, 1, 0x30])
    }

    @Test func `elements without a byte are passed over`() {
        #expect(join([[0x00, 0, 2, 0x30, 1, 0]]) == [0x32, 1, 1])
        #expect(join([[0x00, 0]]) == [])
    }

    @Test func `delimiters and tile lists that arrive are left out`() {
        #expect(join([[0x20, 1, 0x10, 0x30, 0x30, 1]]) == [0x32, 2, 0x30, 1])
        #expect(join([[0x20, 3, 0x40, 9, 9, 0x30, 0x30, 1]]) == [0x32, 2, 0x30, 1])
    }

    @Test func `broken payloads are refused and leave the frame as it was`() {
        let broken: [[UInt8]] = [
            [], [0x10], [0x00, 5, 0x30], [0x20, 9, 0x30], [0x88, 0x30], [0x10, 0xb0, 1],
            [0x30, 1, 0x30], [0x00, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01], [0x10, 0x34],
            [0x20, 2, 0x30, 1, 0x34], [0x10, 0x32], [0x10, 0x32, 0x80],
        ]
        for payload in broken {
            var depacketizer = Depacketizer(format: .av1)
            var frame: [UInt8] = []
            #expect(depacketizer.append([0x10, 0x30, 1], to: &frame))
            #expect(!depacketizer.append(payload, to: &frame), "\(payload)")
            #expect(frame == [0x32, 1, 1])
        }
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func `a temporal unit comes out as it went in, without its delimiter`(seed: UInt64) {
        var random = TestBytes(seed: seed)
        let limit = 16 + random.next(below: 1_200)
        var packetizer = Packetizer(format: .av1, maximumPayloadSize: limit)
        for _ in 0..<5 {
            var frame: [UInt8] = []
            if random.next(below: 2) == 0 { frame += Self.sequenceHeader }
            for _ in 0...random.next(below: 6) {
                let content = [UInt8(0x30)] + random.any(random.next(below: 3_000))
                frame += unit([3, 4, 5, 6][random.next(below: 4)], content)
            }
            let payloads = payloads(of: Self.delimiter + frame, &packetizer)
            #expect(payloads.allSatisfy { $0.count <= limit })
            #expect(join(payloads) == frame)
        }
    }
}
