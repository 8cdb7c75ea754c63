internal import ClientRTC
internal import Foundation
internal import MediaFiles
internal import RTCWire

/// Finds and reads what a call sends.
enum CallFiles {
    /// - Parameters:
    ///   - video: a file of the user's; nil for the test video, in each format that it comes in.
    ///   - codec: leaves only this format.
    ///   - notice: is called with a sentence when something of a file is left out.
    static func load(
        video: String?, audio: String?, codec: Call.Codec?, notice: (String) -> Void = { _ in }
    ) throws -> CallMedia {
        var tracks: [MediaTrack]
        if let video {
            let film = try file(video)
            guard let track = film.video else {
                throw CommandError("\(video) holds no video that can be sent.")
            }
            // In another codec the other side has nothing to send, and no file that holds it beside sound.
            guard Call.Codec.allCases.contains(where: { $0.format == track.format }) else {
                throw CommandError("\(video) is coded in \(track.format.name); a call sends H.264 or VP8.")
            }
            // Of sound in whose place there is other sound nothing is missing.
            if audio == nil || audio == video, let sentence = film.omission(from: video) { notice(sentence) }
            // Beside other sound than its own a picture waits for nothing.
            tracks = [audio == video ? track : track.beginningAtOnce]
        } else {
            tracks = try ["webRtcTestVideo.mp4", "webRtcTestVideo.ivf"].compactMap { try testFile($0).video }
        }
        if let codec {
            tracks.removeAll { $0.format != codec.format }
            guard !tracks.isEmpty else {
                throw CommandError("\(video ?? "The test video") is not coded in \(codec.rawValue.uppercased()).")
            }
        }
        let sound =
            if let audio {
                audio == video ? try self.sound(in: audio) : try self.sound(in: audio).beginningAtOnce
            } else { try testFile("webRtcTestVideo.ogg").audio }
        return CallMedia(video: tracks, sound: sound.map { .file($0) } ?? .none)
    }

    private static func sound(in path: String) throws -> MediaTrack {
        guard let track = try file(path).audio else { throw CommandError("\(path) holds no Opus sound.") }
        guard track.format == .opus else {
            throw CommandError("\(path) holds \(track.format.name) sound; a call sends Opus.")
        }
        return track
    }

    /// Whether there is something to send where nothing else is said.
    static var hasTestMedia: Bool { ProjectFiles.locate("Media/webRtcTestVideo.mp4") != nil }

    private static func testFile(_ name: String) throws -> MediaFile {
        guard let url = ProjectFiles.locate("Media/\(name)") else {
            throw CommandError(
                "The test media (Media/\(name)) were not found: set ROOST_HOME to the folder that has them.")
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

extension MediaFile {
    /// That not all of the file is sent, as a sentence; nil when it is.
    ///
    /// - Parameter name: how the sentence calls the file.
    func omission(from name: String) -> String? {
        guard !unusableCodecs.isEmpty else { return nil }
        return "What \(name) holds in \(unusableCodecs.joined(separator: " and ")) is left out: it cannot be sent."
    }
}

extension PayloadFormat {
    /// As people write it.
    fileprivate var name: String {
        switch self {
        case .h264: "H.264"
        case .h265: "H.265"
        case .vp8: "VP8"
        case .vp9: "VP9"
        case .av1: "AV1"
        case .opus: "Opus"
        case .pcmu: "PCMU"
        case .pcma: "PCMA"
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
