/// How a connection shares its path with others.
public struct CongestionConfiguration: Sendable, Hashable {
    /// Whether packets wait for their turn.
    public enum Pacing: Sendable, Hashable {
        /// They leave when they are made, and the path is not probed.
        case off
        /// Pictures and retransmissions leave at a multiple of the estimate; sound never waits.
        case video
        /// The same for who forwards what others have paced: a picture leaves as it has come, and only what is more
        /// than that waits.
        case forwarded
    }

    /// Whether packets wait for their turn, and which.
    public var pacing: Pacing
    /// What is sent before anything is known of the path.
    public var startBitrate: Bitrate
    /// The estimate never falls below this: less than it does not carry a call.
    public var minimumBitrate: Bitrate
    /// The estimate never rises above this, and nothing above it is probed for.
    public var maximumBitrate: Bitrate
    /// The pacer's rate in proportion to the estimate: so a key frame, which is many times a picture's size, leaves
    /// soon.
    public var pacingFactor: Double
    /// Packets that would wait longer make the pacer faster than its rate.
    public var maximumQueueTime: Interval

    public init(
        pacing: Pacing = .video, startBitrate: Bitrate = .kilobits(300), minimumBitrate: Bitrate = .kilobits(30),
        maximumBitrate: Bitrate = .megabits(20), pacingFactor: Double = 2.5,
        maximumQueueTime: Interval = .seconds(Int64(1))
    ) {
        self.pacing = pacing
        self.startBitrate = startBitrate
        self.minimumBitrate = minimumBitrate
        self.maximumBitrate = maximumBitrate
        self.pacingFactor = pacingFactor
        self.maximumQueueTime = maximumQueueTime
    }

    /// The same with limits in order, whatever was asked for.
    var inOrder: Self {
        var copy = self
        copy.minimumBitrate = max(minimumBitrate, .kilobits(5))
        copy.maximumBitrate = max(maximumBitrate, copy.minimumBitrate)
        copy.startBitrate = min(max(startBitrate, copy.minimumBitrate), copy.maximumBitrate)
        copy.pacingFactor = pacingFactor >= 1 ? min(pacingFactor, 100) : 1
        copy.maximumQueueTime = min(max(maximumQueueTime, .milliseconds(10)), .seconds(Int64(10)))
        return copy
    }

    var limits: ClosedRange<Bitrate> { minimumBitrate...maximumBitrate }
}
