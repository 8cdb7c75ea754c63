/// A server that is to become empty before it ends.
extension LiveKitServer {
    /// How often it is looked whether all have left.
    private static let look = Duration.milliseconds(250)

    /// Whether it takes no new rooms.
    package var isDraining: Bool { workers.allSatisfy(\.load.isDraining) }

    /// Takes no new rooms from now on, for good, and waits until nobody is left in those that there are, nor may come
    /// back: who leaves last may be about to make a new connection.
    ///
    /// - Parameter time: that it waits at most.
    /// - Returns: how many are still there.
    @discardableResult
    package func drain(within time: Duration) async -> Int {
        let end = ContinuousClock.now + time
        for worker in workers { await worker.drain() }
        while true {
            var left = 0
            for worker in workers { left += await worker.peopleCount }
            let rest = end - .now
            guard left > 0, rest > .zero else { return left }
            do {
                try await Task.sleep(for: min(rest, Self.look))
            } catch {
                return left
            }
        }
    }

    /// A room takes nobody new from now on, and ends when the last one has left.
    package func drainRoom(_ name: String) async { await worker(ofRoom: name)?.drain(room: name) }
}
