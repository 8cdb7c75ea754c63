/// What happened in rooms: a test of thousands of them is to have had everything.
struct RoomEvents: Equatable {
    private(set) var counts: [String: Int] = [:]

    mutating func note(_ event: String, _ count: Int = 1) { counts[event, default: 0] += count }

    mutating func add(_ other: RoomEvents) { counts.merge(other.counts, uniquingKeysWith: +) }
}
