import Foundation

/// What received sound says about the way of the test tones: one after the other, a second each.
public struct ToneSequence: Sendable, Equatable {
    /// In Hz, in the order in which `Media/frame_counter.py` plays them.
    public static let tones: [Double] = [440, 494, 554, 587, 659, 740, 831, 880, 988, 1_109]
    /// How the sound is to be given: samples a second.
    public static let sampleRate = 8_000
    /// Windows a second.
    private static let resolution = 8

    /// Which tone is heard in each eighth of a second; nil where it is none of them alone.
    private let windows: [Int?]

    /// - Parameter samples: One channel, `sampleRate` a second.
    public init(_ samples: [Int16]) {
        let size = Self.sampleRate / Self.resolution
        windows = stride(from: 0, to: samples.count - size + 1, by: size).map { Self.tone(samples[$0..<$0 + size]) }
    }

    /// How long it is, in seconds.
    public var duration: Double { Double(windows.count) / Double(Self.resolution) }
    /// How much of it is one of the tones, in seconds.
    public var heard: Double { Double(windows.lazy.compactMap(\.self).count) / Double(Self.resolution) }

    /// Sentences about what is wrong; none when the tones were heard for at least so many seconds, in their order.
    public func faults(atLeast expected: Double) -> [String] {
        var faults: [String] = []
        var runs: [(tone: Int, windows: Int)] = []
        var silence = 0
        var longestSilence = 0
        for window in windows {
            guard let window else {
                silence += 1
                longestSilence = max(longestSilence, silence)
                continue
            }
            silence = 0
            if runs.last?.tone == window { runs[runs.count - 1].windows += 1 } else { runs.append((window, 1)) }
        }
        if heard < expected {
            faults.append("the test tones are heard for \(Self.text(heard)) s of at least \(Self.text(expected)) s")
        }
        // Where a tone begins, and in the first moments of a call, a window or two hold no tone alone.
        if longestSilence > Self.resolution / 2 {
            faults.append("no tone is heard for \(Self.text(Double(longestSilence) / Double(Self.resolution))) s")
        }
        let inOrder = zip(runs, runs.dropFirst()).allSatisfy { $1.tone == ($0.tone + 1) % Self.tones.count }
        if !inOrder { faults.append("the test tones do not come in their order") }
        if runs.contains(where: { $0.windows > Self.resolution * 3 / 2 }) {
            faults.append("a test tone lasts longer than it was sent")
        }
        return faults
    }

    private static func text(_ seconds: Double) -> String { ReportPlot.label((seconds * 10).rounded() / 10) }

    /// The tone that has most of a window's power, by Goertzel's algorithm.
    private static func tone(_ samples: ArraySlice<Int16>) -> Int? {
        let values = samples.map(Double.init)
        let power = values.reduce(0) { $0 + $1 * $1 }
        guard power > 10_000 * Double(values.count) else { return nil }
        let shares = tones.map { goertzel(values, $0) * 2 / Double(values.count) / power }
        guard let best = shares.indices.max(by: { shares[$0] < shares[$1] }), shares[best] > 0.6 else { return nil }
        return best
    }

    private static func goertzel(_ samples: [Double], _ frequency: Double) -> Double {
        let coefficient = 2 * cos(2 * Double.pi * frequency / Double(sampleRate))
        var previous = 0.0
        var beforePrevious = 0.0
        for sample in samples {
            (previous, beforePrevious) = (sample + coefficient * previous - beforePrevious, previous)
        }
        return previous * previous + beforePrevious * beforePrevious - coefficient * previous * beforePrevious
    }
}
