internal import RTCWire

/// Requests to a TURN server that wait for their answer. One at most for each purpose.
struct TURNTransactions: Sendable {
    enum Purpose: Hashable, Sendable {
        case allocate
        case refresh
        /// A refresh with the lifetime 0.
        case release
        case permission(IPAddress)
        case channel(UInt16)
    }

    struct Transaction: Sendable {
        let id: STUNTransactionID
        let method: STUNMethod
        let purpose: Purpose
        let datagram: [UInt8]
        /// It carried our credential.
        let isSigned: Bool
        /// How many challenges this purpose has met in a row.
        let challenges: Int
        fileprivate var sendsLeft: Int
        fileprivate var interval: Interval
        fileprivate var deadline: Instant
    }

    enum Due: Sendable {
        case resend([UInt8])
        case expired(Transaction)
    }

    private var pending: [Transaction] = []
    private let configuration: TURNConfiguration
    /// RFC 8489 §6.2.2: over a stream nothing is sent twice.
    let isReliable: Bool

    init(_ configuration: TURNConfiguration, isReliable: Bool) {
        self.configuration = configuration
        self.isReliable = isReliable
    }

    mutating func begin(
        _ purpose: Purpose, _ message: STUNMessage, datagram: [UInt8], isSigned: Bool, challenges: Int, at now: Instant
    ) {
        pending.removeAll { $0.purpose == purpose }
        let interval = isReliable ? configuration.streamTimeout : configuration.rto
        pending.append(
            Transaction(
                id: message.transactionID, method: message.method, purpose: purpose, datagram: datagram,
                isSigned: isSigned, challenges: challenges, sendsLeft: isReliable ? 0 : configuration.sends - 1,
                interval: interval, deadline: now + interval))
    }

    func find(_ id: STUNTransactionID) -> Transaction? { pending.first { $0.id == id } }

    func isPending(_ purpose: Purpose) -> Bool { pending.contains { $0.purpose == purpose } }

    mutating func finish(_ id: STUNTransactionID) { pending.removeAll { $0.id == id } }

    mutating func removeAll() { pending.removeAll() }

    var nextDeadline: Instant? { pending.map(\.deadline).min() }

    /// What has come due, one at a time.
    mutating func popDue(at now: Instant) -> Due? {
        guard let index = pending.firstIndex(where: { $0.deadline <= now }) else { return nil }
        guard pending[index].sendsLeft > 0 else { return .expired(pending.remove(at: index)) }
        pending[index].sendsLeft -= 1
        pending[index].interval = min(pending[index].interval * 2, configuration.longestInterval)
        pending[index].deadline = now + pending[index].interval
        return .resend(pending[index].datagram)
    }
}
