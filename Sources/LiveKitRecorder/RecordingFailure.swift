package import LiveKitClient
internal import MediaFiles
internal import RTCWire

/// Why a track is not recorded, or not to its end. The description names no place on this machine: it goes to whoever
/// asked for the recording.
package enum RecordingFailure: Error, Sendable, Hashable, CustomStringConvertible {
    case diskFull
    case unwritable
    /// There is no file that holds what the track is coded in.
    case unsupported(codec: String)
    /// Of the key frames that came in a codec none tells what a file's header has to.
    case noBeginning(codec: String)
    /// The server has no such track for us.
    case noSuchTrack
    /// There is such a track, and the recorder is not let have it.
    case notAllowed
    /// Encrypted from end to end: nobody but the people in the room could make anything of it.
    case encrypted
    /// The room has as many as are recorded of one.
    case tooManyFiles(limit: Int)
    /// Its codec has changed as often as is followed.
    case tooManyChanges(limit: Int)
    /// What came was written too slowly, and did not all wait: so many pictures, or packets of sound, are not in the
    /// file. The rest is.
    case fellBehind(frames: Int)
    /// The recorder is not in the room, or not any more; a sentence.
    case notInRoom(String)

    init(_ error: MediaFileError, codec: String) {
        switch error {
        case .diskFull: self = .diskFull
        case .unreadable, .unwritable, .tooLarge: self = .unwritable
        case .unknownContainer, .malformed, .tooManyFrames, .unsuitable, .noUsableTrack, .unsupportedTracks:
            self = .unsupported(codec: codec)
        }
    }

    /// Something was to be written and could not be.
    var isLoss: Bool {
        switch self {
        case .diskFull, .unwritable, .fellBehind: true
        case .unsupported, .noBeginning, .noSuchTrack, .notAllowed, .encrypted, .tooManyFiles, .tooManyChanges,
            .notInRoom:
            false
        }
    }

    /// Something is missing in the midst of what is recorded, which goes on.
    package var isHole: Bool {
        if case .fellBehind = self { true } else { false }
    }

    package var description: String {
        switch self {
        case .diskFull: "The disk is full."
        case .unwritable: "The file cannot be written."
        case .unsupported(let codec): "There is no file that holds \(codec)."
        case .noBeginning(let codec): "None of its pictures in \(codec) is one that a file can begin with."
        case .noSuchTrack: "There is no such track in the room."
        case .notAllowed: "The track's publisher does not let everybody have it."
        case .encrypted: "The track is encrypted from end to end."
        case .tooManyFiles(let limit): "The room has \(limit) files already, the most that are recorded of one."
        case .tooManyChanges(let limit):
            "The track has changed its codec \(limit) times already, the most that a recording follows."
        case .fellBehind(let frames):
            "The disk or the machine was too slow: \(frames) \(frames == 1 ? "frame is" : "frames are") missing."
        case .notInRoom(let sentence): sentence
        }
    }
}

/// What goes wrong beside; the description is for whoever records, and names people and files.
package enum RecordingNotice: Sendable, Hashable, CustomStringConvertible {
    case track(of: ParticipantIdentity, TrackSource, RecordingFailure)
    case file(String, RecordingFailure)
    /// Its path.
    case index(String)

    package var description: String {
        switch self {
        case .track(let identity, let source, let failure):
            "\(identity)'s \(source.rawValue) is not recorded: \(failure)"
        case .file(let name, let failure): "\(name) is not complete: \(failure)"
        case .index(let path): "The index \(path) cannot be written."
        }
    }
}

/// Why a folder cannot be recorded into. The description is for whoever chose it.
package enum RecordingFolderError: Error, Sendable, Hashable, CustomStringConvertible {
    case cannotBeMade(folder: String)
    case unwritable(folder: String)

    package var description: String {
        switch self {
        case .cannotBeMade(let folder): "The folder \(folder) for recordings cannot be made."
        case .unwritable(let folder): "Nothing can be written into the folder \(folder)."
        }
    }
}

/// What has been written of a track.
package struct RecordedFile: Sendable, Hashable {
    /// From the folder on.
    package var path: String
    /// Nanoseconds since 1970.
    package var startedAt: Int64
    package var endedAt: Int64
    /// Nanoseconds.
    package var duration: Int64
    /// Bytes.
    package var size: Int64
    package var isComplete = true
}
