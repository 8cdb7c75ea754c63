internal import ClientRTC
internal import Foundation
internal import LiveKitRecorder
internal import MediaFiles
internal import RTCEngine
internal import RTCNetwork

/// Writes what a call receives into a folder.
actor CallRecorder: CallFrameSink {
    private enum State {
        case recording
        case finished
        case failed(MediaFileError)
    }

    private let failed: @Sendable (String) -> Void
    private let recording: CallRecording
    private var state = State.recording

    /// - Parameter failed: is called once, at the moment when the recording can no longer be written; with a sentence.
    init(folder: String, name: String, failed: @escaping @Sendable (String) -> Void) throws {
        self.failed = failed
        guard !folder.isEmpty else { throw CommandError("--record wants the name of a folder.") }
        do throws(RecordingFolderError) {
            try RecordingFolder.prepare(folder)
        } catch {
            throw CommandError(error.description)
        }
        recording = CallRecording(folder: URL(filePath: folder, directoryHint: .isDirectory), name: name)
    }

    func receive(_ frame: EncodedFrame) {
        guard case .recording = state else { return }
        do throws(MediaFileError) {
            try recording.receive(frame, at: frame.receivedAt ?? NetworkLoop.now)
        } catch {
            fail(error)
        }
    }

    private func fail(_ error: MediaFileError) {
        state = .failed(error)
        // The other files are whole; what is not is told by the first failure.
        try? recording.finish()
        failed("The recording failed, the call goes on without it: \(error)")
    }

    func finish() {
        guard case .recording = state else { return }
        do throws(MediaFileError) {
            try recording.finish()
            // A call that came to nothing leaves the recorder to the next one.
            if !recording.files.isEmpty { state = .finished }
        } catch {
            fail(error)
        }
    }

    /// Ends all. The complete recordings, oldest first, and what another one failed of; neither when nothing came that
    /// could be recorded.
    func completed() -> (files: [URL], failure: CommandError?) {
        finish()
        guard case .failed(let error) = state else { return (recording.files, nil) }
        return (recording.files, CommandError("The recording failed: \(error)"))
    }
}
