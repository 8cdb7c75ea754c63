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
    /// A key frame has come that lacks what a file's header tells.
    private(set) var hasUnusableKeyFrame = false

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
            hasUnusableKeyFrame = hasUnusableKeyFrame || frame.isKeyFrame
            return isPatient && hasSmallKeyFrame && !frame.isKeyFrame ? .later : .needsKeyFrame
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
