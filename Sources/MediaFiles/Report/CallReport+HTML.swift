import Foundation

extension CallReport {
    /// One page of HTML without any external resource or script. Every text is escaped.
    public var html: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(Self.escape(title))</title>
        <style>
        \(Self.styleSheet)
        </style>
        </head>
        <body>
        <main>
        <header>
        <h1>\(Self.escape(title))</h1>
        <p class="subtitle">\(Self.escape(subtitle))</p>
        </header>
        <section class="verdict \(verdict.rawValue)" aria-label="Verdict">
        <span class="badge">\(verdict.label)</span>
        <p>\(Self.escape(summary))</p>
        </section>
        \(checksHTML)
        \(timelineHTML)
        \(plotsHTML)
        \(thumbnailsHTML)
        \(tables.map(Self.tableHTML).joined(separator: "\n"))
        </main>
        </body>
        </html>

        """
    }

    /// Text as it may stand in an element or in a quoted attribute.
    static func escape(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.append(character)
            }
        }
        return escaped
    }

    private var checksHTML: String {
        guard !checks.isEmpty else { return "" }
        let items = checks.map { check in
            """
            <li class="\(check.verdict.rawValue)"><span class="mark" aria-hidden="true">\(check.verdict.mark)</span>
            <div><strong>\(Self.escape(check.name))</strong>
            <span class="detail">\(Self.escape(check.detail))</span>
            <span class="hidden">\(check.verdict.label)</span></div></li>
            """
        }
        return section("Checks", "<ul class=\"checks\">\n\(items.joined(separator: "\n"))\n</ul>")
    }

    private var timelineHTML: String {
        guard !states.isEmpty else { return "" }
        return section(
            "Timeline", "<div class=\"card scrolls\">\(ReportTimeline(states: states, duration: duration).svg)</div>")
    }

    private var plotsHTML: String {
        guard !plots.isEmpty else { return "" }
        let figures = plots.map { plot in
            let legend = plot.lines.enumerated().map { index, line in
                "<span class=\"key line\(index % ReportPlot.colors)\">\(Self.escape(line.name))</span>"
            }
            return """
                <figure class="card">
                <figcaption><strong>\(Self.escape(plot.title))</strong> <span class="unit">\(Self.escape(plot.unit))</span>
                <span class="legend">\(legend.joined())</span></figcaption>
                \(ReportPlot(plot: plot, duration: duration).svg)
                </figure>
                """
        }
        return section("Over time", "<div class=\"plots\">\n\(figures.joined(separator: "\n"))\n</div>")
    }

    private var thumbnailsHTML: String {
        guard !thumbnails.isEmpty else { return "" }
        let figures = thumbnails.map { thumbnail in
            let data = Data(thumbnail.bytes).base64EncodedString()
            let caption = Self.escape(thumbnail.caption)
            return """
                <figure><img src="data:image/\(thumbnail.format.rawValue);base64,\(data)" alt="\(caption)">
                <figcaption>\(caption)</figcaption></figure>
                """
        }
        return section("Pictures received", "<div class=\"thumbnails\">\n\(figures.joined(separator: "\n"))\n</div>")
    }

    private static func tableHTML(_ table: Table) -> String {
        let head = table.header.map { "<th scope=\"col\">\(escape($0))</th>" }.joined()
        let rows = table.rows.map { row in
            let cells = row.enumerated().map { index, cell in
                index == 0 ? "<th scope=\"row\">\(escape(cell))</th>" : "<td>\(escape(cell))</td>"
            }
            return "<tr>\(cells.joined())</tr>"
        }
        return """
            <section><h2>\(escape(table.title))</h2>
            <div class="card scrolls" role="region" aria-label="\(escape(table.title))" tabindex="0"><table>
            <thead><tr>\(head)</tr></thead>
            <tbody>
            \(rows.joined(separator: "\n"))
            </tbody></table></div></section>
            """
    }

    private func section(_ title: String, _ content: String) -> String {
        "<section><h2>\(title)</h2>\n\(content)\n</section>"
    }
}

extension CallReport.Verdict {
    var label: String {
        switch self {
        case .passed: "Passed"
        case .failed: "Failed"
        case .warning: "Passed with a warning"
        case .interrupted: "Interrupted"
        }
    }

    var mark: String {
        switch self {
        case .passed: "✓"
        case .failed: "✕"
        case .warning, .interrupted: "!"
        }
    }
}
