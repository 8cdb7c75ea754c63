/// Draws one plot of a report as SVG: a grid, axes with round numbers, and a line for each series.
struct ReportPlot {
    /// How many line colours the style sheet has.
    static let colors = 4

    private static let size = (width: 560.0, height: 200.0)
    private static let margin = (left: 48.0, right: 12.0, top: 10.0, bottom: 26.0)
    /// More points than pixels show nothing more; the page stays small.
    private static let maximumPoints = 560

    let plot: CallReport.Plot
    let duration: Double

    var svg: String {
        let lines = plot.lines.map { line in
            line.points.filter { Self.isDrawable($0.time) && Self.isDrawable($0.value) && $0.time >= 0 }
        }
        let latest = lines.joined().map(\.time).max() ?? 0
        let end = max(Self.isDrawable(duration) ? duration : 0, latest, 0.001)
        let valueStep = Self.roundStep(max(lines.joined().map(\.value).max() ?? 0, 0) / 3)
        let top = valueStep * max(1, ((lines.joined().map(\.value).max() ?? 0) / valueStep).rounded(.up))
        let timeStep = Self.roundStep(end / 6)
        func x(_ time: Double) -> Double {
            Self.margin.left + time / end * (Self.size.width - Self.margin.left - Self.margin.right)
        }
        func y(_ value: Double) -> Double {
            let height = Self.size.height - Self.margin.top - Self.margin.bottom
            return Self.margin.top + (1 - min(max(value, 0), top) / top) * height
        }

        var parts: [String] = []
        for value in stride(from: 0, through: top * 1.001, by: valueStep) {
            let place = Self.text(y(value))
            parts.append(
                "<line class=\"grid\" x1=\"\(Self.margin.left)\" x2=\"\(Self.size.width - Self.margin.right)\" y1=\"\(place)\" y2=\"\(place)\"/>"
            )
            parts.append(
                "<text class=\"tick\" text-anchor=\"end\" x=\"\(Self.margin.left - 6)\" y=\"\(Self.text(y(value) + 4))\">\(Self.label(value))</text>"
            )
        }
        for time in stride(from: 0, through: end * 1.001, by: timeStep) {
            parts.append(
                "<text class=\"tick\" text-anchor=\"middle\" x=\"\(Self.text(x(time)))\" y=\"\(Self.size.height - 8)\">\(Self.label(time)) s</text>"
            )
        }
        for (index, points) in lines.enumerated() where !points.isEmpty {
            let step = max(1, points.count / Self.maximumPoints)
            let path = stride(from: 0, to: points.count, by: step).map { offset in
                "\(offset == 0 ? "M" : "L")\(Self.text(x(points[offset].time))) \(Self.text(y(points[offset].value)))"
            }
            parts.append("<path class=\"line\(index % Self.colors)\" d=\"\(path.joined())\"/>")
        }
        return """
            <svg viewBox="0 0 \(Int(Self.size.width)) \(Int(Self.size.height))" role="img" aria-label="\(CallReport.escape(description(lines)))">
            <title>\(CallReport.escape(description(lines)))</title>
            \(parts.joined(separator: "\n"))
            </svg>
            """
    }

    /// What the plot shows, for those who do not see it.
    private func description(_ lines: [[CallReport.Plot.Point]]) -> String {
        let parts = zip(plot.lines, lines).map { line, points in
            guard let lowest = points.map(\.value).min(), let highest = points.map(\.value).max() else {
                return "\(line.name): no data"
            }
            return "\(line.name): \(Self.label(lowest)) to \(Self.label(highest)) \(plot.unit)"
        }
        return "\(plot.title). \(parts.joined(separator: "; "))"
    }

    /// Numbers beyond this are errors of whoever measured; they would also make endless axes.
    static func isDrawable(_ value: Double) -> Bool { value.isFinite && abs(value) < 1e12 }

    /// The smallest of 1, 2, 5, 10, … that is at least `value`.
    static func roundStep(_ value: Double) -> Double {
        guard isDrawable(value), value > 1e-9 else { return 1 }
        var power = 1.0
        while power * 10 <= value { power *= 10 }
        while power > value { power /= 10 }
        for factor in [1.0, 2, 5] where power * factor >= value { return power * factor }
        return power * 10
    }

    /// A coordinate, to a tenth.
    static func text(_ value: Double) -> String {
        let tenths = (min(max(value, -1e6), 1e6) * 10).rounded() / 10
        return tenths == tenths.rounded() ? String(Int(tenths)) : String(tenths)
    }

    /// A number on an axis: at most three digits after the point, and none that say nothing.
    static func label(_ value: Double) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "–" }
        if value == value.rounded() { return String(Int(value)) }
        let thousandths = (value * 1_000).rounded() / 1_000
        return abs(value) < 1e9 && thousandths == thousandths.rounded()
            ? String(Int(thousandths)) : String(thousandths)
    }
}
