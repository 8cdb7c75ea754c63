internal import Synchronization

/// Counts the frames that one listener has not taken in time, from when it began to listen.
package final class MissedFrames: Sendable {
    private let number = Atomic<Int>(0)

    package init() {}

    /// How many there are that nobody has asked for.
    var count: Int { number.load(ordering: .relaxed) }

    /// How many there were since it was last asked.
    package func take() -> Int { number.exchange(0, ordering: .relaxed) }

    func add(_ more: Int) { number.add(more, ordering: .relaxed) }
}
