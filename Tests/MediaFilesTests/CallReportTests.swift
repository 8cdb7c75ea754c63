import Foundation
import MediaFiles
import Testing

@Suite struct `The call report` {
    private var report: CallReport {
        var report = CallReport(
            title: "Call of <Ada> & Bob", subtitle: "H.264 and Opus, 10 s", verdict: .passed,
            summary: "Both sides received every frame.", duration: 10)
        report.checks = [
            .init(name: "Frames received", verdict: .passed, detail: "300 of 300"),
            .init(name: "Tones heard", verdict: .passed, detail: "10 of 10 seconds"),
            .init(name: "Time to first picture", verdict: .warning, detail: "812 ms, more than 500 ms"),
            .init(name: "Ends cleanly", verdict: .failed, detail: "no BYE was seen"),
        ]
        report.states = [
            .init(lane: "Caller: signaling", name: "offer sent", start: 0, tone: .working),
            .init(lane: "Caller: signaling", name: "stable", start: 0.6, tone: .good),
            .init(lane: "Caller: connection", name: "new", start: 0, tone: .neutral),
            .init(lane: "Caller: connection", name: "connecting", start: 0.5, tone: .working),
            .init(lane: "Caller: connection", name: "connected", start: 1.4, tone: .good),
            .init(lane: "Caller: connection", name: "disconnected", start: 7, tone: .bad),
            .init(lane: "Callee: connection", name: "connecting", start: 0.2, tone: .working),
            .init(lane: "Callee: connection", name: "connected", start: 1.5, tone: .good),
        ]
        for (title, unit, scale) in [
            ("Bitrate", "kbit/s", 500.0), ("Jitter", "ms", 4), ("Round trip", "ms", 31), ("Loss", "%", 1.2),
        ] {
            let lines = ["Caller", "Callee"].enumerated().map { index, name in
                CallReport.Plot.Line(
                    name: name,
                    points: (0...100).map {
                        let time = Double($0) / 10
                        return .init(time: time, value: scale * (1 + 0.3 * sin(time * 2 + Double(index))))
                    })
            }
            report.plots.append(.init(title: title, unit: unit, lines: lines))
        }
        report.tables = [
            .init(
                title: "Statistics", header: ["", "Caller", "Callee"],
                rows: [
                    ["Packets sent", "1,812", "1,807"], ["Packets lost", "3", "0"], ["Key-frame requests", "1", "0"],
                ])
        ]
        return report
    }

    @Test func `is one page without script or outside resource`() {
        let html = report.html
        #expect(html.hasPrefix("<!doctype html>"))
        for word in ["http:", "https:", "<script", "@import", "url(", "NaN", "inf "] {
            #expect(!html.contains(word), "\(word)")
        }
        #expect(html.components(separatedBy: "<svg").count == 6)
        if let path = ProcessInfo.processInfo.environment["ROOST_REPORT_SAMPLE"] {
            try? html.write(toFile: path, atomically: true, encoding: .utf8)
        }
    }

    @Test func `escapes what it is given`() {
        #expect(report.html.contains("<h1>Call of &lt;Ada&gt; &amp; Bob</h1>"))
        var hostile = report
        hostile.thumbnails = [.init(caption: "\"><script>", format: .png, bytes: [1, 2, 3])]
        #expect(hostile.html.contains("<img src=\"data:image/png;base64,AQID\" alt=\"&quot;&gt;&lt;script&gt;\">"))
    }

    @Test func `says to a screen reader what a plot shows`() {
        #expect(report.html.contains("aria-label=\"Round trip. Caller: 21."))
    }

    @Test func `odd numbers and nothing at all are drawn`() {
        var odd = CallReport(title: "", subtitle: "", verdict: .failed, summary: "", duration: .nan)
        #expect(odd.html.contains("Failed"))
        let values: [Double] = [.nan, .infinity, -.infinity, -5, 1e300, 0, 1e-300]
        odd.plots = [
            .init(title: "Odd", unit: "", lines: [.init(name: "a", points: values.map { .init(time: $0, value: $0) })])
        ]
        odd.states = values.map { .init(lane: "a", name: "b", start: $0, tone: .neutral) }
        odd.tables = [.init(title: "Empty", header: [], rows: [[]])]
        #expect(odd.html.hasSuffix("</html>\n"))
    }

    @Test func `is kept as JSON`() throws {
        let data = try JSONEncoder().encode(report)
        #expect(try JSONDecoder().decode(CallReport.self, from: data) == report)
    }
}
