public import RTCWire

/// Finds the addresses behind the names that browsers show instead of their own
/// (draft-ietf-mmusic-mdns-ice-candidates §3.2), as a one-shot multicast DNS querier (RFC 6762 §5.1).
///
/// It has neither sockets nor a clock: its owner sends what `pollOutput` says to the multicast groups, hands in what
/// comes, and calls `tick` when `nextWake` has come.
public struct MDNSQuerier: Sendable {
    /// What it wants done or has found.
    public enum Output: Hashable, Sendable {
        /// To every group that can be reached.
        case send([UInt8])
        case resolved(String, IPAddress)
        /// Nobody has answered in time, or the name is none that is looked up.
        case unknown(String)
    }

    private struct Question: Sendable {
        let name: String
        var sends = 0
        var sendAt: Instant
        let deadline: Instant
    }

    private var open: [Question] = []
    private var known: [String: IPAddress] = [:]
    /// How many names were ever looked up.
    private var asked = 0
    private var outputs = FIFO<Output>()
    private let id: UInt16
    private let limit: Int

    /// RFC 6762 §5.2: the first two queries are a second apart, and the time between two doubles.
    private static let firstInterval = Interval.milliseconds(1_000)
    private static let patience = Interval.milliseconds(5_000)

    /// - Parameter limit: names looked up in all. Each makes us send to every host of the network, at a peer's wish.
    public init(limit: Int, random: EngineRandom) {
        var random = random
        self.limit = limit
        self.id = UInt16(truncatingIfNeeded: random.next())
    }

    /// draft-ietf-mmusic-mdns-ice-candidates §3.1.1, §5.1: a random UUID in `.local`, and no other name: a peer could
    /// otherwise have us send checks to printers.
    public static func isCandidateName(_ name: String) -> Bool {
        let bytes = [UInt8](name.utf8)
        guard bytes.count == 36 + 6, name.lowercased().hasSuffix(".local") else { return false }
        return bytes.prefix(36).enumerated().allSatisfy { index, byte in
            switch index {
            case 8, 13, 18, 23: byte == UInt8(ascii: "-")
            default: Character(UnicodeScalar(byte)).isHexDigit
            }
        }
    }

    /// Whether nothing is being looked up.
    public var isIdle: Bool { open.isEmpty }

    /// When `tick` is next wanted.
    public var nextWake: Instant? { open.map { min($0.sendAt, $0.deadline) }.min() }

    public mutating func pollOutput() -> Output? { outputs.popFirst() }

    /// Looks a name up; the answer is among the outputs, at once or later.
    public mutating func ask(_ name: String, at now: Instant) {
        let name = name.lowercased()
        if let address = known[name] { return outputs.append(.resolved(name, address)) }
        guard !open.contains(where: { $0.name == name }) else { return }
        guard Self.isCandidateName(name), asked < limit else { return outputs.append(.unknown(name)) }
        asked += 1
        open.append(Question(name: name, sendAt: now, deadline: now + Self.patience))
        tick(at: now)
    }

    /// A datagram came from port 5353: an answer, maybe.
    public mutating func receive(_ datagram: RawSpan) {
        guard !open.isEmpty, let message = try? DNSMessage(parsing: datagram) else { return }
        // RFC 6762 §18.1: 0 by multicast, ours in an answer to a one-shot query.
        guard message.id == 0 || message.id == id else { return }
        for record in message.addresses where record.timeToLive > 0 && record.address.isCandidate {
            guard let index = open.firstIndex(where: { $0.name == record.name }) else { continue }
            open.remove(at: index)
            known[record.name] = record.address
            outputs.append(.resolved(record.name, record.address))
        }
    }

    /// Asks again, and gives up what nobody answers.
    public mutating func tick(at now: Instant) {
        for question in open where question.deadline <= now { outputs.append(.unknown(question.name)) }
        open.removeAll { $0.deadline <= now }
        for index in open.indices where open[index].sendAt <= now {
            for type in DNSMessage.RecordType.allCases {
                guard let query = DNSMessage.query(open[index].name, type, id: id) else { continue }
                outputs.append(.send(query))
            }
            open[index].sendAt = now + Self.firstInterval * Int64(1 << open[index].sends)
            open[index].sends += 1
        }
    }
}

extension IPAddress {
    /// Whether a host could be reached there.
    fileprivate var isCandidate: Bool { !isUnspecified && !isMulticast }
}
