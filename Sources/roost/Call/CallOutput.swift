internal import ClientFeatures
internal import ClientKit
internal import Foundation
internal import MediaFiles

/// What `roost call` prints: sentences for people, or one JSON object a line for programs.
@MainActor
final class CallOutput {
    enum Style { case text, json }

    let style: Style
    private let started = ContinuousClock.now
    private var last: QuickCallSnapshot?
    /// Called once, when nobody reads any more.
    var onReaderGone: () -> Void = {}
    private var hasReader = true

    init(style: Style) { self.style = style }

    /// Prints what has changed since the last snapshot.
    func show(_ snapshot: QuickCallSnapshot) {
        defer { last = snapshot }
        if let room = snapshot.room {
            // That nothing is connected yet goes without saying.
            if room.connection != last?.room?.connection ?? .disconnected { say("room", room.connectionText, [:]) }
            // Right after joining nothing is known yet; a server that says who is there does so at once.
            if let text = room.peerText, text != last?.room?.peerText, room.presence != .unknown {
                say("presence", text, [:])
            }
            if let notice = room.notice, notice != last?.room?.notice { say("notice", notice, [:]) }
        }
        guard let chat = snapshot.videoChat else { return }
        if chat.call != last?.videoChat?.call {
            say("state", chat.callText, ["state": .text(chat.call.name), "because": .text(chat.because)])
        }
        if let notice = chat.notice, notice != last?.videoChat?.notice { say("notice", notice, [:]) }
        if chat.hasPicture, last?.videoChat?.hasPicture != true { say("video", "Their picture arrives.", [:]) }
        if let statistics = chat.statistics, statistics != last?.videoChat?.statistics {
            say("statistics", statistics.line, statistics.fields)
        }
    }

    /// The recordings are complete; none when nothing came that could be recorded.
    func recorded(_ files: [URL]) {
        if files.isEmpty { say("notice", "Nothing was received that could be recorded.", [:]) }
        for file in files { say("recording", "Recorded \(file.path)", ["path": .text(file.path)]) }
    }

    /// Something to know that does not end the call.
    func notice(_ sentence: String) { say("notice", sentence, [:]) }

    func failed(_ sentence: String) {
        if style == .json { say("error", sentence, [:]) }
        Console.fail(sentence.printable)
    }

    func say(_ event: String, _ sentence: String, _ fields: [String: JSONField]) {
        let elapsed = ContinuousClock.now - started
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let line: String
        switch style {
        case .text:
            line = String(format: "%7.2f  ", seconds) + sentence.printable
        case .json:
            var fields = fields
            fields["event"] = .text(event)
            fields["time"] = .number((seconds * 1_000).rounded() / 1_000)
            fields["message"] = .text(sentence)
            line = JSONField.object(fields).json
        }
        guard hasReader, !Console.say(line) else { return }
        hasReader = false
        onReaderGone()
    }
}

/// Just enough JSON for a line of output, with its keys in order.
enum JSONField {
    case text(String)
    case number(Double)
    case flag(Bool)
    case list([JSONField])
    case object([String: JSONField])

    var json: String {
        switch self {
        case .text(let text):
            let data = (try? JSONEncoder().encode(text)) ?? Data("\"\"".utf8)
            return String(decoding: data, as: UTF8.self)
        case .number(let number):
            return number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : String(number)
        case .flag(let isTrue): return isTrue ? "true" : "false"
        case .list(let elements): return "[" + elements.map(\.json).joined(separator: ",") + "]"
        case .object(let fields):
            let members = fields.sorted { $0.key < $1.key }.map { "\(JSONField.text($0.key).json):\($0.value.json)" }
            return "{" + members.joined(separator: ",") + "}"
        }
    }
}

extension VideoChatState {
    /// Pictures have come, not only the promise of them.
    fileprivate var hasPicture: Bool { (statistics?.videoReceived?.frames ?? 0) > 0 }
}

extension CallState {
    /// One word, for programs.
    var name: String {
        switch self {
        case .idle: "idle"
        case .waitingForOffer: "waitingForOffer"
        case .offering: "offering"
        case .answering: "answering"
        case .connecting: "connecting"
        case .connected: "connected"
        case .reconnectingMedia: "reconnectingMedia"
        case .ended: "ended"
        }
    }
}

extension CallStatistics {
    /// One line for people.
    var line: String {
        func flow(_ name: String, _ flow: Flow?) -> String {
            guard let flow else { return "" }
            let rate =
                flow.bitrate >= 1_000_000
                ? String(format: "%.1f Mbit/s", Double(flow.bitrate) / 1e6) : "\(flow.bitrate / 1_000) kbit/s"
            return "  \(name) \(rate), \(flow.frames) frames, \(String(format: "%.1f", flow.lossRatio * 100)) % lost"
        }
        let trip = roundTrip.map { String(format: "  round trip %.1f ms", milliseconds($0)) } ?? ""
        return "in:" + flow("video", videoReceived) + flow("audio", audioReceived) + trip
    }

    /// The same as fields; rates in bits a second, times in milliseconds.
    var fields: [String: JSONField] {
        var fields: [String: JSONField] = [:]
        for (name, flow) in [
            ("video_sent", videoSent), ("video_received", videoReceived), ("audio_sent", audioSent),
            ("audio_received", audioReceived),
        ] {
            guard let flow else { continue }
            var entry: [String: JSONField] = [
                "bitrate": .number(Double(flow.bitrate)), "packets": .number(Double(flow.packets)),
                "packets_lost": .number(Double(flow.packetsLost)), "frames": .number(Double(flow.frames)),
            ]
            if let codec = flow.codec { entry["codec"] = .text(codec) }
            if let jitter = flow.jitter { entry["jitter_ms"] = .number(milliseconds(jitter)) }
            if let rate = flow.frameRate { entry["frame_rate"] = .number(rate) }
            fields[name] = .object(entry)
        }
        if let roundTrip { fields["round_trip_ms"] = .number(milliseconds(roundTrip)) }
        if let route { fields["route"] = .text(route) }
        return fields
    }

    private func milliseconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return ((Double(seconds) * 1e3 + Double(attoseconds) / 1e15) * 1_000).rounded() / 1_000
    }
}
