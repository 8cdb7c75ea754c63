/// A queue that keeps its storage: elements leave in the order they came, and none is moved while it waits.
struct FIFO<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }
    var count: Int { elements.count - head }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        // Taken, not copied: no reference is counted.
        let element = elements[head].take()
        head += 1
        if head == elements.count {
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
    }
}

extension FIFO: Sendable where Element: Sendable {}
