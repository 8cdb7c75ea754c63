import Foundation
public import RTCEngine
public import RTCWire

/// A recording on disk: a `Recorder` and the file that it fills. Owned and called by one task at a time.
public final class RecordingFile {
    /// Where the file is.
    public let path: String
    /// What has been recorded so far, in figures.
    public private(set) var recorder: Recorder
    /// What of that is in the file.
    package private(set) var written = (frames: 0, length: Interval.zero)
    private let handle: FileHandle
    /// Why nothing more is written. What was written before stays, and plays.
    private var failure: MediaFileError?

    /// Makes the file, replacing what is in one that is there. A new one is for this user alone.
    public init(
        path: String, video: PayloadFormat?, audio: PayloadFormat?, container: MediaContainer? = nil
    ) throws(MediaFileError) {
        self.path = path
        recorder = try Recorder(video: video, audio: audio, container: container)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw errno == ENOSPC ? .diskFull(file: path) : .unwritable(file: path) }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Writes to the disk about once a second.
    /// - Throws: `diskFull` or `unwritable`, at once and from then on: a hole in the file would make the rest
    ///   unreadable.
    public func receive(_ frame: EncodedFrame, at now: Instant) throws(MediaFileError) {
        if let failure { throw failure }
        recorder.receive(frame, at: now)
        try apply()
    }

    /// Ends the file. What it holds is on the disk afterwards, whatever happens to the machine.
    /// - Throws: as `receive`; `unwritable` also when somebody has taken the file away.
    public func finish() throws(MediaFileError) {
        guard let failure = try writeEnd().sync() else { return }
        self.failure = failure
        throw failure
    }

    /// As `finish`, but for waiting for the disk: that is left to `sync` of what comes back.
    package func writeEnd() throws(MediaFileError) -> WrittenFile {
        if let failure { throw failure }
        recorder.finish()
        try apply()
        return WrittenFile(path: path, handle: handle)
    }

    /// In bytes; not of what somebody may have put in its place.
    package var size: Int64 {
        var status = stat()
        return fstat(handle.fileDescriptor, &status) == 0 ? Int64(status.st_size) : 0
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
            written = recorder.flushed
        } catch {
            let reason = error as NSError
            let isFull =
                reason.code == CocoaError.Code.fileWriteOutOfSpace.rawValue
                || reason.domain == NSPOSIXErrorDomain && reason.code == Int(ENOSPC)
            let failure = isFull ? MediaFileError.diskFull(file: path) : .unwritable(file: path)
            self.failure = failure
            throw failure
        }
    }
}
