import RTCEngine

/// What happens when, in order of time and, at one instant, in order of being put in.
struct Agenda<Event> {
    private struct Entry {
        let at: Instant
        let number: Int
        let event: Event
    }

    private var heap: [Entry] = []
    private var number = 0

    var nextAt: Instant? { heap.first?.at }

    mutating func add(_ event: Event, at instant: Instant) {
        heap.append(Entry(at: instant, number: number, event: event))
        number += 1
        var child = heap.count - 1
        while child > 0, precedes(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next(by now: Instant) -> Event? {
        guard let first = heap.first, first.at <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && precedes(child, least) {
                least = child
            }
            guard least != parent else { return first.event }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private func precedes(_ one: Int, _ other: Int) -> Bool {
        (heap[one].at, heap[one].number) < (heap[other].at, heap[other].number)
    }
}
