import RTCEngine
import RTCWire
import Testing

@testable import SFUCore

/// The packets that are kept of one stream.
@Suite struct PacketHistoryTests {
    private let start = Instant.zero + .seconds(Int64(1))

    private func bytes(_ number: Int64, count: Int = 100) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: Int(number) &* 31 &+ $0) }
    }

    private func insert(_ history: inout PacketHistory, _ number: Int64, count: Int = 100, at now: Instant) {
        history.insert(
            PublishedPacket(sequence: number, timestamp: UInt32(number)), bytes(number, count: count).span.bytes,
            at: now)
    }

    private func kept(_ history: PacketHistory, _ number: Int64, at now: Instant) -> [UInt8]? {
        guard history.packet(number, at: now) != nil else { return nil }
        return history.bytes(number).withUnsafeBytes { [UInt8]($0) }
    }

    @Test func `packets are found by their number, in whatever order they came`() {
        var history = PacketHistory(packets: 16, bytes: 1 << 16, age: .seconds(Int64(3)))
        for number in [70_000, 70_002, 70_001] as [Int64] { insert(&history, number, at: start) }
        for number in 70_000...70_002 as ClosedRange<Int64> {
            #expect(kept(history, number, at: start) == bytes(number))
            #expect(history.packet(number, at: start)?.timestamp == UInt32(number))
        }
        #expect(history.packet(70_003, at: start) == nil)
        #expect(history.packet(70_000 - 65_536, at: start) == nil)
        #expect(history.bytes(70_003).byteCount == 0)
        #expect(history.contains(70_001))
        #expect(!history.contains(69_985))
        #expect(history.highest == 70_002)
    }

    @Test func `bounded in packets: one more is one less, and the late do not drive out the young`() {
        var history = PacketHistory(packets: 16, bytes: 1 << 16, age: .seconds(Int64(3)))
        for number in 0..<17 as Range<Int64> { insert(&history, number, at: start) }
        #expect(kept(history, 0, at: start) == nil)
        #expect(kept(history, 1, at: start) == bytes(1))
        insert(&history, 0, at: start)
        #expect(kept(history, 16, at: start) == bytes(16))
    }

    @Test func `bounded in age`() {
        var history = PacketHistory(packets: 16, bytes: 1 << 16, age: .seconds(Int64(3)))
        insert(&history, 5, at: start)
        #expect(kept(history, 5, at: start + .seconds(Int64(3))) == bytes(5))
        #expect(kept(history, 5, at: start + .milliseconds(3_001)) == nil)
    }

    @Test func `bounded in bytes: the ring grows while what it holds is young, to its bound and not beyond`() {
        var history = PacketHistory(packets: 1_024, bytes: 128 << 10, age: .seconds(Int64(3)))
        for number in 0..<1_000 as Range<Int64> {
            insert(&history, number, count: 1_000 + Int(number % 7), at: start + .milliseconds(number))
            #expect(history.capacity <= 128 << 10)
            for back in [0, 1, 20, 60] as [Int64] where number >= back {
                let now = start + .milliseconds(number)
                #expect(
                    kept(history, number - back, at: now)
                        == bytes(number - back, count: 1_000 + Int((number - back) % 7)))
            }
        }
        #expect(history.capacity == 128 << 10)
        #expect(kept(history, 700, at: start + .milliseconds(1_000)) == nil)
    }

    @Test func `a slow stream stays in the smallest ring`() {
        var history = PacketHistory(packets: 1_024, bytes: 1 << 20, age: .seconds(Int64(3)))
        for number in 0..<5_000 as Range<Int64> {
            let now = start + .milliseconds(200 * number)
            insert(&history, number, count: 1_200, at: now)
            if number >= 10 { #expect(kept(history, number - 10, at: now) == bytes(number - 10, count: 1_200)) }
        }
        #expect(history.capacity == 32 << 10)
    }

    @Test func `a packet that is larger than the ring is kept whole, however old the others are`() {
        var history = PacketHistory(packets: 1_024, bytes: 1 << 20, age: .seconds(Int64(3)))
        for (number, count) in [(1, 100), (2, 40_000), (3, 100), (4, 200_000), (5, 30_000)] as [(Int64, Int)] {
            let now = start + .seconds(4 * number)
            insert(&history, number, count: count, at: now)
            #expect(kept(history, number, at: now) == bytes(number, count: count))
        }
    }

    @Test func `a packet that no ring would hold is left out`() {
        var history = PacketHistory(packets: 16, bytes: 32 << 10, age: .seconds(Int64(3)))
        insert(&history, 1, count: 20_000, at: start)
        #expect(kept(history, 1, at: start) == nil)
        insert(&history, 2, count: 1_500, at: start)
        #expect(kept(history, 2, at: start) == bytes(2, count: 1_500))
    }
}
