internal import RTCEngine

/// Deadlines of the loop's targets, soonest first: a binary heap. A target may stand in it more than once; a call that
/// comes too early finds nothing to do, which is cheaper than finding and moving an entry for every packet.
struct TimerQueue {
    private struct Entry {
        var deadline: Instant
        weak var target: (any TimerTarget)?
    }

    private var heap: [Entry] = []

    /// The soonest deadline.
    var next: Instant? { heap.first?.deadline }

    mutating func schedule(_ target: any TimerTarget, at deadline: Instant) {
        heap.append(Entry(deadline: deadline, target: target))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].deadline < heap[parent].deadline else { break }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes the soonest target whose deadline has come.
    mutating func popDue(at now: Instant) -> (any TimerTarget)? {
        while let first = heap.first, first.deadline <= now {
            heap.swapAt(0, heap.count - 1)
            heap.removeLast()
            siftDown()
            if let target = first.target { return target }
        }
        return nil
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < heap.count else { return }
            let right = left + 1
            let child = right < heap.count && heap[right].deadline < heap[left].deadline ? right : left
            guard heap[child].deadline < heap[parent].deadline else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
