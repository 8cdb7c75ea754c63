/// A queue with an index: elements are appended at the end and leave at the front, in any number, without moving the
/// rest each time.
struct SlidingArray<Element> {
    private var elements: [Element] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Element? { isEmpty ? nil : elements[head] }

    subscript(index: Int) -> Element {
        get {
            precondition(index >= 0)
            return elements[head + index]
        }
        _modify {
            precondition(index >= 0)
            yield &elements[head + index]
        }
    }

    mutating func append(_ element: Element) { elements.append(element) }

    /// Each element is moved at most once for the places that were freed before it.
    mutating func removeFirst(_ number: Int) {
        head += min(number, count)
        if head == elements.count {
            // What one busy moment needed is not kept for ever.
            elements.removeAll(keepingCapacity: elements.capacity <= 1_024)
            head = 0
        } else if head >= 64, head * 2 >= elements.count {
            elements.removeSubrange(0..<head)
            head = 0
        }
    }

    mutating func removeAll() {
        elements.removeAll()
        head = 0
    }
}

extension SlidingArray: Sendable where Element: Sendable {}
