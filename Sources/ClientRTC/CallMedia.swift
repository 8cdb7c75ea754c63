public import MediaFiles
public import RTCEngine
internal import RTCWire

/// What a call sends instead of a camera and a microphone.
public struct CallMedia: Sendable {
    /// Pictures, one track for each format that can be sent; the negotiated one is played.
    public var video: [MediaTrack]
    public var sound: Sound
    /// Starts again at the end; otherwise the picture stands still there.
    public var ending: MediaSource.Ending

    /// What is sent as the microphone.
    public enum Sound: Sendable {
        case none
        case file(MediaTrack)
        /// The other side's own sound, as it comes in.
        case echo
    }

    public init(video: [MediaTrack], sound: Sound, ending: MediaSource.Ending = .loop) {
        self.video = video
        self.sound = sound
        self.ending = ending
    }

    /// How long a round of the loop is: as long as the longest track, so that picture and sound begin each one
    /// together.
    var roundLength: Interval {
        var tracks = video
        if case .file(let track) = sound { tracks.append(track) }
        return tracks.map(\.duration).max() ?? .zero
    }

    func track(for format: PayloadFormat) -> MediaTrack? {
        if format.isVideo { return video.first { $0.format == format } }
        switch sound {
        case .file(let track): return track.format == format ? track : nil
        case .none, .echo: return nil
        }
    }
}

/// Takes what a call receives, in order. Called from the call's own task; it should not take long.
public protocol CallFrameSink: Sendable {
    func receive(_ frame: EncodedFrame) async
    /// The call is over: nothing follows.
    func finish() async
}
