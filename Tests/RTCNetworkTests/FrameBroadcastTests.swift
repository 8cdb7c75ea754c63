import RTCEngine
import RTCWire
import Testing

@testable import RTCNetwork

@Suite(.timeLimit(.minutes(2))) struct FrameBroadcastTests {
    private func frame(_ number: UInt32, isKey: Bool = false, bytes: Int = 10) -> EncodedFrame {
        EncodedFrame(
            payload: [UInt8](repeating: 1, count: bytes), timestamp: number, isKeyFrame: isKey, format: .vp8)
    }

    private func heard(_ stream: AsyncStream<EncodedFrame>) async -> [UInt32] {
        var numbers: [UInt32] = []
        for await frame in stream { numbers.append(frame.timestamp) }
        return numbers
    }

    @Test func `frames before the first listener wait for it, those after it go to all`() async {
        let broadcast = FrameBroadcast()
        #expect(!broadcast.send(frame(1, isKey: true)))
        let first = broadcast.stream()
        let second = broadcast.stream()
        #expect(!broadcast.send(frame(2)))
        broadcast.finish()
        #expect(await heard(first) == [1, 2])
        #expect(await heard(second) == [2])
        #expect(await heard(broadcast.stream()) == [])
        #expect(broadcast.dropped == 0)
    }

    @Test func `who waits is told, in order, and again after a break`() async {
        let broadcast = FrameBroadcast()
        let stream = broadcast.stream()
        let listener = Task {
            var numbers: [UInt32] = []
            for await frame in stream {
                numbers.append(frame.timestamp)
                if numbers.count == 3 { break }
            }
            for await frame in stream { numbers.append(frame.timestamp) }
            return numbers
        }
        for number: UInt32 in 0..<200 {
            _ = broadcast.send(frame(number, isKey: number == 0))
            await Task.yield()
        }
        broadcast.finish()
        #expect(await listener.value == Array(0..<200))
    }

    @Test func `a listener that is gone is forgotten, and a cancelled one ends`() async {
        let broadcast = FrameBroadcast()
        do { _ = broadcast.stream() }
        for number: UInt32 in 0..<2_000 { #expect(!broadcast.send(frame(number))) }
        #expect(broadcast.dropped == 0)
        let stream = broadcast.stream()
        let task = Task { for await _ in stream {} }
        task.cancel()
        await task.value
    }

    @Test func `who takes frames late finds when they came, and how many are missing`() async {
        let broadcast = FrameBroadcast()
        // Nobody has missed what came before.
        for number: UInt32 in 0..<2_000 { _ = broadcast.send(frame(number, isKey: true)) }
        let (frames, _, missed) = broadcast.listen()
        #expect(missed.take() == 0)
        for number: UInt32 in 2_000..<3_000 {
            _ = broadcast.send(frame(number, isKey: true), at: Instant(nanoseconds: Int64(number)))
        }
        let (others, _, none) = broadcast.listen()
        broadcast.finish()
        var last: EncodedFrame?
        var count = 0
        for await frame in frames { (last, count) = (frame, count + 1) }
        #expect(count == FrameBacklog.frameLimit && last?.receivedAt == Instant(nanoseconds: 2_999))
        #expect(missed.take() == 1_000 && missed.take() == 0)
        #expect(await heard(others) == [] && none.take() == 0)
    }

    @Test func `what waits when a stream is ended is taken, unless it is ended at once: then it is missed`() async {
        let broadcast = FrameBroadcast()
        let (frames, end, missed) = broadcast.listen()
        let (others, otherEnd, missedOthers) = broadcast.listen()
        for number: UInt32 in 0..<10 { _ = broadcast.send(frame(number)) }
        end()
        otherEnd()
        otherEnd.atOnce()
        // Nobody misses what comes later.
        _ = broadcast.send(frame(10))
        #expect(missedOthers.count == 10 && missedOthers.take() == 10)
        let none = await heard(others)
        #expect(none.isEmpty)
        // Nor what was taken.
        #expect(await heard(frames) == Array(0..<10))
        end.atOnce()
        #expect(missed.take() == 0)
    }

    @Test func `too many frames: it goes on at the next key frame that waits`() {
        var backlog = FrameBacklog()
        for number in 0..<FrameBacklog.frameLimit {
            let added = backlog.append(frame(UInt32(number), isKey: number % 300 == 0))
            #expect(added == FrameBacklog.Outcome())
        }
        #expect(backlog.append(frame(9_999)) == FrameBacklog.Outcome(dropped: 300))
        #expect(backlog.popFirst()?.timestamp == 300)
    }

    @Test func `too many bytes and no key frame: all go, and a new key frame is wanted until it comes`() {
        var backlog = FrameBacklog()
        #expect(backlog.append(frame(0, isKey: true, bytes: 5 << 20)) == FrameBacklog.Outcome())
        #expect(backlog.append(frame(1, bytes: 2 << 20)) == FrameBacklog.Outcome())
        #expect(backlog.append(frame(2, bytes: 2 << 20)) == FrameBacklog.Outcome(dropped: 3, wantsKeyFrame: true))
        #expect(backlog.byteCount == 0)
        #expect(backlog.append(frame(3)) == FrameBacklog.Outcome(dropped: 1, wantsKeyFrame: true))
        #expect(backlog.append(frame(4, isKey: true)) == FrameBacklog.Outcome())
        #expect(backlog.append(frame(5)) == FrameBacklog.Outcome())
        #expect([backlog.popFirst()?.timestamp, backlog.popFirst()?.timestamp] == [4, 5])
        #expect(backlog.popFirst() == nil)
        #expect(backlog.byteCount == 0)
    }

    @Test func `a key frame larger than the whole backlog is no beginning`() {
        var backlog = FrameBacklog()
        let giant = frame(0, isKey: true, bytes: FrameBacklog.byteLimit + 1)
        #expect(backlog.append(giant) == FrameBacklog.Outcome(dropped: 1, wantsKeyFrame: true))
        #expect(backlog.count == 0)
    }

    @Test func `sound loses its oldest packets only`() {
        var backlog = FrameBacklog()
        for number in 0..<FrameBacklog.frameLimit { _ = backlog.append(frame(UInt32(number), isKey: true)) }
        #expect(backlog.append(frame(5_000, isKey: true)) == FrameBacklog.Outcome(dropped: 1))
        #expect(backlog.popFirst()?.timestamp == 1)
        #expect(backlog.count == FrameBacklog.frameLimit - 1)
    }

    @Test func `whatever comes, neither frames nor bytes pass the limits, and each rest begins at a key frame`() {
        var random = EngineRandom.seeded(5)
        var backlog = FrameBacklog()
        var taken = 0
        for number: UInt32 in 0..<20_000 {
            let size = Int(random.next() % (number % 700 == 0 ? 3_000_000 : 30_000))
            let outcome = backlog.append(frame(number, isKey: random.next() % 90 == 0, bytes: size))
            #expect(backlog.count <= FrameBacklog.frameLimit)
            #expect(backlog.byteCount <= FrameBacklog.byteLimit)
            guard outcome.dropped > 0, !outcome.wantsKeyFrame else { continue }
            #expect(backlog.popFirst()?.isKeyFrame == true)
            taken += 1
        }
        #expect(taken > 0)
    }
}
