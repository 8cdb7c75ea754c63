import RTCEngine
import Testing

@testable import RTCNetwork

@Suite struct TimerQueueTests {
    private final class Target: TimerTarget {
        let name: Int
        let timer = LoopTimer()

        init(_ name: Int) {
            self.name = name
            timer.target = self
        }

        func timerFired(at now: Instant) {}
    }

    private func at(_ nanoseconds: Int) -> Instant { Instant(nanoseconds: Int64(nanoseconds)) }

    private func names(_ due: [any TimerTarget]) -> [Int] { due.compactMap { ($0 as? Target)?.name } }

    @Test func `deadlines come due in their order, whatever the order they were set in`() {
        var random = EngineRandom.seeded(7)
        var queue = TimerQueue()
        let targets = (0..<200).map { _ in Target(Int(random.next() % 1_000)) }
        for target in targets { queue.schedule(target.timer, at: at(target.name)) }
        #expect(names(queue.takeDue(at: at(1_000))) == targets.map(\.name).sorted())
        #expect(queue.count == 0)
    }

    @Test func `nothing is due before its time, and a target that is gone is passed over`() {
        var queue = TimerQueue()
        let kept = Target(2)
        do {
            let forgotten = Target(1)
            queue.schedule(forgotten.timer, at: at(1))
        }
        queue.schedule(kept.timer, at: at(2))
        #expect(queue.takeDue(at: .zero).isEmpty)
        #expect(queue.next == at(1))
        #expect(names(queue.takeDue(at: at(5))) == [2])
        #expect(queue.next == nil)
    }

    @Test func `an owner has one deadline, the soonest that it asked for`() {
        var queue = TimerQueue()
        let (first, second) = (Target(1), Target(2))
        queue.schedule(second.timer, at: at(40))
        for deadline in [50, 30, 60, 45] { queue.schedule(first.timer, at: at(deadline)) }
        #expect(queue.count == 2)
        #expect(names(queue.takeDue(at: at(100))) == [1, 2])
        #expect(names(queue.takeDue(at: at(100))) == [])
    }

    @Test func `a call of an hour keeps one deadline`() {
        var random = EngineRandom.seeded(11)
        var queue = TimerQueue()
        let target = Target(1)
        var fired = 0
        // An owner that is called every 10 ms by a packet, and wants to be woken 1 to 200 ms later.
        for step in 0..<360_000 {
            let now = at(step * 10_000_000)
            fired += queue.takeDue(at: now).count
            queue.schedule(target.timer, at: now + .milliseconds(Int64(1 + random.next() % 200)))
        }
        #expect(queue.count == 1)
        #expect(fired > 0)
        #expect(fired < 360_000)
    }

    @Test func `an owner that sets its deadline again at once waits for the next turn`() {
        var queue = TimerQueue()
        let target = Target(1)
        queue.schedule(target.timer, at: at(1))
        for _ in 0..<3 {
            #expect(names(queue.takeDue(at: at(5))) == [1])
            queue.schedule(target.timer, at: at(5))
        }
    }
}
