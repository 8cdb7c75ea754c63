/// An array whose elements are found by their identity as well as by their place.
///
/// An identity stands in it once: appending an element whose identity is there already changes nothing.
public struct IdentifiedArray<ID: Hashable, Element> {
    /// The elements in their order.
    public private(set) var elements: [Element] = []
    private var places: [ID: Int] = [:]
    private let idOf: (Element) -> ID

    /// An empty array of elements that are told apart by a property.
    public init(id: KeyPath<Element, ID>) {
        idOf = { $0[keyPath: id] }
    }

    /// The identities in their order.
    public var ids: [ID] { elements.map(idOf) }

    /// The place of the element with this identity.
    public func index(id: ID) -> Int? { places[id] }

    /// Whether an element of the same identity is here.
    public func contains(_ element: Element) -> Bool { places[idOf(element)] != nil }

    /// The element with this identity. Setting nil removes it; setting one that is not here appends it.
    public subscript(id id: ID) -> Element? {
        get { places[id].map { elements[$0] } }
        set {
            guard let newValue else {
                remove(id: id)
                return
            }
            precondition(idOf(newValue) == id, "The element's identity is not the one that it is set for.")
            updateOrAppend(newValue)
        }
    }

    /// Appends the element unless its identity is here already.
    @discardableResult
    public mutating func append(_ element: Element) -> (inserted: Bool, index: Int) {
        insert(element, at: elements.endIndex)
    }

    /// Appends those elements whose identity is not here.
    public mutating func append(contentsOf newElements: some Sequence<Element>) {
        for element in newElements { append(element) }
    }

    /// Inserts the element unless its identity is here already.
    @discardableResult
    public mutating func insert(_ element: Element, at index: Int) -> (inserted: Bool, index: Int) {
        if let place = places[idOf(element)] { return (false, place) }
        elements.insert(element, at: index)
        numberPlaces(from: index)
        return (true, index)
    }

    /// Replaces the element of the same identity, or appends this one. Returns what was there.
    @discardableResult
    public mutating func updateOrAppend(_ element: Element) -> Element? {
        guard let place = places[idOf(element)] else {
            append(element)
            return nil
        }
        let old = elements[place]
        elements[place] = element
        return old
    }

    /// Removes and returns the element with this identity.
    @discardableResult
    public mutating func remove(id: ID) -> Element? {
        places[id].map { remove(at: $0) }
    }

    /// Removes and returns the element of the same identity.
    @discardableResult
    public mutating func remove(_ element: Element) -> Element? {
        remove(id: idOf(element))
    }

    /// Removes and returns the element at a place.
    @discardableResult
    public mutating func remove(at index: Int) -> Element {
        let old = elements.remove(at: index)
        places[idOf(old)] = nil
        numberPlaces(from: index)
        return old
    }

    /// Removes all elements.
    public mutating func removeAll() {
        elements = []
        places = [:]
    }

    /// Removes the elements that fit.
    public mutating func removeAll(where fits: (Element) throws -> Bool) rethrows {
        try elements.removeAll(where: fits)
        places = [:]
        numberPlaces(from: 0)
    }

    private mutating func numberPlaces(from index: Int) {
        for place in index..<elements.endIndex { places[idOf(elements[place])] = place }
    }
}

/// An array of elements by their own identity.
public typealias IdentifiedArrayOf<Element: Identifiable> = IdentifiedArray<Element.ID, Element>

extension IdentifiedArray: RandomAccessCollection, MutableCollection {
    public var startIndex: Int { elements.startIndex }
    public var endIndex: Int { elements.endIndex }

    public subscript(position: Int) -> Element {
        get { elements[position] }
        set {
            precondition(idOf(newValue) == idOf(elements[position]), "An element in its place keeps its identity.")
            elements[position] = newValue
        }
    }
}

extension IdentifiedArray where Element: Identifiable, ID == Element.ID {
    /// An empty array.
    public init() {
        self.init(id: \.id)
    }

    /// The elements of a sequence; of those with the same identity the first stays.
    public init(_ elements: some Sequence<Element>) {
        self.init()
        append(contentsOf: elements)
    }

    /// The elements of a sequence in which no identity stands twice.
    public init(uniqueElements elements: some Sequence<Element>) {
        self.init()
        for element in elements {
            precondition(append(element).inserted, "The identity \(element.id) stands there twice.")
        }
    }
}

extension IdentifiedArray: ExpressibleByArrayLiteral where Element: Identifiable, ID == Element.ID {
    public init(arrayLiteral elements: Element...) {
        self.init(uniqueElements: elements)
    }
}

extension IdentifiedArray: Equatable where Element: Equatable {
    public static func == (left: Self, right: Self) -> Bool { left.elements == right.elements }
}

extension IdentifiedArray: Hashable where Element: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(elements) }
}

// Unchecked for `idOf` only: it reads a property through a key path that captures nothing.
extension IdentifiedArray: @unchecked Sendable where ID: Sendable, Element: Sendable {}

extension IdentifiedArray: CustomStringConvertible, CustomReflectable {
    public var description: String { elements.description }
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: elements, displayStyle: .collection) }
}
