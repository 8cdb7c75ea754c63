import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire

/// Writes the frames of one track; those of each simulcast layer, and of each codec, in a file of its own.
struct TrackSaver {
    let folder: String
    let number: Int

    /// What a file holds, so that frames find theirs.
    private struct Content: Hashable {
        var format: String
        var rid: String?
    }

    func save(_ transceiver: RTPTransceiver) async {
        var files: [Content: RecordingFile] = [:]
        var counts: [String: Int] = [:]
        var summaries: [String: FrameSummary] = [:]
        for await frame in transceiver.receiver.frames {
            let content = Content(format: "\(frame.format)", rid: frame.metadata.rid)
            do {
                let file = try files[content] ?? open(frame, content)
                if files[content] == nil { report(["event": "saving", "path": file.path, "format": content.format]) }
                files[content] = file
                try file.receive(frame, at: frame.receivedAt ?? NetworkLoop.now)
                counts[file.path, default: 0] += 1
                summaries[file.path, default: FrameSummary()].add(frame.metadata)
            } catch {
                report(["event": "failed", "reason": "\(error)"])
                return
            }
        }
        for file in files.values {
            try? file.finish()
            let known = ["event": "saved", "path": file.path, "frames": "\(counts[file.path] ?? 0)"]
            report(known.merging(summaries[file.path]?.fields ?? [:]) { known, _ in known })
        }
    }

    private func open(_ frame: EncodedFrame, _ content: Content) throws(MediaFileError) -> RecordingFile {
        let isVideo = frame.format.isVideo
        let containers = Recorder.containers(
            video: isVideo ? frame.format : nil, audio: isVideo ? nil : frame.format)
        // IVF keeps VP8, VP9 and AV1 as they are.
        guard let container = containers.contains(.ivf) ? .ivf : containers.first else { throw .unsupportedTracks }
        let layer = content.rid.map { "-\($0)" } ?? ""
        return try RecordingFile(
            path: "\(folder)/track\(number)-\(content.format)\(layer).\(container.fileExtension)",
            video: isVideo ? frame.format : nil, audio: isVideo ? nil : frame.format, container: container)
    }
}
