internal import ClientRTC
internal import Foundation
internal import MediaFiles
internal import RTCWire

/// Finds and reads what a call sends.
enum CallFiles {
    /// - Parameters:
    ///   - video: a file of the user's; nil for the test video, in each format that it comes in.
    ///   - codec: leaves only this format.
    static func load(video: String?, audio: String?, codec: Call.Codec?) throws -> CallMedia {
        var tracks: [MediaTrack]
        if let video {
            guard let track = try file(video).video else {
                throw CommandError("\(video) holds no video that can be sent.")
            }
            tracks = [track]
        } else {
            tracks = try ["webRtcTestVideo.mp4", "webRtcTestVideo.ivf"].compactMap { try testFile($0).video }
        }
        if let codec {
            tracks.removeAll { $0.format != codec.format }
            guard !tracks.isEmpty else {
                throw CommandError("\(video ?? "The test video") is not coded in \(codec.rawValue.uppercased()).")
            }
        }
        var sound: MediaTrack?
        if let audio {
            sound = try file(audio).audio
            if sound == nil { throw CommandError("\(audio) holds no Opus sound.") }
        } else {
            sound = try testFile("webRtcTestVideo.ogg").audio
        }
        return CallMedia(video: tracks, sound: sound.map { .file($0) } ?? .none)
    }

    private static func testFile(_ name: String) throws -> MediaFile {
        guard let url = ProjectFiles.locate("Media/\(name)") else {
            throw CommandError(
                "The test media (Media/\(name)) were not found: start roost in its folder, or set ROOST_HOME to it.")
        }
        return try file(url.path)
    }

    private static func file(_ path: String) throws -> MediaFile {
        do {
            return try MediaFile(path: path)
        } catch {
            throw CommandError("\(error)")
        }
    }
}

extension Call.Codec {
    var format: PayloadFormat {
        switch self {
        case .h264: .h264
        case .vp8: .vp8
        }
    }
}
