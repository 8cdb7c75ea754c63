internal import Foundation

/// One side of the demo's call: a `roost call` process, and what it has told so far.
actor DemoPeer {
    struct Event: Sendable {
        var time: Double
        var name: String
        var message: String
        var state: String?
    }

    /// One second's statistics, as `roost call --json` prints them.
    struct Sample: Sendable {
        var time: Double
        var videoBitrate: Double
        var audioBitrate: Double
        var jitter: Double?
        var roundTrip: Double?
        var lost: Double
        var packets: Double
        var frames: Double
    }

    nonisolated let name: String
    private let process: ChildProcess
    private let began: ContinuousClock.Instant
    private(set) var events: [Event] = []
    private(set) var samples: [Sample] = []
    private(set) var recording: URL?
    private(set) var problem: String?

    init(name: String, executable: URL, arguments: [String], began: ContinuousClock.Instant) throws {
        self.name = name
        self.began = began
        process = try ChildProcess(executable, arguments)
    }

    /// Reads what the process prints, to its end. Returns its exit status.
    func follow() async -> Int32 {
        // The process counts from its own start; the demo's timeline has one origin.
        let offset = (ContinuousClock.now - began).seconds
        for await line in process.lines { take(line, offset: offset) }
        return await process.status()
    }

    nonisolated func interrupt() { process.interrupt() }

    /// Ends it after it has not ended by itself in time.
    func giveUp(after seconds: Double) {
        guard process.isRunning else { return }
        problem = "it did not end within \(Int(seconds)) s and was stopped"
        process.kill()
    }

    /// A few words for the live line.
    var summary: String {
        let state = events.last { $0.state != nil }?.state ?? "starting"
        guard let sample = samples.last else { return "\(name) \(state)" }
        let trip = sample.roundTrip.map { String(format: "%.1f ms", $0) } ?? "–"
        return String(
            format: "%@ %@ %.0f kbit/s, rtt %@, lost %.0f, %.0f frames", name, state,
            (sample.videoBitrate + sample.audioBitrate) / 1_000, trip, sample.lost, sample.frames)
    }

    private func take(_ line: String, offset: Double) {
        guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
            let name = object["event"] as? String
        else { return }
        let time = ((object["time"] as? NSNumber)?.doubleValue ?? 0) + offset
        let message = object["message"] as? String ?? ""
        switch name {
        case "statistics": samples.append(sample(object, time))
        case "recording": recording = (object["path"] as? String).map { URL(filePath: $0) }
        case "error": problem = message
        default: events.append(Event(time: time, name: name, message: message, state: object["state"] as? String))
        }
    }

    private func sample(_ object: [String: Any], _ time: Double) -> Sample {
        func number(_ flow: String, _ key: String) -> Double? {
            ((object[flow] as? [String: Any])?[key] as? NSNumber)?.doubleValue
        }
        return Sample(
            time: time, videoBitrate: number("video_received", "bitrate") ?? 0,
            audioBitrate: number("audio_received", "bitrate") ?? 0, jitter: number("video_received", "jitter_ms"),
            roundTrip: (object["round_trip_ms"] as? NSNumber)?.doubleValue,
            lost: (number("video_received", "packets_lost") ?? 0) + (number("audio_received", "packets_lost") ?? 0),
            packets: (number("video_received", "packets") ?? 0) + (number("audio_received", "packets") ?? 0),
            frames: number("video_received", "frames") ?? 0)
    }
}

extension Duration {
    /// With fractions.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
