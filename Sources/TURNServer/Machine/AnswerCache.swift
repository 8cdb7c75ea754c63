internal import RTCEngine
internal import RTCWire

/// Answers to requests over UDP, for when the request comes again because the answer was lost (RFC 8489 §6.3.1.1). Only
/// of users whose credential was right, so that strangers cannot fill it.
struct AnswerCache: Sendable {
    private struct Key: Hashable {
        let client: TURNClientPath
        let transaction: STUNTransactionID
    }

    private struct Entry {
        let method: STUNMethod
        let bytes: [UInt8]
        let until: Instant
    }

    /// RFC 8489 §6.3.1: 40 seconds, by when a client has given up.
    private static let lifetime = Interval.seconds(Int64(40))

    private var entries: [Key: Entry] = [:]
    /// In the order in which they came; a ring once it is full.
    private var order: [Key] = []
    private var oldest = 0
    private let limit: Int

    init(limit: Int) { self.limit = max(limit, 1) }

    var count: Int { entries.count }

    func answer(to request: STUNMessage, from client: TURNClientPath, at now: Instant) -> [UInt8]? {
        guard let entry = entries[Key(client: client, transaction: request.transactionID)],
            entry.method == request.method, now < entry.until
        else { return nil }
        return entry.bytes
    }

    mutating func keep(_ bytes: [UInt8], for request: STUNMessage, from client: TURNClientPath, at now: Instant) {
        let key = Key(client: client, transaction: request.transactionID)
        let entry = Entry(method: request.method, bytes: bytes, until: now + Self.lifetime)
        guard entries.updateValue(entry, forKey: key) == nil else { return }
        if order.count < limit {
            order.append(key)
        } else {
            entries[order[oldest]] = nil
            order[oldest] = key
            oldest = (oldest + 1) % limit
        }
    }
}
