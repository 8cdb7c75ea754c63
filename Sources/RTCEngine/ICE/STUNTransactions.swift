internal import RTCWire

/// Requests that wait for a response, with their retransmission (RFC 8489 §6.2.1). Kept in order of sending, so
/// that a simulation repeats.
struct STUNTransactions: Sendable {
    /// What a request is for.
    enum Purpose: Hashable, Sendable {
        case check(Checklist.Check)
        case gather(queryIndex: Int)
    }

    /// How silence is met.
    struct Patience: Sendable {
        /// Until the first retransmission; doubled for each further one.
        let rto: Interval
        /// Doubling ends here.
        let longestInterval: Interval
        /// Rc of RFC 8489 §6.2.1: how often the request is sent in all.
        let sends: Int
        /// Rm of RFC 8489 §6.2.1: how long the last one is waited for, in RTOs.
        var finalWaitInRTOs: Int64 = 16
        /// Over TCP a request is sent once and awaited as long as over UDP in all (RFC 8489 §6.2.2: Ti).
        var isReliable = false

        var finalWait: Interval { rto * finalWaitInRTOs }
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
        fileprivate let patience: Patience
        fileprivate var interval: Interval
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

    mutating func begin(
        _ id: STUNTransactionID, _ purpose: Purpose, route: ICERoute, datagram: [UInt8], role: ICERole,
        priority: UInt32, patience: Patience, at now: Instant
    ) {
        var transaction = Transaction(
            id: id, purpose: purpose, route: route, datagram: datagram, role: role, priority: priority, sentAt: now,
            patience: patience, interval: patience.rto, deadline: now + patience.rto)
        if patience.isReliable {
            transaction.phase = .lastChance
            transaction.deadline = now + patience.finalWait
        }
        pending.append(transaction)
    }

    func find(_ id: STUNTransactionID) -> Transaction? { pending.first { $0.id == id } }

    mutating func finish(_ id: STUNTransactionID) { pending.removeAll { $0.id == id } }

    /// Stops retransmitting the ordinary checks of `pair`; late responses are still recognised.
    mutating func cancelChecks(of pair: PairID) {
        for index in pending.indices where pending[index].purpose == .check(.init(pair: pair, nominates: false)) {
            pending[index].phase = .cancelled
            pending[index].deadline = pending[index].sentAt + pending[index].patience.finalWait
        }
    }

    /// Stops every check but those of some pairs, as when a pair has been nominated (RFC 8445 §8.1.2).
    mutating func removeChecks(but kept: [PairID] = []) {
        pending.removeAll {
            switch $0.purpose {
            case .check(let check): !kept.contains(check.pair)
            case .gather: false
            }
        }
    }

    /// Nothing comes back over a connection that is gone.
    mutating func remove(over route: ICERoute) { pending.removeAll { $0.route == route } }

    /// Nothing comes back to a socket that is gone.
    mutating func remove(base: TransportAddress) { pending.removeAll { $0.route.base == base } }

    mutating func removeAll() { pending.removeAll() }

    var nextDeadline: Instant? { pending.map(\.deadline).min() }

    /// What has come due, one at a time.
    mutating func popDue(at now: Instant) -> Due? {
        while let index = pending.firstIndex(where: { $0.deadline <= now }) {
            switch pending[index].phase {
            case .retransmitting:
                let patience = pending[index].patience
                pending[index].sends += 1
                if pending[index].sends >= patience.sends {
                    pending[index].phase = .lastChance
                    pending[index].deadline = now + patience.finalWait
                } else {
                    pending[index].interval = min(pending[index].interval * 2, patience.longestInterval)
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
