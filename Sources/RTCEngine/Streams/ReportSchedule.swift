/// When reports are due (RFC 3550 §6.2, §6.3.1): about once a second, randomised so that the reports of many peers
/// do not come together.
public struct ReportSchedule: Sendable {
    private enum State: Sendable {
        case stopped
        case waiting(until: Instant)
    }

    private var random: EngineRandom
    private var state = State.stopped
    private let interval: Interval

    /// - Parameter interval: the mean. RFC 3550 §6.2 recommends 5 s and allows a reduced minimum of 360 s divided
    ///   by the bandwidth in kbit/s: below one second from 360 kbit/s on.
    public init(random: EngineRandom, interval: Interval = .seconds(Int64(1))) {
        self.random = random
        self.interval = interval
    }

    /// Packets can be sent from now on. The first report comes after half the interval (RFC 3550 §6.2).
    public mutating func start(at now: Instant) {
        guard case .stopped = state else { return }
        state = .waiting(until: now + randomised(interval / 2))
    }

    /// Nothing is to be reported any more.
    public mutating func stop() { state = .stopped }

    /// When reports are due; nil before the start.
    public var nextWake: Instant? {
        switch state {
        case .stopped: nil
        case .waiting(let until): until
        }
    }

    /// Whether reports are to be sent now; then the next time is drawn.
    public mutating func isDue(at now: Instant) -> Bool {
        guard case .waiting(let until) = state, now >= until else { return false }
        state = .waiting(until: now + randomised(interval))
        return true
    }

    /// RFC 3550 §6.3.1: between half and one and a half times the interval.
    private mutating func randomised(_ interval: Interval) -> Interval {
        Interval(nanoseconds: interval.nanoseconds / 2 + Int64.random(in: 0...interval.nanoseconds, using: &random))
    }
}
