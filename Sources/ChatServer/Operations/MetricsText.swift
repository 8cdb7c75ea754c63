/// Prometheus' text format (0.0.4), as it grows: of the chat, and of all else that `roost serve` counts. Names are
/// written whole where they are added, so that whoever meets one in `/metrics` finds it by searching for it.
package struct MetricsText {
    package private(set) var text = ""

    package init() {}

    package enum Kind: String { case counter, gauge, histogram }

    package mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
        add(name, kind, help, [([], value)])
    }

    package mutating func add(
        _ name: String, _ kind: Kind, _ help: String, _ values: [(labels: [(String, String)], value: Int)]
    ) {
        begin(name, kind, help)
        for (labels, value) in values { line(name, labels, "\(value)") }
    }

    mutating func add(
        _ name: String, _ help: String, _ histograms: [(labels: [(String, String)], histogram: DurationHistogram)]
    ) {
        begin(name, .histogram, help)
        for (labels, histogram) in histograms {
            let (upTo, count, seconds) = histogram.snapshot
            for (bound, number) in zip(DurationHistogram.bounds, upTo) {
                line(name + "_bucket", labels + [("le", Self.text(bound))], "\(number)")
            }
            line(name + "_bucket", labels + [("le", "+Inf")], "\(count)")
            line(name + "_sum", labels, "\(seconds)")
            line(name + "_count", labels, "\(count)")
        }
    }

    private mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    private mutating func line(_ name: String, _ labels: [(String, String)], _ value: String) {
        let listed = labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        text += name + (labels.isEmpty ? "" : "{\(listed)}") + " \(value)\n"
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    /// `1`, not `1.0`: as other programs write bounds.
    private static func text(_ bound: Double) -> String {
        bound == bound.rounded() ? "\(Int(bound))" : "\(bound)"
    }
}
