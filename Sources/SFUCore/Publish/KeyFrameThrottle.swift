public import RTCEngine

/// The subscribers' wishes for key frames of one published stream, made into few requests to its publisher: a key frame
/// is many times a picture's size, and one of them serves all who wait.
public struct KeyFrameThrottle: Sendable {
    private enum State: Sendable {
        case content
        /// To be asked for at this time.
        case wanted(at: Instant)
    }

    public let interval: Interval
    private var state = State.content
    private var lastAsked: Instant?

    /// - Parameter interval: no two requests are nearer to each other than this.
    public init(interval: Interval = .milliseconds(500)) { self.interval = interval }

    /// A subscriber wants one.
    public mutating func want(at now: Instant) {
        guard case .content = state else { return }
        state = .wanted(at: max(now, lastAsked.map { $0 + interval } ?? now))
    }

    /// One has begun to come: it answers what was wanted before.
    public mutating func keyFrameReceived() { state = .content }

    /// True when the publisher is to be asked now.
    public mutating func isDue(at now: Instant) -> Bool {
        guard case .wanted(let time) = state, now >= time else { return false }
        state = .content
        lastAsked = now
        return true
    }

    public var nextWake: Instant? {
        switch state {
        case .content: nil
        case .wanted(let time): time
        }
    }
}
