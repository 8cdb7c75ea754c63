/// Wakes who waits for something to change: by event, not by asking again and again.
@MainActor
final class Changes {
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func happened() {
        let woken = waiting
        waiting = []
        for continuation in woken { continuation.resume() }
    }

    /// Returns when the condition holds, the time is over, or the task is cancelled.
    func wait(for duration: Duration, until condition: () -> Bool) async {
        let deadline = ContinuousClock.now + duration
        let alarm = Task {
            try? await Task.sleep(until: deadline, clock: .continuous)
            happened()
        }
        defer { alarm.cancel() }
        while !condition(), ContinuousClock.now < deadline, !Task.isCancelled {
            await withTaskCancellationHandler {
                await withCheckedContinuation { waiting.append($0) }
            } onCancel: {
                alarm.cancel()
            }
        }
    }
}
