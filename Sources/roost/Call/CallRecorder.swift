internal import ClientRTC
internal import Foundation
internal import LiveKitRecorder
internal import MediaFiles
internal import RTCEngine
internal import RTCNetwork
internal import RTCWire

/// Writes what a call receives into one file: picture and sound together.
///
/// The container depends on the codecs, so the file begins with the first frame of video; sound that comes before is
/// held for a while. A call without video becomes a file of sound.
actor CallRecorder: CallFrameSink {
    private enum State {
        case waiting([(frame: EncodedFrame, at: Instant)])
        case recording(RecordingFile)
        case finished(URL?)
        case failed(MediaFileError)
    }

    private let failed: @Sendable (String) -> Void
    private let folder: URL
    private let name: String
    private var state = State.waiting([])
    /// Sound that is held for a picture: ten seconds of packets of 20 ms.
    private static let heldLimit = 500
    /// Of the name in a file's name, in bytes. File systems take 255, and more follows.
    private static let nameLimit = 120

    /// - Parameter failed: is called once, at the moment when the recording can no longer be written; with a sentence.
    init(folder: String, name: String, failed: @escaping @Sendable (String) -> Void) throws {
        self.failed = failed
        guard !folder.isEmpty else { throw CommandError("--record wants the name of a folder.") }
        self.folder = URL(filePath: folder, directoryHint: .isDirectory)
        // A user's name becomes a file's name: letters, digits and a few signs of it.
        let safe = name.map { $0.isLetter || $0.isNumber || "-_".contains($0) ? $0 : "_" }
        self.name = String(safe).prefix(bytes: Self.nameLimit)
        do {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        } catch {
            throw CommandError("The folder \(folder) for recordings cannot be made.")
        }
        guard FileManager.default.isWritableFile(atPath: self.folder.path) else {
            throw CommandError("Nothing can be written into the folder \(folder).")
        }
    }

    func receive(_ frame: EncodedFrame) {
        let now = NetworkLoop.now
        do throws(MediaFileError) {
            switch state {
            case .waiting(var held):
                held.append((frame, now))
                state = .waiting(held)
                if frame.format.isVideo || held.count >= Self.heldLimit {
                    try begin(video: frame.format.isVideo ? frame.format : nil, held)
                }
            case .recording(let file):
                try file.receive(frame, at: now)
            case .finished, .failed:
                return
            }
        } catch {
            fail(error)
        }
    }

    private func fail(_ error: MediaFileError) {
        state = .failed(error)
        failed("The recording failed, the call goes on without it: \(error)")
    }

    private func begin(
        video: PayloadFormat?, _ held: [(frame: EncodedFrame, at: Instant)]
    ) throws(MediaFileError) {
        let container = Recorder.containers(video: video, audio: .opus).first ?? .ogg
        // `Ann-received.mp4`, or with a number when there is one already: a recording is never overwritten.
        let url = RecordingFolder.claim(["\(name)-received"], container.fileExtension, in: folder)
        let file = try RecordingFile(path: url.path, video: video, audio: .opus, container: container)
        for (frame, at) in held { try file.receive(frame, at: at) }
        state = .recording(file)
    }

    func finish() {
        do throws(MediaFileError) {
            if case .waiting(let held) = state, !held.isEmpty { try begin(video: nil, held) }
            // A call that came to nothing leaves the recorder to the next one.
            guard case .recording(let file) = state else { return }
            try file.finish()
            state = .finished(URL(filePath: file.path))
        } catch {
            fail(error)
        }
    }

    /// The complete recording; nil when nothing came that could be recorded.
    func file() throws -> URL? {
        finish()
        switch state {
        case .finished(let url): return url
        case .failed(let error): throw CommandError("The recording failed: \(error)")
        case .waiting, .recording: return nil
        }
    }
}
