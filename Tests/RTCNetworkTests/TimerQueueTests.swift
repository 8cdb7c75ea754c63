import RTCEngine
import Testing

@testable import RTCNetwork

@Suite struct TimerQueueTests {
    private final class Target: TimerTarget {
        let name: Int
        init(_ name: Int) { self.name = name }
        func timerFired(at now: Instant) {}
    }

    @Test func `deadlines come due in their order, whatever the order they were set in`() {
        var random = EngineRandom.seeded(7)
        var queue = TimerQueue()
        let targets = (0..<200).map { _ in Target(Int(random.next() % 1_000)) }
        for target in targets { queue.schedule(target, at: Instant(nanoseconds: Int64(target.name))) }
        var due: [Int] = []
        while let target = queue.popDue(at: Instant(nanoseconds: 1_000)) as? Target { due.append(target.name) }
        #expect(due == targets.map(\.name).sorted())
    }

    @Test func `nothing is due before its time, and a target that is gone is passed over`() {
        var queue = TimerQueue()
        let kept = Target(2)
        do {
            let forgotten = Target(1)
            queue.schedule(forgotten, at: Instant(nanoseconds: 1))
        }
        queue.schedule(kept, at: Instant(nanoseconds: 2))
        #expect(queue.popDue(at: .zero) == nil)
        #expect(queue.next == Instant(nanoseconds: 1))
        #expect((queue.popDue(at: Instant(nanoseconds: 5)) as? Target)?.name == 2)
        #expect(queue.next == nil)
    }
}
