/// An ordered message that cannot be delivered yet, or an unordered one that is not whole.
struct SCTPWaitingMessage: Sendable {
    enum Content: Sendable {
        case fragments(SCTPFragments)
        case whole([UInt8], payloadProtocol: UInt32)
    }

    var content: Content

    /// What it costs beyond its bytes, in the receive buffer.
    static let overhead = 128

    init() { content = .fragments(SCTPFragments()) }

    var cost: Int {
        switch content {
        case .fragments(let fragments): fragments.cost + Self.overhead
        case .whole(let bytes, _): bytes.count + Self.overhead
        }
    }
}

/// Messages that wait, by number. A peer chooses the numbers, so that no order of theirs may cost more than another: a
/// dictionary holds the messages, a heap knows the lowest.
struct SCTPWaitingMessages: Sendable {
    private var messages: [Int: SCTPWaitingMessage] = [:]
    /// Also some numbers of messages that have been taken out.
    private var numbers = Heap<Int>()

    var isEmpty: Bool { messages.isEmpty }
    /// What all of them cost in the receive buffer.
    var cost: Int { messages.values.reduce(0) { $0 + $1.cost } }

    func contains(_ number: Int) -> Bool { messages[number] != nil }

    /// Takes one out, to `putBack` or not. Two would share its bytes otherwise, and each change copy them.
    mutating func take(_ number: Int) -> SCTPWaitingMessage? { messages.removeValue(forKey: number) }

    /// One that was taken out.
    mutating func putBack(_ message: SCTPWaitingMessage, at number: Int) { messages[number] = message }

    /// One that was never here, or not since it left for good.
    mutating func add(_ message: SCTPWaitingMessage, at number: Int) {
        messages[number] = message
        if numbers.count > 2 * messages.count + 64 {
            numbers = Heap(messages.keys)
        } else {
            numbers.insert(number)
        }
    }

    /// Takes the lowest out, unless it is beyond the limit.
    mutating func popFirst(upTo limit: Int) -> SCTPWaitingMessage? {
        while let lowest = numbers.lowest, lowest <= limit {
            numbers.removeLowest()
            if let message = messages.removeValue(forKey: lowest) { return message }
        }
        return nil
    }
}
