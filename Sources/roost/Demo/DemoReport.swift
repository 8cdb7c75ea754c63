internal import Foundation
internal import MediaFiles

/// Makes the demo's page.
enum DemoReport {
    static func make(
        _ results: [DemoResult], codec: String, duration: Double, wasInterrupted: Bool
    ) -> CallReport {
        let faults = results.flatMap(\.faults)
        var report = CallReport(
            title: "A call between two processes",
            subtitle: "\(Date().formatted(.iso8601)) · \(codec) and Opus over UDP on 127.0.0.1",
            verdict: faults.isEmpty ? (wasInterrupted ? .interrupted : .passed) : .failed,
            summary: summary(isFaultless: faults.isEmpty, wasInterrupted), duration: duration)
        for result in results { add(result, to: &report) }
        report.plots = [
            plot("Bitrate received", "kbit/s", results) { ($0.videoBitrate + $0.audioBitrate) / 1_000 },
            plot("Jitter", "ms", results) { $0.jitter },
            plot("Round trip", "ms", results) { $0.roundTrip },
            plot("Packets lost", "packets", results) { $0.lost },
        ]
        report.tables = [
            CallReport.Table(
                title: "At the end",
                header: ["", "frames decoded", "frame counters read", "seconds of tones", "packets", "packets lost"],
                rows: results.map { result in
                    [
                        result.name, "\(result.check?.pictures.count ?? 0)",
                        "\(result.check.map { $0.pictures.count - $0.pictures.unreadable } ?? 0)",
                        String(format: "%.1f", result.check?.sound.heard ?? 0),
                        "\(Int(result.samples.last?.packets ?? 0))",
                        "\(Int(result.samples.last?.lost ?? 0))",
                    ]
                })
        ]
        return report
    }

    private static func summary(isFaultless: Bool, _ wasInterrupted: Bool) -> String {
        switch (isFaultless, wasInterrupted) {
        case (true, false):
            "Both sides received the frames that were sent, in order, none twice and none missing."
        case (true, true): "The demo was interrupted before the call's end. What arrived until then was as sent."
        case (false, false): "Not everything arrived as it was sent."
        case (false, true): "The demo was interrupted, and not everything until then was as sent."
        }
    }

    private static func add(_ result: DemoResult, to report: inout CallReport) {
        report.checks.append(
            CallReport.Check(
                name: "\(result.name) received what was sent", verdict: result.faults.isEmpty ? .passed : .failed,
                detail: result.verdict))
        for event in result.events {
            guard let state = event.state else { continue }
            report.states.append(
                CallReport.State(lane: result.name, name: event.message, start: event.time, tone: tone(state)))
        }
        for (index, picture) in (result.check?.thumbnails ?? []).enumerated() where !picture.isEmpty {
            let place = ["first", "middle", "last"][min(index, 2)]
            report.thumbnails.append(
                CallReport.Thumbnail(
                    caption: "\(result.name): \(place) frame received", format: .png, bytes: [UInt8](picture)))
        }
    }

    private static func tone(_ state: String) -> CallReport.State.Tone {
        switch state {
        case "connected": .good
        case "offering", "answering", "connecting": .working
        case "reconnectingMedia": .bad
        default: .neutral
        }
    }

    private static func plot(
        _ title: String, _ unit: String, _ results: [DemoResult], _ value: (DemoPeer.Sample) -> Double?
    ) -> CallReport.Plot {
        CallReport.Plot(
            title: title, unit: unit,
            lines: results.map { result in
                CallReport.Plot.Line(
                    name: result.name,
                    points: result.samples.compactMap { sample in
                        value(sample).map { CallReport.Plot.Point(time: sample.time, value: $0) }
                    })
            })
    }
}
