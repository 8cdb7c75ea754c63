import ClientKit
import Synchronization

/// A clock that moves when the test says so.
final class TestClock: Sendable {
    private struct Sleeper {
        let until: Duration
        let wake: CheckedContinuation<Void, Never>
    }

    private struct State {
        var now = Duration.zero
        var sleepers: [Int: Sleeper] = [:]
        var nextID = 0
        var cancelled: Set<Int> = []
    }

    /// Written by the test and by those who sleep.
    private let state = Mutex(State())

    var callClock: CallClock {
        CallClock(Face(clock: self))
    }

    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now += duration
            let due = state.sleepers.filter { $0.value.until <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values
        }
        for sleeper in due { sleeper.wake.resume() }
    }

    private func sleep(until: Duration) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let sleeps = state.withLock { state in
                    guard until > state.now, state.cancelled.remove(id) == nil else { return false }
                    state.sleepers[id] = Sleeper(until: until, wake: continuation)
                    return true
                }
                if !sleeps { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.wake.resume()
        }
        try Task.checkCancellation()
    }

    struct Moment: InstantProtocol {
        var time: Duration
        func advanced(by duration: Duration) -> Moment { Moment(time: time + duration) }
        func duration(to other: Moment) -> Duration { other.time - time }
        static func < (left: Moment, right: Moment) -> Bool { left.time < right.time }
    }

    private struct Face: Clock {
        let clock: TestClock
        var now: Moment { Moment(time: clock.state.withLock { $0.now }) }
        var minimumResolution: Duration { .zero }
        func sleep(until deadline: Moment, tolerance: Duration?) async throws {
            try await clock.sleep(until: deadline.time)
        }
    }
}
