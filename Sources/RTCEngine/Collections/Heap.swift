/// A queue of which the lowest element leaves first. To add one and to take one out costs no more than the logarithm of
/// their number, in whatever order they come.
struct Heap<Element: Comparable> {
    /// Each parent before its children.
    private var elements: [Element] = []

    init() {}

    /// Sorted is a heap.
    init(_ elements: some Sequence<Element>) { self.elements = elements.sorted() }

    var count: Int { elements.count }
    var lowest: Element? { elements.first }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var index = elements.count - 1
        while index > 0, elements[index] < elements[(index - 1) / 2] {
            elements.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func removeLowest() {
        guard let last = elements.popLast(), !elements.isEmpty else { return }
        elements[0] = last
        var index = 0
        while true {
            var lowest = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < elements.count && elements[child] < elements[lowest] {
                lowest = child
            }
            guard lowest != index else { return }
            elements.swapAt(index, lowest)
            index = lowest
        }
    }
}

extension Heap: Sendable where Element: Sendable {}
