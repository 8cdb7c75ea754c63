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

    /// - Parameter patience: how long pictures may stay smaller than announced before they are taken as they are.
    init(of publication: RemoteTrackPublication, patience: Interval) {
        self.publication = publication
        self.patience = patience
    }

    mutating func verdict(on frame: EncodedFrame, at now: Instant) -> Verdict {
        let isPatient = now - (firstAt ?? now) < patience
        firstAt = firstAt ?? now
        if frame.isKeyFrame, isPatient, frame.isSmaller(than: publication) {
            hasSmallKeyFrame = true
            return .later
        }
        if frame.isKeyFrame { return .here }
        return isPatient && hasSmallKeyFrame ? .later : .needsKeyFrame
    }
}

extension EncodedFrame {
    /// Whether a key frame is smaller than what its publisher has announced, however it is held; publishers round.
    fileprivate func isSmaller(than publication: RemoteTrackPublication) -> Bool {
        guard let size = pictureSize, publication.width > 0, publication.height > 0 else { return false }
        return max(size.width, size.height) * 10 < max(publication.width, publication.height) * 9
    }
}
