/// Requests of receivers for a key frame, on the sender's side: passed on at most once an interval, none forgotten.
struct KeyFrameRequestLimiter: Sendable {
    private enum State: Sendable {
        case idle
        /// A request came too soon after the last: it is passed on then, unless a key frame goes out before.
        case deferred(until: Instant)
    }

    private let interval: Interval
    private var state = State.idle
    private var lastPassedOn: Instant?
    /// The last command of each requester. Few: a peer has one or two SSRCs that send feedback.
    private var lastFullIntraRequests: [(ssrc: UInt32, number: UInt8)] = []
    private static let maximumRequesters = 16

    init(interval: Interval) { self.interval = interval }

    /// A key frame is wanted; true when that is to be passed on now.
    mutating func wanted(at now: Instant) -> Bool {
        switch state {
        case .deferred: return false
        case .idle:
            if let lastPassedOn, now - lastPassedOn < interval {
                state = .deferred(until: lastPassedOn + interval)
                return false
            }
            lastPassedOn = now
            return true
        }
    }

    /// A key frame went out. It answers what was asked before it was sent.
    mutating func keyFrameSent() {
        state = .idle
    }

    /// True when a deferred request is to be passed on now.
    mutating func tick(at now: Instant) -> Bool {
        guard case .deferred(let until) = state, now >= until else { return false }
        state = .idle
        lastPassedOn = now
        return true
    }

    var nextWake: Instant? {
        switch state {
        case .idle: nil
        case .deferred(let until): until
        }
    }

    /// Whether a FIR command is another one than the requester's last.
    mutating func isNew(fullIntraRequest number: UInt8, from ssrc: UInt32) -> Bool {
        if let index = lastFullIntraRequests.firstIndex(where: { $0.ssrc == ssrc }) {
            guard lastFullIntraRequests[index].number != number else { return false }
            lastFullIntraRequests[index].number = number
            return true
        }
        if lastFullIntraRequests.count == Self.maximumRequesters { lastFullIntraRequests.removeFirst() }
        lastFullIntraRequests.append((ssrc, number))
        return true
    }
}
