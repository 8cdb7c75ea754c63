import RTCWire
import Testing

@testable import RTCEngine

/// What can be sent again, and what it costs to keep it.
@Suite struct SendHistoryTests {
    private static let start = Instant.zero + .seconds(Int64(3))
    private static let roundTrip = Interval.milliseconds(50)

    private func bytes(_ number: UInt16) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1_000 + Int(number % 100))
    }

    private func insert(_ number: UInt16, into history: inout SendHistory, at now: Instant) {
        let packet = bytes(number)
        history.insert(packet.span.bytes, sequenceNumber: number, at: now)
    }

    private func canResend(_ number: UInt16, from history: inout SendHistory, at now: Instant) -> Bool {
        guard case .resend(let place) = history.request(number, roundTrip: Self.roundTrip, at: now) else {
            return false
        }
        return history.packet(at: place) == bytes(number)
    }

    @Test func `a slow stream keeps the packets of its last second, across the end of the numbers`() {
        var history = SendHistory(count: 1_024, duration: .seconds(Int64(1)))
        var now = Self.start
        var number: UInt16 = 64_000
        // 300 packets a second for ten seconds, ten at a time.
        for _ in 0..<300 {
            for _ in 0..<10 {
                insert(number, into: &history, at: now)
                number &+= 1
            }
            now = now + .microseconds(33_333)
        }
        #expect(history.packetsKept <= 320)
        #expect((1...290).allSatisfy { canResend(number &- $0, from: &history, at: now) })
        #expect(!canResend(number &- 330, from: &history, at: now))
    }

    @Test func `a fast stream keeps as many packets as were asked for, and goes on when it has become slow`() {
        var history = SendHistory(count: 256, duration: .seconds(Int64(1)))
        var now = Self.start
        var number: UInt16 = 65_000
        for _ in 0..<2_000 {
            insert(number, into: &history, at: now)
            number &+= 1
            now = now + .microseconds(1_000)
        }
        #expect(history.packetsKept == 256)
        #expect((1...256).allSatisfy { canResend(number &- $0, from: &history, at: now) })
        for _ in 0..<2_000 {
            insert(number, into: &history, at: now)
            number &+= 1
            now = now + .milliseconds(100)
        }
        #expect(history.packetsKept <= 256)
        #expect((1...10).allSatisfy { canResend(number &- $0, from: &history, at: now) })
        #expect(!canResend(number &- 12, from: &history, at: now))
    }

    @Test func `there are as many places as a second's packets need, and none before the first`() {
        var history = SendHistory(count: 1_024, duration: .seconds(Int64(1)))
        #expect(history.places == 0)
        #expect(!canResend(1, from: &history, at: Self.start))
        var now = Self.start
        var number: UInt16 = 65_400
        for _ in 0..<500 {
            insert(number, into: &history, at: now)
            number &+= 1
            now = now + .milliseconds(20)
        }
        #expect(history.places == 64)
        // Faster: what was kept stays where it can be asked for.
        for _ in 0..<200 {
            insert(number, into: &history, at: now)
            number &+= 1
            now = now + .milliseconds(1)
        }
        #expect(history.places == 256)
        #expect((1...235).allSatisfy { canResend(number &- $0, from: &history, at: now) })
        #expect(!canResend(number &- 250, from: &history, at: now))
    }

    @Test func `numbers that were left out hold up nothing`() {
        var history = SendHistory(count: 64, duration: .seconds(Int64(1)))
        var now = Self.start
        var number: UInt16 = 10
        for _ in 0..<500 {
            insert(number, into: &history, at: now)
            number &+= 7
            now = now + .milliseconds(200)
        }
        #expect(history.packetsKept <= 8)
        #expect((1...4).allSatisfy { canResend(number &- 7 * $0, from: &history, at: now) })
    }
}
