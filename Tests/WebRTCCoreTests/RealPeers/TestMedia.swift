import Foundation
import MediaFiles

enum TestMedia {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The committed test video.
    static func video() throws -> MediaTrack {
        guard let track = try MediaFile(path: root.appending(path: "Media/webRtcTestVideo.mp4").path).video else {
            throw MediaFileError.unreadable(file: "webRtcTestVideo.mp4")
        }
        return track
    }
}
