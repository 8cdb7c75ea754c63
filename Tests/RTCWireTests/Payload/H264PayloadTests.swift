import RTCWire
import Testing

@Suite struct `H264 payloads` {
    private let parameters: [UInt8] = [0x67, 0x42, 0xe0, 0x1f]
    private let picture: [UInt8] = [0x68, 0xce]
    private let start: [UInt8] = [0, 0, 0, 1]

    private func join(_ payloads: [[UInt8]]) -> [UInt8]? {
        var depacketizer = Depacketizer(format: .h264)
        var frame: [UInt8] = []
        for payload in payloads {
            guard depacketizer.append(payload, to: &frame) else { return nil }
        }
        return frame
    }

    @Test func `parameter sets share one packet, the slice has its own`() {
        var packetizer = Packetizer(format: .h264)
        let slice: [UInt8] = [0x65, 0x88, 0x80]
        let frame = start + parameters + start + picture + start + slice
        #expect(payloads(of: frame, &packetizer) == [[0x78, 0, 4] + parameters + [0, 2] + picture, slice])
    }

    @Test func `an aggregate takes the greatest importance of its units`() {
        var packetizer = Packetizer(format: .h264)
        let information: [UInt8] = [0x06, 0x05]
        let frame = start + information + start + [0x28, 0xce] + start + [0x41, 0x9a]
        #expect(payloads(of: frame, &packetizer).first?.first == 0x38)
    }

    @Test func `a slice that does not fit goes in fragments of equal size`() {
        var packetizer = Packetizer(format: .h264, maximumPayloadSize: 16)
        let content = [UInt8](1...29)
        let payloads = payloads(of: start + [0x65] + content, &packetizer)
        #expect(payloads.map(\.count) == [12, 12, 11])
        #expect(payloads.map { Array($0.prefix(2)) } == [[0x7c, 0x85], [0x7c, 0x05], [0x7c, 0x45]])
        #expect(join(payloads) == start + [0x65] + content)
    }

    @Test func `start codes of three bytes and trailing zeros are understood`() {
        var packetizer = Packetizer(format: .h264)
        #expect(
            payloads(of: [0, 0, 1, 0x41, 0x9a, 0, 0, 0, 0, 1, 0x41, 0x9b, 0, 0], &packetizer) == [
                [0x41, 0x9a], [0x41, 0x9b],
            ])
    }

    @Test func `an empty unit between parameter sets leaves no trace`() {
        // Found by fuzzing: its start code became part of the unit before it.
        var packetizer = Packetizer(format: .h264)
        let frame = start + parameters + start + start + picture
        #expect(payloads(of: frame, &packetizer) == [[0x78, 0, 4] + parameters + [0, 2] + picture])
    }

    @Test func `delimiters and SEI are kept`() {
        #expect(
            join([[0x09, 0xf0], [0x06, 0x01], [0x41, 0x9a]]) == start + [0x09, 0xf0] + start + [0x06, 0x01] + start + [
                0x41, 0x9a,
            ])
    }

    @Test(
        arguments: [
            ("STAP-B", [0x79, 0, 0, 0, 1, 0x41]), ("MTAP16", [0x7a, 0, 0]), ("MTAP24", [0x7b, 0, 0]),
            ("FU-B", [0x7d, 0x85, 0, 0]),
            ("type 0", [0x00, 1]), ("type 30", [0x7e, 1]), ("type 31", [0x7f, 1]), ("nothing", []),
            ("an aggregate of nothing", [0x78]), ("an aggregate with an empty unit", [0x78, 0, 0]),
            ("an aggregate that is cut off", [0x78, 0, 3, 0x41]), ("an aggregate in an aggregate", [0x78, 0, 1, 0x78]),
            ("a fragment without its header", [0x7c]), ("a fragment that starts and ends", [0x7c, 0xc5, 1]),
            ("a fragment of an aggregate", [0x7c, 0x98, 1]), ("a fragment from nowhere", [0x7c, 0x05, 1]),
        ] as [(String, [UInt8])])
    func `refuses what mode 1 does not have, or is broken`(name: String, payload: [UInt8]) {
        #expect(join([payload]) == nil, "\(name)")
    }

    @Test(
        arguments: [
            ("starts again", [0x7c, 0x85, 2]), ("changes its type", [0x7c, 0x41, 2]),
            ("changes its importance", [0x3c, 0x45, 2]),
            ("is interrupted by a unit", [0x41, 0x9a]), ("is interrupted by an aggregate", [0x78, 0, 1, 0x41]),
        ] as [(String, [UInt8])])
    func `refuses a fragmented unit that goes wrong`(name: String, second: [UInt8]) {
        #expect(join([[0x7c, 0x85, 1], second]) == nil, "\(name)")
    }

    @Test func `an unfinished fragment is not at a unit's boundary, and does not leak into the next frame`() {
        var depacketizer = Depacketizer(format: .h264)
        var frame: [UInt8] = []
        #expect(depacketizer.append([0x7c, 0x85, 1], to: &frame))
        #expect(!depacketizer.isAtUnitBoundary)
        var next: [UInt8] = []
        #expect(depacketizer.append([0x41, 0x9a], to: &next))
        #expect(next == start + [0x41, 0x9a])
    }

    @Test func `a frame may not grow without limit`() {
        var depacketizer = Depacketizer(format: .h264)
        var frame = [UInt8](repeating: 1, count: Depacketizer.maximumFrameSize)
        #expect(!depacketizer.append([0x41, 0x9a], to: &frame))
        #expect(frame.count == Depacketizer.maximumFrameSize)
    }

    @Test func `the first packet of a frame is told by its first macroblock`() {
        let depacketizer = Depacketizer(format: .h264)
        #expect(depacketizer.startsFrame([0x41, 0x9a]))
        #expect(!depacketizer.startsFrame([0x41, 0x5a]), "a later slice")
        #expect(depacketizer.startsFrame([0x7c, 0x85, 0x88]))
        #expect(!depacketizer.startsFrame([0x7c, 0x05, 0x88]), "a later fragment")
        #expect(depacketizer.startsFrame([0x78, 0, 2, 0x67, 0x42]))
        #expect(depacketizer.startsFrame([0x09, 0xf0]))
    }

    @Test func `a key frame shows in single units, aggregates and first fragments`() {
        let depacketizer = Depacketizer(format: .h264)
        #expect(depacketizer.startsKeyFrame([0x67, 0x42]))
        #expect(depacketizer.startsKeyFrame([0x65, 0x88]))
        #expect(depacketizer.startsKeyFrame([0x78, 0, 1, 0x09, 0, 1, 0x67]))
        #expect(depacketizer.startsKeyFrame([0x7c, 0x85, 0x88]))
        #expect(!depacketizer.startsKeyFrame([0x7c, 0x05, 0x88]))
        #expect(!depacketizer.startsKeyFrame([0x41, 0x9a]))
        #expect(!depacketizer.startsKeyFrame([0x09, 0xf0]))
    }
}
