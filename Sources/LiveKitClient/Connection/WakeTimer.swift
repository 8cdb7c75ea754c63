import RTCEngine
import RTCNetwork

/// Wakes whoever drives a machine when its time has come: one alarm, which follows the machine's next wake.
struct WakeTimer {
    private var alarm: (wake: Instant, task: Task<Void, Never>)?

    /// Rings at `wake` and no more at another time; never when it is `nil`. An alarm that is set to the same time
    /// stays.
    mutating func set(to wake: Instant?, ring: @escaping @Sendable () async -> Void) {
        guard alarm?.wake != wake else { return }
        cancel()
        alarm = wake.map { wake in
            let task = Task {
                let left = max(wake - NetworkLoop.now, .zero)
                // An alarm that is cancelled does not ring: sleeping fails for nothing else.
                guard (try? await Task.sleep(for: left.duration)) != nil else { return }
                await ring()
            }
            return (wake, task)
        }
    }

    /// It has rung: the next may be set to the same time.
    mutating func rang() { alarm = nil }

    /// Does not ring any more; for an owner's end.
    func cancel() { alarm?.task.cancel() }
}
