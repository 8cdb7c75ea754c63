internal import Synchronization

/// A number that grows, or goes up and down; read without order between several of them.
final class Counter: Sendable {
    private let number = Atomic<Int>(0)

    func add(_ count: Int = 1) { number.add(count, ordering: .relaxed) }
    var value: Int { number.load(ordering: .relaxed) }
}

/// How long something has taken, by classes of durations, as Prometheus' histograms have them.
final class DurationHistogram: Sendable {
    /// In seconds: what is at most as long is in the class. What is longer than all of them is in none.
    static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private let classes = bounds.map { _ in Counter() }
    private let longer = Counter()
    private let nanoseconds = Counter()

    func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let time = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        nanoseconds.add(time)
        let place = Self.bounds.firstIndex { Double(time) <= $0 * 1e9 }
        (place.map { classes[$0] } ?? longer).add()
    }

    /// How many were at most as long as each bound, and in all, and their sum in seconds.
    var snapshot: (upTo: [Int], count: Int, seconds: Double) {
        var sum = 0
        let upTo = classes.map { one in
            sum += one.value
            return sum
        }
        return (upTo, sum + longer.value, Double(nanoseconds.value) / 1e9)
    }
}
