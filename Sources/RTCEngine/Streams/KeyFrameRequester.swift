/// Asks for key frames on the receiver's side: when to ask, and how soon again (RFC 4585 §6.3.1, throttled).
struct KeyFrameRequester: Sendable {
    private enum State: Sendable {
        case content
        /// Not asked for yet, or asked before and due again at `askAt`.
        case wanted(askAt: Instant)
        /// Asked, and no packet has come since: the sender is silent, so it rests until one comes.
        case resting(askAt: Instant)
    }

    private var state = State.content
    /// The application wants one, and not only the stream, which is content once decoding goes on.
    private var isOfApplication = false
    private var lastAsked: Instant?
    private let interval: Interval

    init(interval: Interval) { self.interval = interval }

    /// A key frame is wanted, to be asked for after `delay` if none has come by then.
    mutating func want(after delay: Interval, at now: Instant) {
        guard case .content = state else { return }
        let earliest = lastAsked.map { $0 + interval } ?? now
        state = .wanted(askAt: max(earliest, now + delay))
    }

    /// The application wants a key frame: only one that comes fulfils that.
    mutating func wantForApplication(at now: Instant) {
        isOfApplication = true
        want(after: .zero, at: now)
    }

    /// A key frame has come.
    mutating func fulfilled() {
        isOfApplication = false
        state = .content
    }

    /// Decoding goes on: the stream wants nothing for itself.
    mutating func decodingGoesOn() { if !isOfApplication { state = .content } }

    /// A packet of the stream came: the sender is alive.
    mutating func packetReceived() {
        if case .resting(let askAt) = state { state = .wanted(askAt: askAt) }
    }

    /// True when the request is to be sent now.
    mutating func isDue(roundTrip: Interval, at now: Instant) -> Bool {
        guard case .wanted(let askAt) = state, now >= askAt else { return false }
        lastAsked = now
        state = .resting(askAt: now + max(interval, roundTrip + roundTrip / 2))
        return true
    }

    var nextWake: Instant? {
        switch state {
        case .content, .resting: nil
        case .wanted(let askAt): askAt
        }
    }
}
