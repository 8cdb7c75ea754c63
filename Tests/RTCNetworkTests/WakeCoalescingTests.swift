import RTCEngine
import Testing

@testable import RTCNetwork

@Suite struct WakeCoalescingTests {
    private var coalescing = WakeCoalescing()
    private var now = Instant.zero + .seconds(Int64(1))

    /// One read after `gap`; whether the next one is to wait.
    private mutating func read(_ datagrams: Int, after gap: Int64, isAnswered: Bool = false, mayBeMore: Bool = false)
        -> Bool
    {
        now += .microseconds(gap)
        if !isAnswered { coalescing.noteUnanswered(datagrams, mayBeMore: mayBeMore) }
        coalescing.turnEnded(reads: 1, at: now)
        return coalescing.takePause()
    }

    @Test mutating func `a burst gathers after a few reads, and as long as that is worth it`() {
        let burst = (0..<3).map { _ in read(1, after: 20) }
        #expect(burst == [false, false, true])
        // Each of the first two after a pause.
        let gathered = [read(12, after: 270), read(8, after: 270), read(2, after: 270), read(1, after: 20)]
        #expect(gathered == [true, true, false, false])
    }

    @Test mutating func `packets that come one by one are taken as they come`() {
        let hasWaited = (0..<100).contains { _ in read(1, after: 1_000) || read(20, after: 20_000) }
        #expect(!hasWaited)
    }

    @Test mutating func `what is answered at once is never slowed down`() {
        let hasWaited = (0..<100).contains { _ in read(1, after: 20, isAnswered: true) }
        #expect(!hasWaited)
        // Nor is a burst that is answered now and then.
        let hasWaitedLater = (0..<100).contains { number in read(1, after: 20, isAnswered: number % 2 == 0) }
        #expect(!hasWaitedLater)
    }

    @Test mutating func `what waits already is taken first`() {
        let hasWaited = (0..<100).contains { _ in read(32, after: 20, mayBeMore: true) }
        #expect(!hasWaited)
    }

    @Test mutating func `another reader's answer in the same turn counts`() {
        let hasWaited = (0..<100).contains { _ in
            now += .microseconds(20)
            coalescing.noteUnanswered(1, mayBeMore: false)
            coalescing.turnEnded(reads: 2, at: now)
            return coalescing.takePause()
        }
        #expect(!hasWaited)
    }

    @Test mutating func `after a pause that nothing came in, reads are not delayed`() {
        let burst = (0..<3).map { _ in read(1, after: 20) }
        #expect(burst.last == true)
        let later = (0..<3).map { _ in read(1, after: 20_000) }
        #expect(later == [false, false, false])
    }
}
