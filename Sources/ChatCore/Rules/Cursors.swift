internal import ChatModel

/// What stands in cursors: which kind it is, and where the list goes on.
extension Cursor {
    init(sequence: Int64) { self.init("s" + String(sequence, radix: 36)) }

    init(name: String) { self.init("n" + name) }

    init<Named>(id: Identifier<Named>) { self.init("i" + id.description) }

    func id<Named>() throws(ChatError) -> Identifier<Named> {
        guard text.hasPrefix("i"), let id = Identifier<Named>(String(text.dropFirst())) else {
            throw .invalid("cursor", "This cursor is not from this list.")
        }
        return id
    }

    /// - Throws: `ChatError` for what this server has not given out for such a list.
    func sequence() throws(ChatError) -> Int64 {
        guard text.hasPrefix("s"), let number = Int64(text.dropFirst(), radix: 36), number >= 0 else {
            throw .invalid("cursor", "This cursor is not from this list.")
        }
        return number
    }

    /// Where a list goes on that is counted: behind so many, of what was there when it was begun.
    init(skipped: Int64, upTo newest: Int64) {
        self.init("p" + String(skipped, radix: 36) + "." + String(newest, radix: 36))
    }

    /// Of a version before there is no number of the newest.
    func position() throws(ChatError) -> (skipped: Int64, newest: Int64?) {
        guard text.hasPrefix("p") else { return (try sequence(), nil) }
        let numbers = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
            .map { Int64($0, radix: 36) ?? -1 }
        guard numbers.count == 2, numbers.allSatisfy({ $0 >= 0 }) else {
            throw .invalid("cursor", "This cursor is not from this list.")
        }
        return (numbers[0], numbers[1])
    }

    func name() throws(ChatError) -> String {
        guard text.hasPrefix("n"), text.utf8.count <= 400, !text.utf8.contains(0) else {
            throw .invalid("cursor", "This cursor is not from this list.")
        }
        return String(text.dropFirst())
    }
}

extension ChatTransaction {
    /// What a page is to have at most, when somebody asks for this many.
    func pageLength(_ wanted: Int?) -> Int { min(max(wanted ?? limits.usualPageLength, 1), limits.pageLength) }
}
