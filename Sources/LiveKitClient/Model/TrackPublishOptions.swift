/// What the room is told of a track that we publish.
public struct TrackPublishOptions: Sendable, Hashable {
    /// What others see of the track; may be empty, and need not be unique.
    public var name: String
    /// What the track shows or holds.
    public var source: TrackSource
    /// It begins muted.
    public var isMuted = false
    /// In pixels; 0 for sound.
    public var width = 0
    /// In pixels; 0 for sound.
    public var height = 0
    /// About so many bits per second; servers may choose layers by it, and of frames that are handed in
    /// `LocalTrackPublication.targetBitrates` asks for no more. 0 if it is not known. With `layers` each says its own.
    public var bitrate = 0
    /// The sizes in which a picture is encoded: none where it is encoded once, else two or three, each of another
    /// quality. Each frame is then of one of them. The size of the track is that of the largest.
    public var layers: [VideoLayer] = []
    /// Opus with two channels that differ.
    public var isStereo = false

    public init(name: String, source: TrackSource) {
        self.name = name
        self.source = source
    }
}
