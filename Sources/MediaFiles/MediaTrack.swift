public import RTCEngine
public import RTCWire

/// The frames of one track of a file, in decoding order.
public struct MediaTrack: Sendable, Equatable {
    /// One coded frame with its place in time. All times are in ticks of the format's RTP clock.
    public struct Frame: Sendable, Equatable {
        /// As `EncodedFrame.payload`.
        public var payload: [UInt8]
        /// When it is decoded (and sent), from the start of the file's first track.
        public var decodeTime: Int64
        /// How much later than decoded it is shown: 0 without B-frames.
        public var presentationOffset: Int64
        /// How long until the next frame.
        public var duration: Int64
        /// A decoder can begin here. Always true for sound.
        public var isKeyFrame: Bool

        public init(
            payload: [UInt8], decodeTime: Int64, presentationOffset: Int64 = 0, duration: Int64, isKeyFrame: Bool
        ) {
            self.payload = payload
            self.decodeTime = decodeTime
            self.presentationOffset = presentationOffset
            self.duration = duration
            self.isKeyFrame = isKeyFrame
        }
    }

    /// The same, without the wait for its first frame: for a track that is played beside none of its file.
    public var beginningAtOnce: MediaTrack {
        guard let wait = frames.first?.decodeTime, wait != 0 else { return self }
        var track = self
        for index in track.frames.indices { track.frames[index].decodeTime -= wait }
        return track
    }

    /// What the frames are.
    public var format: PayloadFormat
    /// In decoding order.
    public var frames: [Frame]
    /// In pixels; 0 for sound.
    public var width = 0
    /// In pixels; 0 for sound.
    public var height = 0
    /// How its pictures are to be turned when they are shown; nil when the file does not say.
    public var orientation: VideoOrientation?
    /// 1 or 2; 0 for video.
    public var channels = 0
    /// Opus: samples at the start that a player throws away (RFC 7845 §4.2). They are among the frames, and are sent.
    public var preSkip = 0

    public init(format: PayloadFormat, frames: [Frame]) {
        self.format = format
        self.frames = frames
    }

    /// Until the end of the last frame.
    public var duration: Interval {
        guard let last = frames.last else { return .zero }
        return .seconds(Double(last.decodeTime + last.duration) / Double(format.clockRate))
    }

    /// Gives each frame the time to the next one as its duration; the last one keeps its own.
    mutating func closeGaps() {
        for index in frames.indices.dropLast() {
            frames[index].duration = max(0, frames[index + 1].decodeTime - frames[index].decodeTime)
        }
    }

    /// Frames that come faster than any camera or microphone makes them have times that mean nothing: a player would
    /// flood the network.
    func checkPace(in container: MediaContainer) throws(MediaFileError) {
        let length = frames.reduce(0) { $0 + $1.duration }
        // One frame alone is a still picture: the player gives it a time.
        guard frames.count > 1, length * 1_000 < Int64(frames.count) * Int64(format.clockRate) else { return }
        throw .unsuitable(container, detail: "its times would have more than 1,000 frames sent each second")
    }
}
