import RTCWire
import Testing

@testable import RTCEngine

/// When a receiver asks for what it misses.
struct NACKListTests {
    private static let roundTrip = Interval.milliseconds(80)

    /// Whoever loses up to two in five asks for each missing packet as often as without a limit.
    @Test("Two in five are lost, and none is asked for later than it might be")
    func ordinaryLoss() {
        var link = Link(loses: 40)
        link.run(packets: 20_000, each: .milliseconds(5))
        #expect(link.missingAtEnd <= 60)
        #expect(link.delayed == 0)
    }

    /// A receiver that cannot keep up loses what it asks for too. It may not make the flood much larger than it is.
    @Test("Nine in ten are lost, and no more are asked for than come")
    func overload() {
        var link = Link(loses: 90)
        link.run(packets: 20_000, each: .milliseconds(5))
        #expect(link.requests <= link.arrivals + NACKList.mostCredit)
        #expect(link.requests > link.arrivals / 2)
    }

    /// Once less is lost, what a burst takes is there again.
    @Test("After an overload a lost burst is asked for at once")
    func afterOverload() {
        var link = Link(loses: 90)
        link.run(packets: 5_000, each: .milliseconds(5))
        link.loses = 0
        link.run(packets: 1_000, each: .milliseconds(5))
        let before = link.requests
        link.skip(100)
        link.run(packets: 10, each: .milliseconds(5))
        #expect(link.requests - before == 100)
    }

    /// A stream of numbers of which some never come; repetitions are lost as packets are.
    private struct Link {
        var loses: UInt64
        private(set) var requests = 0
        private(set) var arrivals = 0
        /// Packets that were asked for later than they could have been.
        private(set) var delayed = 0
        private var list = NACKList(reorderingTolerance: .milliseconds(10), maximumTries: 10)
        private var random = EngineRandom.seeded(7)
        private var now = Instant.zero
        private var sequence: Int64 = 0
        private var highest: Int64 = -1
        private var repeats: [(sequence: UInt16, at: Instant)] = []
        private var firstDue: [Int64: Instant] = [:]

        init(loses: UInt64) { self.loses = loses }

        var missingAtEnd: Int { list.count }

        mutating func skip(_ count: Int64) { sequence += count }

        mutating func run(packets: Int, each interval: Interval) {
            for _ in 0..<packets {
                now = now + interval
                arrive(sequence)
                sequence += 1
                while let next = repeats.first, next.at <= now {
                    repeats.removeFirst()
                    let full = highest - Int64(UInt16(truncatingIfNeeded: highest) &- next.sequence)
                    arrive(full)
                }
                ask()
            }
        }

        private mutating func arrive(_ sequence: Int64) {
            guard random.next() % 100 >= loses else { return }
            arrivals += 1
            list.packetCame()
            if sequence > highest {
                if highest + 1 < sequence {
                    if !list.missing(highest + 1..<sequence, at: now) { list.removeAll() }
                    for missed in highest + 1..<sequence { firstDue[missed] = now + .milliseconds(10) }
                }
                highest = sequence
            } else {
                _ = list.received(sequence)
            }
        }

        private mutating func ask() {
            guard let wake = list.nextWake, wake <= now else { return }
            var due: [UInt16] = []
            var givenUp: [Int64] = []
            list.collect(due: &due, givenUp: &givenUp, roundTrip: NACKListTests.roundTrip, at: now)
            requests += due.count
            for number in due {
                let full = highest - Int64(UInt16(truncatingIfNeeded: highest) &- number)
                if let first = firstDue.removeValue(forKey: full), now - first > .milliseconds(20) { delayed += 1 }
                repeats.append((number, now + NACKListTests.roundTrip))
            }
        }
    }
}
