/// When a SACK is due (RFC 9260 §6.2).
struct SCTPAcknowledgmentSchedule: Sendable {
    private enum Phase: Sendable {
        case nothingToSay
        /// One packet came; another, or this time, makes it due. It goes along with whatever is sent before.
        case waiting(until: Instant)
        case due
    }

    private var phase = Phase.nothingToSay
    private let delay: Interval

    init(delay: Interval) { self.delay = delay }

    var isDue: Bool { if case .due = phase { true } else { false } }
    var mayGoAlong: Bool { if case .nothingToSay = phase { false } else { true } }
    var deadline: Instant? { if case .waiting(let until) = phase { until } else { nil } }

    /// A packet with DATA came. It is acknowledged at once when it is the second, or when there is something to tell.
    mutating func packetReceived(isUrgent: Bool, at now: Instant) {
        switch phase {
        case .nothingToSay: phase = isUrgent ? .due : .waiting(until: now + delay)
        case .waiting, .due: phase = .due
        }
    }

    mutating func tick(at now: Instant) {
        if let deadline, deadline <= now { phase = .due }
    }

    mutating func sent() { phase = .nothingToSay }
}
