internal import ArgumentParser
internal import RTCEngine

/// A length of time on the command line: `10s`, `1.5m`, `500ms`, or plain seconds.
struct TimeSpan: ExpressibleByArgument {
    let duration: Duration

    init(_ duration: Duration) { self.duration = duration }

    init?(argument: String) {
        let units: [(suffix: String, seconds: Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3_600), ("", 1)]
        for unit in units where argument.hasSuffix(unit.suffix) {
            guard let value = Double(argument.dropLast(unit.suffix.count)), value >= 0, value < 1e6 else { continue }
            duration = .milliseconds(Int64(value * unit.seconds * 1_000))
            return
        }
        return nil
    }

    var interval: Interval { Interval(duration) }

    var defaultValueDescription: String {
        let seconds = duration.components.seconds
        return seconds >= 3_600 && seconds % 3_600 == 0 ? "\(seconds / 3_600)h" : "\(seconds)s"
    }
}

extension Duration {
    /// `120 s`, `0.5 s`.
    var text: String {
        let seconds = Double(components.seconds) + Double(components.attoseconds) / 1e18
        return seconds == seconds.rounded() ? "\(components.seconds) s" : "\(seconds) s"
    }
}
