import Foundation
import RTCWire

/// The tracks of a media file, read into memory. Test media and announcements are small; a film is not for this.
public struct MediaFile: Sendable, Equatable {
    /// The longest file that is read, in bytes.
    public static let maximumSize = 512 << 20
    /// The most frames that are read, of all tracks together: eleven hours of sound. A small file can claim far more.
    public static let maximumFrames = 2_000_000

    /// What kind of file it is.
    public var container: MediaContainer
    /// At most one for each format, video first; never empty.
    public var tracks: [MediaTrack]
    /// In which codecs the file holds more pictures or sound that cannot be sent, such as "AAC".
    public var unusableCodecs: [String] = []

    /// Reads a file from its bytes, choosing the reader by content.
    /// - Parameter name: How errors call the file.
    public init(reading bytes: [UInt8], name: String) throws(MediaFileError) {
        guard bytes.count <= Self.maximumSize else { throw .tooLarge(file: name) }
        guard let container = MediaContainer(detecting: bytes.span.bytes) else { throw .unknownContainer(file: name) }
        self.container = container
        switch container {
        case .mp4:
            tracks = try MP4Reader.read(bytes)
            unusableCodecs = MP4Reader.unusableCodecs(bytes)
        case .ivf: tracks = [try IVFReader.read(bytes)]
        case .ogg: tracks = [try OggOpusReader.read(bytes)]
        case .wav: tracks = [try WAVReader.read(bytes)]
        case .webm: throw .unknownContainer(file: name)
        }
        guard !tracks.isEmpty else { throw .noUsableTrack(container) }
        for track in tracks { try track.checkPace(in: container) }
    }

    /// Reads the file at `path`, choosing the reader by content.
    public init(path: String) throws(MediaFileError) {
        let name = URL(fileURLWithPath: path).lastPathComponent
        guard let handle = FileHandle(forReadingAtPath: path) else { throw .unreadable(file: path) }
        defer { try? handle.close() }
        let data: Data?
        do { data = try handle.read(upToCount: Self.maximumSize + 1) } catch { throw .unreadable(file: path) }
        try self.init(reading: [UInt8](data ?? Data()), name: name)
    }

    /// The track of pictures, if there is one.
    public var video: MediaTrack? { tracks.first { $0.format.isVideo } }
    /// The track of sound, if there is one.
    public var audio: MediaTrack? { tracks.first { !$0.format.isVideo } }
}
