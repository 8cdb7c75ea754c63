/// How a call is doing at one moment. What the engine does not know is nil.
public struct CallStatistics: Hashable, Sendable {
    /// One direction of one kind of media.
    public struct Flow: Hashable, Sendable {
        /// The codec by its name in SDP: `H264`, `VP8`, `opus`.
        public var codec: String?
        /// Payload bits per second over the last interval, of what was sent again too.
        public var bitrate: Int
        /// Sent or received since the call began, without those that a stream of retransmissions (RFC 4588) repeats.
        public var packets: Int
        /// Packets that did not arrive at first (for the sending direction: by the partner's report).
        public var packetsLost: Int
        /// Packets that should have arrived: what was sent, or what was received and lost.
        public var packetsExpected: Int
        /// Whole frames sent, or received and complete.
        public var frames: Int
        /// Frames per second over the last interval.
        public var frameRate: Double?
        /// How unevenly packets arrive (for the sending direction: by the partner's report).
        public var jitter: Duration?

        public init(
            codec: String? = nil, bitrate: Int = 0, packets: Int = 0, packetsLost: Int = 0,
            packetsExpected: Int? = nil, frames: Int = 0, frameRate: Double? = nil, jitter: Duration? = nil
        ) {
            self.codec = codec
            self.bitrate = bitrate
            self.packets = packets
            self.packetsLost = packetsLost
            self.packetsExpected = packetsExpected ?? packets + packetsLost
            self.frames = frames
            self.frameRate = frameRate
            self.jitter = jitter
        }

        /// The lost part of everything that was sent, 0...1.
        public var lossRatio: Double {
            packetsExpected > 0 ? min(Double(packetsLost) / Double(packetsExpected), 1) : 0
        }
    }

    /// Nil while nothing of it is negotiated.
    public var videoSent: Flow?
    /// Likewise.
    public var videoReceived: Flow?
    /// Likewise.
    public var audioSent: Flow?
    /// Likewise.
    public var audioReceived: Flow?
    /// To the partner and back, on the selected candidate pair.
    public var roundTrip: Duration?
    /// The selected pair in words, for example `host ↔ srflx`.
    public var route: String?

    public init(
        videoSent: Flow? = nil, videoReceived: Flow? = nil, audioSent: Flow? = nil, audioReceived: Flow? = nil,
        roundTrip: Duration? = nil, route: String? = nil
    ) {
        self.videoSent = videoSent
        self.videoReceived = videoReceived
        self.audioSent = audioSent
        self.audioReceived = audioReceived
        self.roundTrip = roundTrip
        self.route = route
    }
}
