import Synchronization

/// True once.
final class OnceFlag: Sendable {
    private let isTaken = Atomic(false)

    /// True for the first caller only.
    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
