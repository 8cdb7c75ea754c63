import LiveKitProtocol
import RTCEngine
import Testing

@testable import LiveKitClient

@Suite struct DataTrackAssemblerTests {
    /// A packet of one byte, which is its sequence number's last.
    private static func packet(
        _ frame: UInt16, _ sequence: UInt16, isStart: Bool = false, isEnd: Bool = false
    ) -> DataTrackPacket {
        var packet = DataTrackPacket(handle: 1, payload: [UInt8(truncatingIfNeeded: sequence)])
        packet.frameNumber = frame
        packet.sequenceNumber = sequence
        packet.isFrameStart = isStart
        packet.isFrameEnd = isEnd
        if isStart { packet.userTimestamp = UInt64(frame) }
        return packet
    }

    /// The packets of one frame.
    private static func packets(_ frame: UInt16, from first: UInt16, _ count: Int) -> [DataTrackPacket] {
        (0..<count).map { place in
            packet(frame, first &+ UInt16(place), isStart: place == 0, isEnd: place == count - 1)
        }
    }

    /// The frames that come of packets, by their timestamps.
    private static func frames(
        _ packets: [DataTrackPacket], _ assembler: inout DataTrackAssembler
    ) -> [UInt64?] {
        packets.compactMap { assembler.take($0) }.map(\.userTimestamp)
    }

    private static func frames(_ packets: [DataTrackPacket]) -> [UInt64?] {
        var assembler = DataTrackAssembler()
        return frames(packets, &assembler)
    }

    @Test func `a frame comes when all of it has come, with what its first packet said`() {
        var assembler = DataTrackAssembler()
        let packets = Self.packets(5, from: 10, 3)
        let early = packets.dropLast().compactMap { assembler.take($0) }
        #expect(early.isEmpty)
        let frame = assembler.take(packets[2])
        #expect(frame == DataTrackFrame(payload: [10, 11, 12], userTimestamp: 5))
        let single = assembler.take(Self.packets(6, from: 13, 1)[0])
        #expect(single == DataTrackFrame(payload: [13], userTimestamp: 6))
    }

    @Test func `the packets of a frame may come in any order`() {
        let packets = Self.packets(1, from: 0, 4)
        for order in [[3, 2, 1, 0], [1, 0, 3, 2], [0, 3, 1, 2], [2, 3, 0, 1]] {
            var assembler = DataTrackAssembler()
            let frames = order.compactMap { assembler.take(packets[$0]) }
            #expect(frames == [DataTrackFrame(payload: [0, 1, 2, 3], userTimestamp: 1)], "\(order)")
        }
    }

    @Test func `a frame of which a packet is lost is lost, and the next one comes`() {
        for lost in 0..<3 {
            var packets = Self.packets(1, from: 0, 3)
            packets.remove(at: lost)
            #expect(Self.frames(packets + Self.packets(2, from: 3, 2)) == [2], "without \(lost)")
            #expect(Self.frames(packets + Self.packets(2, from: 3, 1)) == [2], "without \(lost)")
        }
    }

    @Test func `what comes of a frame that was given up does not cost the next one`() {
        let (first, second) = (Self.packets(1, from: 0, 3), Self.packets(2, from: 3, 3))
        #expect(Self.frames([first[0], first[2], second[0], first[1], second[1], second[2]]) == [2])
        // Nor does what comes of one that is there already.
        #expect(Self.frames(first + [first[1]] + second) == [1, 2])
    }

    @Test func `a packet that comes twice is one`() {
        let packets = Self.packets(1, from: 0, 3)
        #expect(Self.frames([packets[0], packets[0], packets[1], packets[1]]) == [])
        #expect(Self.frames([packets[0], packets[1], packets[1], packets[0], packets[2]]) == [1])
    }

    @Test func `numbers go on at 0 after the last one`() {
        var assembler = DataTrackAssembler()
        let packets = Self.packets(65_535, from: 65_534, 4)
        let frames = [packets[1], packets[0], packets[3], packets[2]].compactMap { assembler.take($0) }
        #expect(frames == [DataTrackFrame(payload: [254, 255, 0, 1], userTimestamp: 65_535)])
        // Frame 0 is after frame 65,535.
        let (last, next) = (Self.packets(65_535, from: 1, 3), Self.packets(0, from: 4, 3))
        #expect(Self.frames([last[0], next[1], last[1], last[2], next[0], next[2]]) == [0])
    }

    @Test func `another frame of the same number is another frame`() {
        let (old, new) = (Self.packets(1, from: 0, 3), Self.packets(1, from: 100, 3))
        #expect(Self.frames([old[0], old[1]] + new) == [1])
    }

    @Test func `a publisher that begins anew is heard, whatever it counted before`() {
        #expect(Self.frames(Self.packets(30_000, from: 7, 2).dropLast() + Self.packets(0, from: 0, 2)) == [0])
    }

    @Test func `a frame has so many packets and bytes and no more`() {
        #expect(Self.frames(Self.packets(1, from: 0, 128)) == [1])
        #expect(Self.frames(Self.packets(1, from: 0, 129) + Self.packets(2, from: 129, 2)) == [2])
        var packets = Self.packets(1, from: 0, 3)
        for place in packets.indices { packets[place].payload = [UInt8](repeating: 0, count: 1 << 20)[...] }
        #expect(Self.frames(packets + Self.packets(2, from: 3, 2)) == [2])
    }

    @Test func `of packets that wait for the rest of their frame nothing is kept but what is counted`() {
        var assembler = DataTrackAssembler()
        var bytes = [UInt8](repeating: 1, count: 1_000)
        let place = bytes.withUnsafeBufferPointer { $0.baseAddress }
        Self.begin(with: bytes[999...], &assembler)
        // It is copied if anybody else still has it.
        bytes[0] = 2
        let later = bytes.withUnsafeBufferPointer { $0.baseAddress }
        #expect(later == place)
        let frame = assembler.take(Self.packet(1, 1, isEnd: true))
        #expect(frame?.payload == [1, 1])
    }

    private static func begin(with payload: ArraySlice<UInt8>, _ assembler: inout DataTrackAssembler) {
        var packet = Self.packet(1, 0, isStart: true)
        packet.payload = payload
        _ = assembler.take(packet)
    }

    @Test func `packets that fit no frame make none, and do no harm`() {
        // Begins behind its end, is longer than it says, or has two ends.
        #expect(Self.frames([Self.packet(1, 5, isStart: true), Self.packet(1, 3, isEnd: true)]) == [])
        #expect(
            Self.frames([
                Self.packet(1, 5, isStart: true), Self.packet(1, 9), Self.packet(1, 7, isEnd: true),
            ]) == [])
        #expect(
            Self.frames([
                Self.packet(1, 5, isStart: true), Self.packet(1, 8, isEnd: true), Self.packet(1, 9, isEnd: true),
            ]) == [])
        var random = EngineRandom.seeded(4)
        var assembler = DataTrackAssembler()
        for _ in 0..<20_000 {
            let number = random.next()
            _ = assembler.take(
                Self.packet(
                    UInt16(number % 3), UInt16(number >> 8 & 7), isStart: number & 0x1_0000 != 0,
                    isEnd: number & 0x2_0000 != 0))
        }
        #expect(Self.frames(Self.packets(9, from: 0, 3), &assembler) == [9])
    }
}
