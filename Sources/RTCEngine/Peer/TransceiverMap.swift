/// Values by transceiver, in the order in which the transceivers were made: what goes out at one moment goes out in the
/// same order in every run, which the order of a `Dictionary` would not. Few entries, so a look is a short search.
struct TransceiverMap<Value> {
    struct Entry {
        let id: TransceiverID
        /// Nil only while `subscript` is changing it.
        var value: Value?
    }

    /// For the packet path, which finds a place once and changes `entries[place].value` where it lies: the accessors of
    /// `subscript` are coroutines, and each use costs an allocation and, when it only looks, a copy of the value.
    var entries: [Entry] = []

    /// Where the transceiver's entry is now.
    func place(of id: TransceiverID) -> Int? {
        // By the span, for the array would be counted.
        let entries = entries.span
        for place in 0..<entries.count where entries[place].id == id { return place }
        return nil
    }

    /// All transceivers that have a value.
    // A key path of a generic type is made anew at each use.
    var ids: [TransceiverID] { entries.map { $0.id } }
    var first: Value? { entries.first?.value }
    var values: some Sequence<Value> { entries.lazy.compactMap(\.value) }

    /// Looks and changes happen in place: a stream's buffers are neither copied nor counted.
    subscript(id: TransceiverID) -> Value? {
        _read {
            if let index = entries.firstIndex(where: { $0.id == id }) {
                yield entries[index].value
            } else {
                yield nil
            }
        }
        _modify {
            let index = entries.firstIndex { $0.id >= id } ?? entries.endIndex
            if index == entries.endIndex || entries[index].id != id {
                entries.insert(Entry(id: id, value: nil), at: index)
            }
            defer { if entries[index].value == nil { entries.remove(at: index) } }
            yield &entries[index].value
        }
    }

    /// Takes a value out, so that its holder can change it in place.
    mutating func take(_ id: TransceiverID) -> Value? {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
        return entries.remove(at: index).value
    }

    mutating func removeAll() { entries = [] }
}
