import LiveKitProtocol
import RTCEngine
import Testing

@testable import LiveKitClient

@Suite struct DataTrackPacketizerTests {
    private static let begun = Instant(nanoseconds: 5_000_000_000)

    private static func packetizer(firstTimestamp: UInt32 = 0) -> DataTrackPacketizer {
        DataTrackPacketizer(handle: 7, firstTimestamp: firstTimestamp, at: begun)
    }

    /// As whoever receives them reads them.
    private static func packets(
        _ packetizer: inout DataTrackPacketizer, _ count: Int, _ userTimestamp: UInt64? = nil,
        at now: Instant = Self.begun
    ) throws -> [DataTrackPacket] {
        let frame = DataTrackFrame(payload: (0..<count).map { UInt8($0 % 251) }, userTimestamp: userTimestamp)
        let packets = try packetizer.packets(of: frame, at: now)
        #expect(packets.allSatisfy { $0.count <= 16_000 })
        let parsed = packets.compactMap { DataTrackPacket(parsing: $0) }
        #expect(parsed.flatMap { Array($0.payload) } == frame.payload)
        #expect(parsed.allSatisfy { $0.handle == 7 })
        return parsed
    }

    @Test func `a short frame is one packet, also one without a byte`() throws {
        var packetizer = Self.packetizer()
        for (number, count) in [0, 1, 15_988].enumerated() {
            let packets = try Self.packets(&packetizer, count)
            #expect(packets.map(\.sequenceNumber) == [UInt16(number)])
            #expect(packets.map(\.frameNumber) == [UInt16(number)])
            #expect(packets.allSatisfy { $0.isFrameStart && $0.isFrameEnd })
        }
    }

    @Test func `a long frame is several that follow each other, the first of which has what is said of all`() throws {
        var packetizer = Self.packetizer()
        let packets = try Self.packets(&packetizer, 40_000, 99)
        #expect(packets.map(\.payload.count) == [15_976, 15_988, 8_036])
        #expect(packets.map(\.sequenceNumber) == [0, 1, 2])
        #expect(packets.map(\.frameNumber) == [0, 0, 0])
        #expect(packets.map(\.isFrameStart) == [true, false, false])
        #expect(packets.map(\.isFrameEnd) == [false, false, true])
        #expect(packets.map(\.userTimestamp) == [99, nil, nil])
        let next = try Self.packets(&packetizer, 1)
        #expect(next.map(\.sequenceNumber) == [3])
        #expect(next.map(\.frameNumber) == [1])
    }

    @Test func `time is counted at 90 kHz from anywhere, and goes on at 0 after the last number`() throws {
        var packetizer = Self.packetizer(firstTimestamp: UInt32.max - 44_999)
        for (milliseconds, timestamp) in [
            (0, UInt32.max - 44_999), (250, UInt32.max - 22_499), (500, 0), (1_500, 90_000),
        ]
            as [(Int64, UInt32)]
        {
            let packets = try Self.packets(&packetizer, 1, at: Self.begun + Interval.milliseconds(milliseconds))
            #expect(packets.map(\.timestamp) == [timestamp])
        }
    }

    @Test func `packets and frames are counted in 16 bits`() throws {
        var packetizer = Self.packetizer()
        for _ in 0..<65_535 { _ = try packetizer.packets(of: DataTrackFrame(payload: []), at: Self.begun) }
        let last = try Self.packets(&packetizer, 20_000)
        #expect(last.map(\.sequenceNumber) == [65_535, 0])
        #expect(last.map(\.frameNumber) == [65_535, 65_535])
        let next = try Self.packets(&packetizer, 1)
        #expect(next.map(\.sequenceNumber) == [1])
        #expect(next.map(\.frameNumber) == [0])
    }

    @Test func `a frame of more packets than others take is refused, and is no gap`() throws {
        var packetizer = Self.packetizer()
        let largest = 128 * 15_988
        let packets = try Self.packets(&packetizer, largest)
        #expect(packets.count == 128)
        let tooLarge = DataTrackFrame(payload: [UInt8](repeating: 0, count: largest + 1))
        do throws(RoomError) {
            _ = try packetizer.packets(of: tooLarge, at: Self.begun)
            Issue.record("it was taken")
        } catch {
            #expect(error == .dataTooLarge(limit: largest))
        }
        let next = try Self.packets(&packetizer, 1)
        #expect(next.map(\.sequenceNumber) == [128])
    }
}
