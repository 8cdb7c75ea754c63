import RTCEngine
import Testing

@testable import RTCNetwork

@Suite struct WakeCoalescingTests {
    private var coalescing = WakeCoalescing()
    private var now = Instant.zero + .seconds(Int64(1))

    /// One read after `gap`; whether the next one is to wait.
    private mutating func read(
        _ datagrams: Int, after gap: Int64, isAnswered: Bool = false, mayBeMore: Bool = false,
        isAmidPicture: Bool? = nil
    ) -> Bool {
        now += .microseconds(gap)
        if !isAnswered {
            coalescing.noteUnanswered(datagrams, mayBeMore: mayBeMore, isAmidPicture: isAmidPicture)
        }
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

    @Test mutating func `once a picture has gathered, the next one does from its first packet to its last`() {
        let first = (0..<3).map { _ in read(1, after: 20, isAmidPicture: true) }
        #expect(first == [false, false, true])
        let rest = read(17, after: 270, isAmidPicture: false)
        #expect(!rest)
        for _ in 0..<10 {
            let picture = [
                read(1, after: 20_000, isAmidPicture: true), read(19, after: 270, isAmidPicture: false),
                // Sound in between is taken as it comes.
                read(1, after: 5_000),
            ]
            #expect(picture == [true, false, false])
        }
        // One that is sent slowly gathers nothing, nor do those after it.
        let slow = (0..<20).map { _ in read(1, after: 1_000, isAmidPicture: true) }
        #expect(slow == [true] + [Bool](repeating: false, count: 19))
    }

    @Test mutating func `where one picture is whole, packets of others may still be on their way`() {
        _ = (0..<3).map { _ in read(1, after: 20) }
        now += .microseconds(270)
        for _ in 0..<2 { coalescing.noteUnanswered(4, mayBeMore: false, isAmidPicture: false) }
        coalescing.turnEnded(reads: 2, at: now)
        let waits = coalescing.takePause()
        #expect(waits)
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
            coalescing.noteUnanswered(1, mayBeMore: false, isAmidPicture: nil)
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
