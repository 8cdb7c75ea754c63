import Synchronization

/// What an action set going: its effects, and those of the actions that they sent.
public struct StoreTask: Hashable, Sendable {
    let rawValue: Task<Void, Never>?

    /// Cancels it all.
    public func cancel() { rawValue?.cancel() }

    /// Waits until it has ended. Cancelling the wait cancels it.
    public func finish() async {
        await withTaskCancellationHandler {
            await rawValue?.value
        } onCancel: {
            rawValue?.cancel()
        }
    }

    /// Whether it was cancelled, or there was nothing to do.
    public var isCancelled: Bool { rawValue?.isCancelled ?? true }
}

/// The tasks that one action set going; more are added while they run. Guarded by its lock.
final class TaskBag: Sendable {
    private let tasks = Mutex<[Task<Void, Never>]>([])

    func append(_ task: Task<Void, Never>) {
        tasks.withLock { $0.append(task) }
    }

    /// A task that ends when all have ended, and cancels all; nil when there are none.
    var all: Task<Void, Never>? {
        guard first(after: 0) != nil else { return nil }
        return Task { await self.finish() }
    }

    private func finish() async {
        await withTaskCancellationHandler {
            var count = 0
            while let task = first(after: count) {
                await task.value
                count += 1
            }
        } onCancel: {
            for task in tasks.withLock({ $0 }) { task.cancel() }
        }
    }

    private func first(after count: Int) -> Task<Void, Never>? {
        tasks.withLock { count < $0.count ? $0[count] : nil }
    }
}
