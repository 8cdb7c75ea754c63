import RTCWire

/// Why a media file cannot be read or written. The description is a sentence for a person.
public enum MediaFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file does not exist or may not be read.
    case unreadable(file: String)
    /// The file cannot be made or written to.
    case unwritable(file: String)
    /// There is no room for more of the file.
    case diskFull(file: String)
    /// Longer than `MediaFile.maximumSize`.
    case tooLarge(file: String)
    /// The first bytes are of no container that we know.
    case unknownContainer(file: String)
    /// The container's structure is broken.
    case malformed(MediaContainer, detail: String)
    /// More frames than `MediaFile.maximumFrames`.
    case tooManyFrames(MediaContainer)
    /// The file is sound, and no call can carry it: frames that a live receiver could not show in time or at all.
    case unsuitable(MediaContainer, detail: String)
    /// The container is sound, and holds no codec that we read from it.
    case noUsableTrack(MediaContainer)
    /// A recording of nothing, or of two tracks of one kind.
    case unsupportedTracks

    public var description: String {
        switch self {
        case .unreadable(let file): "The file \(file) cannot be read."
        case .unwritable(let file): "The file \(file) cannot be written."
        case .diskFull(let file): "The disk is full: nothing more can be written to the file \(file)."
        case .tooManyFrames(let container):
            "The \(container.name) data holds more than \(MediaFile.maximumFrames) frames, the most that is read."
        case .unsuitable(let container, let detail): "The \(container.name) data cannot be sent in a call: \(detail)."
        case .tooLarge(let file):
            "The file \(file) is larger than \(MediaFile.maximumSize >> 20) MiB, the most that is read into memory."
        case .unknownContainer(let file): "The file \(file) is not an MP4, IVF, Ogg or WAV file."
        case .malformed(let container, let detail): "The \(container.name) data is damaged: \(detail)."
        case .noUsableTrack(.mp4): "The MP4 data holds neither H.264 nor H.265 video, and no Opus sound."
        case .noUsableTrack(.ivf): "The IVF data holds a codec other than VP8, VP9 and AV1."
        case .noUsableTrack(.ogg): "The Ogg data holds no Opus sound."
        case .noUsableTrack(.wav): "The WAV data holds no G.711 sound of one channel at 8,000 samples a second."
        case .noUsableTrack(.webm): "The WebM data holds neither VP8 video nor Opus sound."
        case .unsupportedTracks: "A recording takes one video track, one audio track, or one of each."
        }
    }
}

/// The kinds of file that this module knows.
public enum MediaContainer: Sendable, Hashable, CaseIterable {
    /// ISO base media: H.264, H.265 and Opus.
    case mp4
    /// VP8, VP9 or AV1.
    case ivf
    /// Opus only.
    case ogg
    /// VP8 and Opus. Written by recordings, not read.
    case webm
    /// G.711 only.
    case wav

    /// For people, as "MP4".
    public var name: String {
        switch self {
        case .mp4: "MP4"
        case .ivf: "IVF"
        case .ogg: "Ogg"
        case .webm: "WebM"
        case .wav: "WAV"
        }
    }

    /// What a file's name should end in, without the dot.
    public var fileExtension: String {
        switch self {
        case .mp4: "mp4"
        case .ivf: "ivf"
        case .ogg: "ogg"
        case .webm: "webm"
        case .wav: "wav"
        }
    }

    /// Tells a readable container by its first bytes, whatever the file is called; nil for all else.
    public init?(detecting bytes: RawSpan) {
        switch (bytes.uint32(at: 0), bytes.uint32(at: 4)) {
        case (0x444b_4946, _): self = .ivf  // DKIF
        case (0x4f67_6753, _): self = .ogg  // OggS
        case (0x5249_4646, _): self = .wav  // RIFF
        // ISO/IEC 14496-12 §4.3: an ftyp box comes first; old QuickTime files begin with one of the others.
        case (_, 0x6674_7970), (_, 0x6d6f_6f76), (_, 0x6d64_6174), (_, 0x6672_6565), (_, 0x7769_6465),
            (_, 0x736b_6970):
            self = .mp4
        default: return nil
        }
    }
}
