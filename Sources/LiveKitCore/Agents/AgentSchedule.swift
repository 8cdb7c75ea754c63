import RTCEngine

/// When something of a worker or of a job falls due, the earliest first.
struct AgentSchedule {
    enum Key: Hashable {
        case worker(AgentWorkerID)
        case job(String)
    }

    private struct Entry {
        let due: Instant
        let key: Key
    }

    /// A binary heap. Times that do not hold any more are left in it, but not as its first.
    private var heap: [Entry] = []
    private var dues: [Key: Instant] = [:]

    /// Nil when nothing falls due.
    var next: Instant? { heap.first?.due }

    /// - Parameter due: in place of what was said before; nil for never.
    mutating func set(_ key: Key, to due: Instant?) {
        guard dues[key] != due else { return }
        dues[key] = due
        if let due { push(Entry(due: due, key: key)) }
        tidy()
    }

    /// What is due, which is forgotten, in an order that does not depend on how it is kept.
    mutating func take(at now: Instant) -> (workers: [AgentWorkerID], jobs: [String]) {
        var (workers, jobs) = ([AgentWorkerID](), [String]())
        while let first = heap.first, first.due <= now {
            pop()
            guard dues[first.key] == first.due else { continue }
            dues[first.key] = nil
            switch first.key {
            case .worker(let id): workers.append(id)
            case .job(let id): jobs.append(id)
            }
        }
        tidy()
        return (workers.sorted { $0.rawValue < $1.rawValue }, jobs.sorted())
    }

    private mutating func tidy() {
        while let first = heap.first, dues[first.key] != first.due { pop() }
        guard heap.count > 2 * dues.count + 16 else { return }
        heap = dues.map { Entry(due: $0.value, key: $0.key) }.sorted { $0.due < $1.due }
    }

    private mutating func push(_ entry: Entry) {
        heap.append(entry)
        var place = heap.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard heap[place].due < heap[parent].due else { return }
            heap.swapAt(place, parent)
            place = parent
        }
    }

    private mutating func pop() {
        guard !heap.isEmpty else { return }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var place = 0
        while true {
            let children = (2 * place + 1..<2 * place + 3).filter { $0 < heap.count }
            guard let child = children.min(by: { heap[$0].due < heap[$1].due }), heap[child].due < heap[place].due
            else { return }
            heap.swapAt(place, child)
            place = child
        }
    }
}
