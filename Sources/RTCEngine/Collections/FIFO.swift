/// A queue that keeps its storage: elements leave in the order they came, and none is moved while it waits.
struct FIFO<Element> {
    private var elements: [Element?] = []
    private var head = 0
    /// Here, where it is known without a look at the storage.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: consuming Element) {
        elements.append(element)
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        count -= 1
        // Taken, not copied: no reference is counted.
        let element = elements[head].take()
        head += 1
        if count == 0 {
            elements.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1_024 {
            // A queue that never runs empty must not grow for ever.
            elements.removeSubrange(0..<head)
            head = 0
        }
        return element
    }

    mutating func removeAll() {
        elements.removeAll(keepingCapacity: true)
        head = 0
        count = 0
    }
}

extension FIFO: Sendable where Element: Sendable {}
