public import RTCEngine

/// Makes few requests to a publisher from its subscribers' many wishes for key frames of one stream: a key frame is
/// many times as large as another picture, and one of them serves all who wait.
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

    /// A subscriber needs a key frame.
    public mutating func want(at now: Instant) {
        guard case .content = state else { return }
        state = .wanted(at: max(now, lastAsked.map { $0 + interval } ?? now))
    }

    /// A key frame has begun to come: it serves all who wanted one before.
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
