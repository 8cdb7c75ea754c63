internal import LiveKitClient
internal import MediaFiles
internal import RTCEngine

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
    /// How many key frames have come that lack what a file's header tells.
    private var unusableKeyFrames = 0
    var hasUnusableKeyFrame: Bool { unusableKeyFrames > 0 }
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
        guard try Recorder.canBegin(with: frame) else {
            if frame.isKeyFrame { unusableKeyFrames += 1 }
            let isFutile = unusableKeyFrames >= Self.mostUnusableKeyFrames
            return isFutile || isPatient && hasSmallKeyFrame && !frame.isKeyFrame ? .later : .needsKeyFrame
        }
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
