internal import Foundation
internal import MediaFiles

/// What became of one side of the demo's call.
struct DemoResult: Sendable {
    let name: String
    let events: [DemoPeer.Event]
    let samples: [DemoPeer.Sample]
    let recording: URL?
    let check: RecordingCheck?
    /// Empty when all is well.
    let faults: [String]

    /// - Parameter expectedSeconds: How long the call was to be; nil when the demo was interrupted, and what came until
    ///   then is all that can be expected.
    init(_ peer: DemoPeer, status: Int32, expectedSeconds: Double?, ffmpeg: URL) async {
        name = peer.name
        events = await peer.events
        samples = await peer.samples
        recording = await peer.recording
        var faults: [String] = []
        if status != 0 {
            let reason = await peer.problem ?? "no reason given"
            faults.append("its process ended with status \(status): \(reason)")
        }
        var check: RecordingCheck?
        if let recording {
            do {
                let made = try RecordingCheck(recording, ffmpeg: ffmpeg)
                // The call lasts from "connected" to the hang-up; the first frame and the last may miss a moment of it.
                faults += made.faults(atLeast: max(0, (expectedSeconds ?? 0) - 1))
                check = made
            } catch {
                faults.append("its recording cannot be decoded: \(error)")
            }
        } else if expectedSeconds != nil {
            faults.append("nothing was recorded")
        }
        self.check = check
        self.faults = faults
    }

    /// One sentence.
    var verdict: String {
        guard faults.isEmpty else { return "failed: " + faults.joined(separator: "; ") }
        guard let check else { return "nothing was recorded until then" }
        return """
            received \(check.pictures.count) frames, each the next one that was sent, and \(Int(check.sound.heard.rounded())) s \
            of the test tones, in their order
            """
    }
}
