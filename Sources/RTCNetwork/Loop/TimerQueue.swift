internal import RTCEngine

/// The one deadline of an owner that lives on a loop. Made by the owner, moved by the loop's `TimerQueue`.
package final class LoopTimer {
    /// Told when the time has come; not kept alive.
    package weak var target: (any TimerTarget)?
    fileprivate var deadline = Instant.zero
    fileprivate var isSet = false
    /// Where it stands in the heap, while it is set.
    fileprivate var place = 0

    package init() {}
}

/// The deadlines of a loop's owners, soonest first: a binary heap in which each owner stands at most once.
struct TimerQueue {
    private var heap: [LoopTimer] = []

    /// How many deadlines are set.
    var count: Int { heap.count }

    /// The soonest deadline.
    var next: Instant? { heap.first?.deadline }

    /// Sets the timer, or brings it forward. One that is set for an earlier time stays: its owner finds nothing to do
    /// then and sets it anew, which is cheaper than moving it back for every packet.
    mutating func schedule(_ timer: LoopTimer, at deadline: Instant) {
        if timer.isSet {
            guard deadline < timer.deadline else { return }
        } else {
            timer.isSet = true
            timer.place = heap.count
            heap.append(timer)
        }
        timer.deadline = deadline
        siftUp(timer.place)
    }

    /// Takes the owners whose deadlines have come, soonest first. Who sets a new one, for now even, has it in the next
    /// turn.
    mutating func takeDue(at now: Instant) -> [any TimerTarget] {
        var due: [any TimerTarget] = []
        while let first = heap.first, first.deadline <= now {
            swap(0, heap.count - 1)
            heap.removeLast()
            siftDown()
            first.isSet = false
            if let target = first.target { due.append(target) }
        }
        return due
    }

    private mutating func siftUp(_ place: Int) {
        var child = place
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].deadline < heap[parent].deadline else { return }
            swap(child, parent)
            child = parent
        }
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < heap.count else { return }
            let right = left + 1
            let child = right < heap.count && heap[right].deadline < heap[left].deadline ? right : left
            guard heap[child].deadline < heap[parent].deadline else { return }
            swap(child, parent)
            parent = child
        }
    }

    private mutating func swap(_ first: Int, _ second: Int) {
        heap.swapAt(first, second)
        heap[first].place = first
        heap[second].place = second
    }
}
