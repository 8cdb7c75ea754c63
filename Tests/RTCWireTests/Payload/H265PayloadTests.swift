import RTCWire
import Testing

@Suite struct `H265 payloads` {
    /// Units with two bytes of header: type, layer 0, temporal id 1.
    static let parameters: [[UInt8]] = [[0x40, 0x01, 0x0c, 7], [0x42, 0x01, 0x01, 7], [0x44, 0x01, 0xc1]]
    /// IDR_W_RADL, the first segment of its picture.
    static func idr(_ size: Int) -> [UInt8] { [0x26, 0x01, 0xaf] + [UInt8](repeating: 8, count: size) }
    /// TRAIL_R, the first segment of its picture.
    static func slice(_ size: Int) -> [UInt8] { [0x02, 0x01, 0xd0] + [UInt8](repeating: 9, count: size) }

    private func frame(_ units: [[UInt8]]) -> [UInt8] { units.flatMap { AnnexB.startCode + $0 } }

    @Test func `parameter sets share one packet, the slice has its own (RFC 7798 figure 4)`() {
        var packetizer = Packetizer(format: .h265, maximumPayloadSize: 100)
        let payloads = payloads(of: frame(Self.parameters + [Self.idr(10)]), &packetizer)
        let aggregate: [UInt8] =
            [0x60, 0x01] + [0, 4] + Self.parameters[0] + [0, 4] + Self.parameters[1] + [0, 3] + Self.parameters[2]
        #expect(payloads == [aggregate, Self.idr(10)])
    }

    @Test func `an aggregate takes the lowest layer and temporal id`() {
        var packetizer = Packetizer(format: .h265, maximumPayloadSize: 100)
        let payloads = payloads(of: frame([[0xc2, 0x1b, 1], [0x44, 0x0a, 1]]), &packetizer)
        #expect(payloads.map { Array($0.prefix(2)) } == [[0xe0, 0x0a]])
    }

    @Test func `a slice that does not fit goes in fragments of equal size (RFC 7798 figure 9)`() {
        var packetizer = Packetizer(format: .h265, maximumPayloadSize: 103)
        let payloads = payloads(of: frame([Self.idr(249)]), &packetizer)
        #expect(payloads.map(\.count) == [87, 87, 85])
        #expect(
            payloads.map { Array($0.prefix(3)) } == [[0x62, 0x01, 0x93], [0x62, 0x01, 0x13], [0x62, 0x01, 0x53]])
    }

    @Test func `where frames and key frames begin`() {
        let depacketizer = Depacketizer(format: .h265)
        let aggregate: [UInt8] = [0x60, 0x01, 0, 4, 0x40, 0x01, 0x0c, 7]
        #expect(depacketizer.startsFrame(aggregate))
        #expect(depacketizer.startsKeyFrame(aggregate))
        #expect(depacketizer.startsFrame(Self.slice(3)))
        #expect(!depacketizer.startsKeyFrame(Self.slice(3)))
        #expect(depacketizer.startsKeyFrame(Self.idr(3)))
        #expect(!depacketizer.startsFrame([0x02, 0x01, 0x50]), "a later segment of the picture")
        #expect(depacketizer.startsFrame([0x62, 0x01, 0x93, 0xaf]))
        #expect(!depacketizer.startsFrame([0x62, 0x01, 0x13, 0xaf]))
        #expect(!depacketizer.startsFrame([]))
        #expect(PayloadFormat.h265.isKeyFrame(frame(Self.parameters + [Self.idr(1)])))
        #expect(!PayloadFormat.h265.isKeyFrame(frame([Self.slice(1)])))
    }

    @Test func `what is broken, or not of this mode, is refused`() {
        let broken: [[UInt8]] = [
            [], [0x02], [0x60, 0x01], [0x60, 0x01, 0, 9, 1], [0x60, 0x01, 0, 1, 1], [0x60, 0x01, 0, 2, 0x60, 0x01],
            [0x62, 0x01], [0x62, 0x01, 0xd3, 1], [0x62, 0x01, 0x13, 1], [0x62, 0x01, 0xb0, 1],
            // PACI, and what has no meaning.
            [0x64, 0x01, 0x00, 0x00], [0x7e, 0x01, 0x00],
        ]
        for payload in broken {
            var depacketizer = Depacketizer(format: .h265)
            var joined: [UInt8] = []
            #expect(depacketizer.append(Self.slice(1), to: &joined))
            let before = joined
            #expect(!depacketizer.append(payload, to: &joined), "\(payload)")
            #expect(joined == before)
        }
        var depacketizer = Depacketizer(format: .h265)
        var joined: [UInt8] = []
        #expect(depacketizer.append([0x62, 0x01, 0x93, 1], to: &joined))
        #expect(!depacketizer.isAtUnitBoundary)
        #expect(!depacketizer.append([0x62, 0x01, 0x41, 1], to: &joined), "the rest of another unit")
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `an access unit comes out as it went in`(seed: UInt64) {
        var random = TestBytes(seed: seed)
        let limit = 60 + random.next(below: 1_200)
        var packetizer = Packetizer(format: .h265, maximumPayloadSize: limit)
        var depacketizer = Depacketizer(format: .h265)
        let isKeyFrame = random.next(below: 2) == 0
        var units = isKeyFrame ? Self.parameters : []
        for _ in 0...random.next(below: 3) {
            units.append((isKeyFrame ? [0x26, 0x01] : [0x02, 0x01]) + random.nonzero(1 + random.next(below: 4_000)))
        }
        let frame = frame(units)
        let payloads = payloads(of: frame, &packetizer)
        #expect(payloads.allSatisfy { $0.count <= limit })
        var joined: [UInt8] = []
        for payload in payloads { #expect(depacketizer.append(payload, to: &joined)) }
        #expect(depacketizer.isAtUnitBoundary)
        #expect(joined == frame)
    }
}
