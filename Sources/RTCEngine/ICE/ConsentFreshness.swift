internal import RTCWire

/// Whether the peer still wants our datagrams on the selected pair (RFC 7675). A machine of its own: it is told
/// when checks are sent and answered, and says when to ask and when to stop.
struct ConsentFreshness: Sendable {
    /// What is to be done now.
    enum Action: Hashable, Sendable {
        case nothing
        /// Send a check with a new transaction id (RFC 7675 §5.1) and report it by `checkSent`.
        case check
        /// Send the latest check again (RFC 8489 §6.2.1).
        case resend([UInt8])
        /// Stop sending: consent has expired.
        case expired
    }

    private struct Outstanding: Sendable {
        let id: STUNTransactionID
        let datagram: [UInt8]
        let sentAt: Instant
        var sends = 1
        var resendAt: Instant
    }

    private enum Phase: Hashable, Sendable {
        case fresh, expired
    }

    /// How consent is known.
    enum Mode: Hashable, Sendable {
        /// By answers to our checks.
        case asking
        /// By what only the peer can have sent, its checks before all: a lite agent makes none.
        case listening
    }

    private var phase = Phase.fresh
    private var confirmedAt: Instant
    private var nextCheckAt: Instant
    /// Oldest first. Bounded: a check leaves every four seconds at most often, and all go when one is answered or
    /// when consent expires.
    private var outstanding: [Outstanding] = []
    private let interval: Interval
    private let timeout: Interval
    private let patience: Interval
    private let mode: Mode

    /// A check that nominates or is nominated counts as the first consent.
    init(confirmedAt: Instant, configuration: ICEConfiguration, random: inout EngineRandom) {
        self.confirmedAt = confirmedAt
        self.interval = configuration.consentInterval
        self.timeout = configuration.consentTimeout
        self.patience = configuration.disconnectedTimeout
        self.mode = configuration.isLite ? .listening : .asking
        self.nextCheckAt = confirmedAt
        schedule(after: confirmedAt, random: &random)
    }

    var isFresh: Bool { phase == .fresh }

    /// Whether the oldest unanswered check is too old to be called late.
    func isSilent(at now: Instant) -> Bool {
        silentAt.map { $0 <= now } ?? false
    }

    func action(at now: Instant) -> Action {
        guard phase == .fresh else { return .nothing }
        if now - confirmedAt >= timeout { return .expired }
        if mode == .listening { return .nothing }
        if nextCheckAt <= now { return .check }
        if let last = outstanding.last, last.resendAt <= now { return .resend(last.datagram) }
        return .nothing
    }

    /// Whether `action` or `isSilent` has something to say.
    ///
    /// `mutating`, for a look through the optional in which this lies would copy it.
    mutating func isDue(at now: Instant) -> Bool {
        if let nextWake, nextWake <= now { return true }
        return isSilent(at: now)
    }

    /// When `action` or `isSilent` next changes by itself.
    var nextWake: Instant? {
        guard phase == .fresh else { return nil }
        if mode == .listening { return confirmedAt + timeout }
        var wake = min(confirmedAt + timeout, nextCheckAt)
        if let last = outstanding.last { wake = min(wake, last.resendAt) }
        return wake
    }

    /// When the agent becomes disconnected unless a response comes.
    var silentAt: Instant? {
        guard phase == .fresh else { return nil }
        switch mode {
        case .asking: return outstanding.first.map { $0.sentAt + patience }
        // The longest time between two checks of a peer with our interval, and then as long as an answer may take.
        case .listening: return confirmedAt + interval * 6 / 5 + patience
        }
    }

    /// Something authentic of the peer's has come, a check or media; only counts where consent is known by that.
    mutating func heard(at now: Instant) {
        if mode == .listening { confirmedAt = now }
    }

    mutating func checkSent(
        _ id: STUNTransactionID, datagram: [UInt8], rto: Interval, at now: Instant, random: inout EngineRandom
    ) {
        outstanding.append(Outstanding(id: id, datagram: datagram, sentAt: now, resendAt: now + rto * 2))
        schedule(after: now, random: &random)
    }

    /// A resent check waits twice as long for the next time; the next check of all supersedes it.
    mutating func resent(at now: Instant) {
        guard var last = outstanding.popLast() else { return }
        last.sends += 1
        last.resendAt = now + (now - last.sentAt) * 2
        outstanding.append(last)
    }

    /// Whether a response with this id answers one of our checks.
    func awaits(_ id: STUNTransactionID) -> Bool {
        phase == .fresh && outstanding.contains { $0.id == id }
    }

    /// An authenticated response came; gives the time it took, when that can be told.
    mutating func confirmed(by id: STUNTransactionID, at now: Instant) -> Interval? {
        guard let answered = outstanding.first(where: { $0.id == id }) else { return nil }
        confirmedAt = now
        outstanding.removeAll()
        return answered.sends == 1 ? now - answered.sentAt : nil
    }

    mutating func expire() {
        phase = .expired
        outstanding.removeAll()
    }

    /// RFC 7675 §5.1: between 0.8 and 1.2 times the interval, so that many peers do not ask in step.
    private mutating func schedule(after now: Instant, random: inout EngineRandom) {
        let fraction = Int64.random(in: 800...1_200, using: &random)
        nextCheckAt = now + interval * fraction / 1_000
    }
}
