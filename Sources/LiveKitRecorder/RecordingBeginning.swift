internal import LiveKitClient
internal import MediaFiles
internal import RTCEngine
internal import RTCWire

/// Where in a track a recording begins: at a picture that can be decoded by itself, and of the size that was announced.
/// What converts the file keeps to the first one's, and publishers begin small.
struct RecordingBeginning {
    enum Verdict {
        case here
        /// The publisher is still on its way to the size, with key frames of its own.
        case later
        case needsKeyFrame
    }

    private let publication: RemoteTrackPublication
    private let patience: Interval
    private var firstAt: Instant?
    private var hasSmallKeyFrame = false
    /// What the last frame was coded in, and how many key frames have come since then that lack what a file's header
    /// tells.
    private var format: PayloadFormat?
    private var unusableKeyFrames = 0
    /// That all key frames of a codec were such; of the first one, if there are several.
    private(set) var failure: RecordingFailure?
    /// A publisher that has made so many makes no others, and everybody in the room has each that is asked for.
    private static let mostUnusableKeyFrames = 4

    /// - Parameter patience: how long pictures may stay smaller than announced before they are taken as they are.
    init(of publication: RemoteTrackPublication, patience: Interval) {
        self.publication = publication
        self.patience = patience
    }

    /// - Throws: `unsupportedTracks` when no file holds the format.
    mutating func verdict(on frame: EncodedFrame, at now: Instant) throws(MediaFileError) -> Verdict {
        let isPatient = now - (firstAt ?? now) < patience
        firstAt = firstAt ?? now
        if format != frame.format { (format, unusableKeyFrames) = (frame.format, 0) }
        let noBeginning = RecordingFailure.noBeginning(codec: frame.format.mimeType)
        guard try Recorder.canBegin(with: frame) else {
            if frame.isKeyFrame {
                unusableKeyFrames += 1
                failure = failure ?? noBeginning
            }
            let isFutile = unusableKeyFrames >= Self.mostUnusableKeyFrames
            return isFutile || isPatient && hasSmallKeyFrame && !frame.isKeyFrame ? .later : .needsKeyFrame
        }
        if failure == noBeginning { failure = nil }
        guard isPatient, frame.isSmaller(than: publication) else { return .here }
        hasSmallKeyFrame = true
        return .later
    }
}

extension EncodedFrame {
    /// Whether a key frame is smaller than what its publisher has announced, however it is held; publishers round.
    fileprivate func isSmaller(than publication: RemoteTrackPublication) -> Bool {
        guard let size = pictureSize, publication.width > 0, publication.height > 0 else { return false }
        return max(size.width, size.height) * 10 < max(publication.width, publication.height) * 9
    }
}
