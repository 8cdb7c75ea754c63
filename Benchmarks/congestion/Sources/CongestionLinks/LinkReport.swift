import RTCEngine

/// What a run has shown.
public struct LinkReport: Sendable {
    public let profile: LinkProfile
    public let samples: [LinkSimulation.Sample]
    /// Complete pictures, by flow.
    public let framesReceived: [Int]

    private func window(_ from: Double, _ until: Double?) -> [LinkSimulation.Sample] {
        samples.filter { $0.at.seconds > from && $0.at.seconds <= (until ?? .infinity) }
    }

    /// The part of the link's capacity that came out as packets of a flow, or of all.
    public func utilisation(of flow: Int? = nil, from: Double = 0, until: Double? = nil) -> Double {
        let window = window(from, until)
        let capacity = window.reduce(0) { $0 + $1.capacity.value }
        let used = window.reduce(0.0) { sum, sample in
            sum + (flow.map { sample.received[$0].value } ?? sample.received.reduce(0) { $0 + $1.value })
        }
        return capacity > 0 ? used / capacity : 0
    }

    /// The queue's delay in milliseconds that a share of the samples does not exceed.
    public func queueDelay(share: Double = 0.95, from: Double = 0, until: Double? = nil) -> Double {
        let delays = window(from, until).map(\.queueDelay.milliseconds).sorted()
        guard !delays.isEmpty else { return 0 }
        return delays[min(Int(Double(delays.count) * share), delays.count - 1)]
    }

    /// Seconds from a moment until the flow's estimate reaches a share of the capacity and, smoothed over a second,
    /// what comes out does too; nil if it never does.
    public func timeToReach(_ share: Double, of flow: Int = 0, from: Double = 0, until: Double? = nil) -> Double? {
        let window = window(from, until)
        for index in window.indices {
            let second = window[max(0, index - 9)...index]
            let mean = second.reduce(0) { $0 + $1.received[flow].value } / Double(second.count)
            if mean >= window[index].capacity.value * share { return window[index].at.seconds - from }
        }
        return nil
    }

    /// Seconds from a moment until the queue's delay is, and for a second stays, below a bound.
    public func timeToDrain(below milliseconds: Double, from: Double, until: Double? = nil) -> Double? {
        let window = window(from, until)
        guard window.count >= 10 else { return nil }
        for index in 0...(window.count - 10)
        where window[index..<index + 10].allSatisfy({ $0.queueDelay.milliseconds <= milliseconds }) {
            return window[index].at.seconds - from
        }
        return nil
    }

    /// Packets dropped at the tail of the queue.
    public func dropped(from: Double = 0) -> Int {
        (samples.last?.dropped ?? 0) - (samples.last { $0.at.seconds <= from }?.dropped ?? 0)
    }

    /// The samples as lines of a table.
    public var csv: String {
        let names = profile.flows.indices.flatMap { ["target_\($0)_kbps", "received_\($0)_kbps"] }
        var lines = [(["time_s", "capacity_kbps", "queue_ms", "dropped", "lost"] + names).joined(separator: ",")]
        for sample in samples {
            var fields = [
                "\(sample.at.milliseconds / 1_000)", "\(sample.capacity.bitsPerSecond / 1_000)",
                "\(sample.queueDelay.milliseconds)", "\(sample.dropped)", "\(sample.lost)",
            ]
            for flow in profile.flows.indices {
                fields.append("\(sample.targets[flow].bitsPerSecond / 1_000)")
                fields.append("\(sample.received[flow].bitsPerSecond / 1_000)")
            }
            lines.append(fields.joined(separator: ","))
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
