/// What a peer has sent on a stream for its next channel, while our half of the last one is still being reset: the peer
/// has heard of the end before we have heard that it did. Bounded; what is beyond makes the next channel be refused.
struct HeldMessages: Sendable {
    /// Over all streams. Bytes.
    private static let byteLimit = 1 << 20
    /// Over all streams.
    private static let itemLimit = 4_096

    /// What has happened on a stream.
    enum Item: Sendable {
        case message(SCTPReceivedMessage)
        /// The peer has ended its half once more.
        case reset

        fileprivate var byteCount: Int {
            switch self {
            case .message(let message): message.bytes.count
            case .reset: 0
            }
        }
    }

    private var items: [UInt16: [Item]] = [:]
    private var bytes = 0
    private var count = 0
    /// Streams of which something had no room: a channel that misses its first messages is none.
    private var spoiled: Set<UInt16> = []

    mutating func hold(_ item: Item, of stream: UInt16) {
        guard !spoiled.contains(stream) else { return }
        guard bytes + item.byteCount <= Self.byteLimit, count < Self.itemLimit else {
            _ = take(stream)
            spoiled.insert(stream)
            return
        }
        items[stream, default: []].append(item)
        bytes += item.byteCount
        count += 1
    }

    /// Whether anything is kept of a stream, or was to be.
    func holds(_ stream: UInt16) -> Bool { items[stream] != nil || spoiled.contains(stream) }

    /// What is kept of a stream, oldest first; nil when something of it is missing.
    mutating func take(_ stream: UInt16) -> [Item]? {
        if spoiled.remove(stream) != nil { return nil }
        guard let taken = items.removeValue(forKey: stream) else { return [] }
        count -= taken.count
        for item in taken { bytes -= item.byteCount }
        return taken
    }
}
