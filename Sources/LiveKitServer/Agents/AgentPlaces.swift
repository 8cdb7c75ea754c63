internal import Synchronization

/// How many workers may be connected, and whether one more may. From any thread.
final class AgentPlaces: Sendable {
    private let limit: Int
    /// Nil once nobody may come any more.
    private let taken = Mutex<Int?>(0)

    init(limit: Int) { self.limit = limit }

    /// Nil when there is none. It is free again when nobody holds it any more, as when a handshake comes to nothing.
    func take() -> Place? {
        let isFree = taken.withLock { taken in
            guard let count = taken, count < limit else { return false }
            taken = count + 1
            return true
        }
        return isFree ? Place(of: self) : nil
    }

    func close() { taken.withLock { $0 = nil } }

    private func release() { taken.withLock { $0 = $0.map { $0 - 1 } } }

    final class Place: Sendable {
        private let places: AgentPlaces

        fileprivate init(of places: AgentPlaces) { self.places = places }

        deinit { places.release() }
    }
}
