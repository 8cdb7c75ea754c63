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
