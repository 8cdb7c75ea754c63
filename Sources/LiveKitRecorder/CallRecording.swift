package import Foundation
package import MediaFiles
package import RTCEngine
internal import RTCWire

/// Writes what one side of a call receives: picture and sound together where one file holds both, which it does of
/// Opus, and sound alone while no picture comes. A file has its codecs from its beginning, so what comes in others, or
/// a picture behind more sound than is held for it, begins the next file.
package final class CallRecording {
    private let folder: URL
    /// Of a file's path, from the folder on, without the extension.
    private let components: [String]
    /// Pictures, with Opus where the file holds that, too.
    private var pictures: RecordingFile?
    /// Sound that has no place beside the pictures.
    private var sound: RecordingFile?
    /// Opus that waits for a picture.
    private var held: [(frame: EncodedFrame, at: Instant)] = []
    /// All that were begun and are whole, or will be once they are ended; oldest first.
    package private(set) var files: [URL] = []
    /// Those that are not among them, too.
    private var begunFiles = 0

    /// Packets that wait for a picture: ten seconds of 20 ms.
    static let heldLimit = 500
    /// Files of one call: who changes codecs without end does not fill the folder.
    static let fileLimit = 100

    /// - Parameters:
    ///   - folder: where the files go; it has to be there.
    ///   - name: whose pictures and sound they are, as the call says. They are called by it: `Ann-received.mp4`, or
    ///     with a number when there is such a file already.
    package init(folder: URL, name: String) {
        self.folder = folder
        var subject = RecordingPath.Subject(time: Date())
        subject.publisherIdentity = name
        components = RecordingPath("{publisher_identity}-received", of: subject).components
    }

    /// Frames of one track come in order.
    /// - Throws: when a file cannot be written, or no file holds the frame's codec.
    package func receive(_ frame: EncodedFrame, at now: Instant) throws(MediaFileError) {
        guard !frame.payload.isEmpty else { return }
        if frame.format.isVideo {
            try receivePicture(frame, at: now)
        } else {
            try receiveSound(frame, at: now)
        }
    }

    /// Ends all files, whatever becomes of one of them. What follows begins another one.
    /// - Throws: why the first one of those that are not whole is not.
    package func finish() throws(MediaFileError) {
        var failure: MediaFileError?
        let ends: [() throws(MediaFileError) -> Void] = [writeHeld, closePictures, closeSound]
        for end in ends {
            do throws(MediaFileError) {
                try end()
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func receivePicture(_ frame: EncodedFrame, at now: Instant) throws(MediaFileError) {
        if pictures?.recorder.video != frame.format {
            guard try Recorder.canBegin(with: frame), begunFiles < Self.fileLimit else { return }
            try beginPictures(frame.format)
        }
        try pictures?.receive(frame, at: now)
    }

    private func beginPictures(_ format: PayloadFormat) throws(MediaFileError) {
        let holdsOpus = !Recorder.containers(video: format, audio: .opus).isEmpty
        if !holdsOpus { try writeHeld() }
        try closePictures()
        pictures = try open(video: format, audio: holdsOpus ? .opus : nil)
        guard holdsOpus else { return }
        if sound?.recorder.audio == .opus { try closeSound() }
        for (frame, at) in held { try pictures?.receive(frame, at: at) }
        held = []
    }

    private func receiveSound(_ frame: EncodedFrame, at now: Instant) throws(MediaFileError) {
        if let pictures, pictures.recorder.audio == frame.format { return try pictures.receive(frame, at: now) }
        if sound?.recorder.audio != frame.format {
            guard begunFiles < Self.fileLimit else { return }
            if frame.format == .opus, pictures == nil {
                held.append((frame, now))
                if held.count >= Self.heldLimit { try writeHeld() }
                return
            }
            try writeHeld()
            try beginSound(frame.format)
        }
        try sound?.receive(frame, at: now)
    }

    private func beginSound(_ format: PayloadFormat) throws(MediaFileError) {
        try closeSound()
        sound = try open(video: nil, audio: format)
    }

    /// No picture has come for it.
    private func writeHeld() throws(MediaFileError) {
        guard !held.isEmpty else { return }
        let waiting = held
        held = []
        try beginSound(.opus)
        for (frame, at) in waiting { try sound?.receive(frame, at: at) }
    }

    /// - Returns: nil when there are as many as there may be.
    private func open(video: PayloadFormat?, audio: PayloadFormat?) throws(MediaFileError) -> RecordingFile? {
        guard begunFiles < Self.fileLimit else { return nil }
        guard let container = Recorder.containers(video: video, audio: audio).first else { throw .unsupportedTracks }
        let url = RecordingFolder.claim(components, container.fileExtension, in: folder)
        let file = try RecordingFile(path: url.path, video: video, audio: audio, container: container)
        files.append(url)
        begunFiles += 1
        return file
    }

    private func closePictures() throws(MediaFileError) {
        defer { pictures = nil }
        try close(pictures)
    }

    private func closeSound() throws(MediaFileError) {
        defer { sound = nil }
        try close(sound)
    }

    private func close(_ file: RecordingFile?) throws(MediaFileError) {
        guard let file else { return }
        do throws(MediaFileError) {
            try file.finish()
        } catch {
            files.removeAll { $0.path == file.path }
            throw error
        }
    }
}
