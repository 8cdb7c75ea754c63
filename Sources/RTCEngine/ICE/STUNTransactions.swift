internal import RTCWire

/// Requests that wait for a response, with their retransmission (RFC 8489 §6.2.1). Kept in order of sending, so
/// that a simulation repeats.
struct STUNTransactions: Sendable {
    /// What a request is for.
    enum Purpose: Hashable, Sendable {
        case check(Checklist.Check)
        case gather(queryIndex: Int)
    }

    struct Transaction: Sendable {
        /// Whether silence still means sending again.
        enum Phase: Hashable, Sendable {
            case retransmitting
            /// Sent for the last time.
            case lastChance
            /// RFC 8445 §7.3.1.4: superseded; a response still counts, its absence does not.
            case cancelled
        }

        let id: STUNTransactionID
        let purpose: Purpose
        let route: ICERoute
        let datagram: [UInt8]
        /// The role and priority that the request claimed.
        let role: ICERole
        let priority: UInt32
        let sentAt: Instant
        fileprivate(set) var sends = 1
        fileprivate(set) var phase = Phase.retransmitting
        fileprivate var interval: Interval
        fileprivate var finalWait: Interval
        fileprivate var deadline: Instant

        /// Karn: a response to a request sent twice says nothing about the time it took.
        func roundTrip(at now: Instant) -> Interval? { sends == 1 ? now - sentAt : nil }
    }

    enum Due: Sendable {
        case resend(Transaction)
        /// No response came, and none is awaited any longer.
        case expired(Transaction)
    }

    private var pending: [Transaction] = []
    private let maximumSends: Int
    /// Rm of RFC 8489 §6.2.1.
    private static let finalWaitInRTOs: Int64 = 16

    init(maximumSends: Int) { self.maximumSends = maximumSends }

    mutating func begin(
        _ id: STUNTransactionID, _ purpose: Purpose, route: ICERoute, datagram: [UInt8], role: ICERole,
        priority: UInt32, rto: Interval, at now: Instant
    ) {
        pending.append(
            Transaction(
                id: id, purpose: purpose, route: route, datagram: datagram, role: role, priority: priority, sentAt: now,
                interval: rto, finalWait: rto * Self.finalWaitInRTOs, deadline: now + rto))
    }

    func find(_ id: STUNTransactionID) -> Transaction? { pending.first { $0.id == id } }

    mutating func finish(_ id: STUNTransactionID) { pending.removeAll { $0.id == id } }

    /// Stops retransmitting the ordinary checks of `pair`; late responses are still recognised.
    mutating func cancelChecks(of pair: PairID) {
        for index in pending.indices where pending[index].purpose == .check(.init(pair: pair, nominates: false)) {
            pending[index].phase = .cancelled
            pending[index].deadline = pending[index].sentAt + pending[index].finalWait
        }
    }

    /// Stops every check, as when a pair has been nominated (RFC 8445 §8.1.2).
    mutating func removeChecks() {
        pending.removeAll {
            switch $0.purpose {
            case .check: true
            case .gather: false
            }
        }
    }

    mutating func removeAll() { pending.removeAll() }

    var nextDeadline: Instant? { pending.map(\.deadline).min() }

    /// What has come due, one at a time.
    mutating func popDue(at now: Instant) -> Due? {
        while let index = pending.firstIndex(where: { $0.deadline <= now }) {
            switch pending[index].phase {
            case .retransmitting:
                pending[index].sends += 1
                if pending[index].sends >= maximumSends {
                    pending[index].phase = .lastChance
                    pending[index].deadline = now + pending[index].finalWait
                } else {
                    pending[index].interval = pending[index].interval * 2
                    pending[index].deadline = now + pending[index].interval
                }
                return .resend(pending[index])
            case .lastChance:
                return .expired(pending.remove(at: index))
            case .cancelled:
                pending.remove(at: index)
            }
        }
        return nil
    }
}
