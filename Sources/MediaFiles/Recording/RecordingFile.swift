import Foundation
public import RTCEngine
public import RTCWire

/// A recording on disk: a `Recorder` and the file that it fills. Owned and called by one task at a time.
public final class RecordingFile {
    /// Where the file is.
    public let path: String
    /// What has been recorded so far, in figures.
    public private(set) var recorder: Recorder
    private let handle: FileHandle

    /// Makes the file, replacing one that is there.
    public init(
        path: String, video: PayloadFormat?, audio: PayloadFormat?, container: MediaContainer? = nil
    ) throws(MediaFileError) {
        self.path = path
        recorder = try Recorder(video: video, audio: audio, container: container)
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw .unwritable(file: path) }
        self.handle = handle
    }

    deinit { try? handle.close() }

    /// Writes to the disk about once a second.
    public func receive(_ frame: EncodedFrame, at now: Instant) throws(MediaFileError) {
        recorder.receive(frame, at: now)
        try apply()
    }

    /// Ends the file.
    public func finish() throws(MediaFileError) {
        recorder.finish()
        try apply()
    }

    private func apply() throws(MediaFileError) {
        do {
            while let change = recorder.pollOutput() {
                switch change {
                case .append(let bytes):
                    try handle.seekToEnd()
                    try handle.write(contentsOf: Data(bytes))
                case .overwrite(let bytes, let offset):
                    try handle.seek(toOffset: UInt64(offset))
                    try handle.write(contentsOf: Data(bytes))
                }
            }
        } catch { throw .unwritable(file: path) }
    }
}
