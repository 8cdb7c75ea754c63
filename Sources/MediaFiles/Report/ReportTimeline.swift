/// Draws the states of a call as SVG: a row for each lane, a bar for each state.
struct ReportTimeline {
    private static let width = 1_120.0
    private static let labelWidth = 170.0
    private static let rowHeight = 34.0
    /// Bars narrower than this hold no text; their title tells the name.
    private static let minimumTextWidth = 7.5

    let states: [CallReport.State]
    let duration: Double

    private struct Lane {
        var name: String
        var states: [CallReport.State]
    }

    var svg: String {
        let known = states.filter { ReportPlot.isDrawable($0.start) && $0.start >= 0 }
        var lanes: [Lane] = []
        for state in known {
            if let index = lanes.firstIndex(where: { $0.name == state.lane }) {
                lanes[index].states.append(state)
            } else {
                lanes.append(Lane(name: state.lane, states: [state]))
            }
        }
        let end = max(ReportPlot.isDrawable(duration) ? duration : 0, known.map(\.start).max() ?? 0, 0.001)
        let height = Double(lanes.count) * Self.rowHeight + 26
        func x(_ time: Double) -> Double { Self.labelWidth + time / end * (Self.width - Self.labelWidth - 12) }

        var parts: [String] = []
        let step = ReportPlot.roundStep(end / 8)
        for time in stride(from: 0, through: end * 1.001, by: step) {
            let place = ReportPlot.text(x(time))
            parts.append("<line class=\"grid\" x1=\"\(place)\" x2=\"\(place)\" y1=\"0\" y2=\"\(height - 22)\"/>")
            parts.append(
                "<text class=\"tick\" text-anchor=\"middle\" x=\"\(place)\" y=\"\(height - 6)\">\(ReportPlot.label(time)) s</text>"
            )
        }
        for (row, lane) in lanes.enumerated() {
            let top = Double(row) * Self.rowHeight
            parts.append("<text class=\"lane\" x=\"0\" y=\"\(top + 21)\">\(CallReport.escape(lane.name))</text>")
            let ordered = lane.states.sorted { $0.start < $1.start }
            for (index, state) in ordered.enumerated() {
                let until = index + 1 < ordered.count ? ordered[index + 1].start : end
                parts.append(bar(state, until: until, from: x(state.start), to: x(until), top: top))
            }
        }
        let sentence = lanes.map { lane in
            let names = lane.states.sorted { $0.start < $1.start }.map {
                "\($0.name) at \(ReportPlot.label($0.start)) s"
            }
            return "\(lane.name): \(names.joined(separator: ", "))"
        }
        return """
            <svg class="timeline" viewBox="0 0 \(Int(Self.width)) \(Int(height))" role="img" aria-label="Timeline of states">
            <title>Timeline of states</title>
            <desc>\(CallReport.escape(sentence.joined(separator: ". ")))</desc>
            \(parts.joined(separator: "\n"))
            </svg>
            """
    }

    private func bar(_ state: CallReport.State, until: Double, from: Double, to: Double, top: Double) -> String {
        let width = max(to - from - 1.5, 2)
        let name = CallReport.escape(state.name)
        let title = "\(name), \(ReportPlot.label(state.start)) to \(ReportPlot.label(until)) s"
        let fits = Double(state.name.count) * Self.minimumTextWidth + 12 < width
        let text = fits ? "<text x=\"\(ReportPlot.text(from + 8))\" y=\"\(top + 21)\">\(name)</text>" : ""
        return """
            <g class="bar \(state.tone.rawValue)"><title>\(title)</title>\
            <rect x="\(ReportPlot.text(from))" y="\(top + 4)" width="\(ReportPlot.text(width))" height="26" rx="6"/>\(text)</g>
            """
    }
}
