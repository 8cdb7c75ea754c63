/// Events that a listener has not taken yet. They leave in the order in which they came. What gives way when there are
/// too many is the oldest of its kind: messages push nothing else out, and lossy ones no reliable ones.
struct RoomEventBacklog {
    /// Of all that is no message.
    static let eventLimit = 8_192
    /// Bytes of lossy messages, and of reliable ones that nobody listens for yet.
    static let messageLimit = 1 << 20
    /// What a message takes beside its bytes.
    private static let overhead = 128

    private struct Entry {
        let order: UInt64
        let cost: Int
        let event: RoomEvent
    }

    /// Events of one kind.
    private struct Line {
        private var entries: [Entry?] = []
        private var head = 0
        private(set) var cost = 0

        /// Of the oldest; after all others when there is none.
        var order: UInt64 { head < entries.count ? entries[head]?.order ?? .max : .max }

        mutating func append(_ entry: Entry, limit: Int) {
            entries.append(entry)
            cost += entry.cost
            while cost > limit, popFirst() != nil {}
        }

        mutating func popFirst() -> RoomEvent? {
            guard head < entries.count, let entry = entries[head] else { return nil }
            entries[head] = nil
            head += 1
            cost -= entry.cost
            if head == entries.count || head >= 1_024 {
                entries.removeFirst(head)
                head = 0
            }
            return entry.event
        }
    }

    private var reliable = Line()
    private var lossy = Line()
    private var others = Line()
    private var lastOrder: UInt64 = 0
    /// Beyond it the oldest reliable messages give way. None does where whoever reads them from the network waits.
    var reliableLimit: Int

    init(reliableLimit: Int = .max) { self.reliableLimit = reliableLimit }

    /// Bytes of reliable messages, with what each takes beside them.
    var reliableCost: Int { reliable.cost }

    mutating func append(_ event: RoomEvent) {
        lastOrder += 1
        guard case .dataReceived(let message) = event else {
            return others.append(Entry(order: lastOrder, cost: 1, event: event), limit: Self.eventLimit)
        }
        let cost = message.payload.count + (message.topic?.utf8.count ?? 0) + Self.overhead
        let entry = Entry(order: lastOrder, cost: cost, event: event)
        if message.isReliable {
            reliable.append(entry, limit: reliableLimit)
        } else {
            lossy.append(entry, limit: Self.messageLimit)
        }
    }

    mutating func popFirst() -> RoomEvent? {
        let oldest = min(reliable.order, lossy.order, others.order)
        if reliable.order == oldest { return reliable.popFirst() }
        return lossy.order == oldest ? lossy.popFirst() : others.popFirst()
    }
}
