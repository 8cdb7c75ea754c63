internal import Foundation

/// What became of one side of the demo's call.
struct DemoResult: Sendable {
    let name: String
    let events: [DemoPeer.Event]
    let samples: [DemoPeer.Sample]
    let recording: URL?
    let check: RecordingCheck?
    /// Empty when all is well.
    let faults: [String]

    init(_ peer: DemoPeer, status: Int32, expectedSeconds: Double, ffmpeg: URL) async throws {
        name = peer.name
        events = await peer.events
        samples = await peer.samples
        recording = await peer.recording
        var faults: [String] = []
        if status != 0 {
            faults.append("the process ended with status \(status): \(await peer.problem ?? "no reason given")")
        }
        if let recording {
            let check = try RecordingCheck(recording, ffmpeg: ffmpeg)
            // The call lasts from "connected" to the hang-up; the first frame and the last may miss a moment of it.
            faults += check.faults(expectedFrames: Int((expectedSeconds - 1) * 30))
            self.check = check
        } else {
            faults.append("nothing was recorded")
            check = nil
        }
        self.faults = faults
    }

    /// One sentence.
    var verdict: String {
        guard faults.isEmpty, let check else { return "failed: " + faults.joined(separator: "; ") }
        return
            "received \(check.frames) frames, each the next one that was sent, and \(check.tones.count) s of the test tones"
    }
}
