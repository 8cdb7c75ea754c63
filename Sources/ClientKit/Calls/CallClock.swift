/// The time that a call's driver runs on; tests bring their own.
public struct CallClock: Sendable {
    /// Time since the clock was made.
    public let now: @Sendable () -> Duration
    /// Returns when `now` has reached the given time; throws when its task is cancelled.
    public let sleep: @Sendable (_ until: Duration) async throws -> Void

    /// Counts from this moment on.
    public init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { until in try await clock.sleep(until: start.advanced(by: until), tolerance: nil) }
    }
}
