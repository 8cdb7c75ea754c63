import RTCEngine
import Testing

@testable import MediaFiles

/// Ten frames a second of a clock of 1,000: numbers are milliseconds.
@Suite struct `The place of a frame in a recording` {
    private var clock = TrackClock(clockRate: 1_000)

    /// Frames from `first` on, each 100 after the last, that arrive so long after `arrival`.
    private mutating func receive(
        _ count: Int, from first: UInt32, arriving arrival: Int64, every interval: Int64 = 100
    ) -> [Int64] {
        (0..<count).map {
            clock.time(of: first &+ UInt32($0) * 100, arrival: .milliseconds(arrival + Int64($0) * interval))
        }
    }

    @Test mutating func `delay does not move it`() {
        var times = receive(10, from: 5_000, arriving: 0)
        // Two seconds of nothing, then all of them at once.
        times += receive(20, from: 6_000, arriving: 3_000, every: 1)
        times += receive(100, from: 8_000, arriving: 3_030)
        #expect(times == (0..<130).map { $0 * 100 })
    }

    @Test mutating func `timestamps that go back are a new line, placed by arrival`() {
        _ = receive(50, from: 50_000, arriving: 0)
        let times = receive(3, from: 52_000, arriving: 5_000)
        #expect(times == [5_000, 5_100, 5_200])
    }

    @Test mutating func `timestamps that jump ahead of time are a new line, placed by arrival`() {
        _ = receive(50, from: 50_000, arriving: 0)
        let times = receive(3, from: 58_000, arriving: 5_000)
        #expect(times == [5_000, 5_100, 5_200])
    }

    @Test mutating func `a pause that the sender's clock does not count is counted within three seconds`() {
        _ = receive(50, from: 0, arriving: 0)
        let times = receive(100, from: 5_000, arriving: 7_000)
        #expect(times.last == 16_900)
    }

    @Test mutating func `a first frame that came late is made up for`() {
        // The first eight frames at once, in the end of what held them back.
        var times = receive(8, from: 0, arriving: 800, every: 1)
        times += receive(70, from: 800, arriving: 810)
        #expect(times.last == 7_710)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test mutating func `timestamps wrap around`() {
        let times = receive(4, from: .max - 149, arriving: 0)
        #expect(times == [0, 100, 200, 300])
    }

    @Test mutating func `any sequence of timestamps ascends`() {
        var random = SystemRandomNumberGenerator()
        var last: Int64 = -1
        for index in 0..<5_000 {
            let time = clock.time(
                of: UInt32.random(in: .min ... .max, using: &random), arrival: .milliseconds(Int64(index) * 7))
            #expect(time > last)
            last = time
        }
    }
}
