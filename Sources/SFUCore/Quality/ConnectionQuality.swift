public import RTCEngine

/// How good a participant's connection is, in one word. Ordered: `lost` is the worst.
public enum ConnectionQuality: UInt8, Sendable, Hashable, Comparable, CaseIterable {
    case lost
    case poor
    case good
    case excellent

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// What was measured of one track in one interval, or of one participant's path.
public struct QualityObservation: Sendable, Hashable {
    public enum Media: Sendable, Hashable {
        case audio
        /// Audio with redundancy (RFC 2198): most of what is lost comes again in a later packet.
        case redundantAudio
        case video
    }

    public var media: Media
    /// Packets that should have come, and those that did not, after all repairs.
    public var expectedPackets: Int
    public var lostPackets: Int
    public var roundTrip: Interval
    /// RFC 3550 §6.4.1.
    public var jitter: Interval
    /// The bitrate that should have come and that which did; for video only, and zero where it is not known.
    public var expectedBitrate: Bitrate
    public var receivedBitrate: Bitrate
    /// How many of the wanted spatial layers are not sent, or not forwarded.
    public var missingLayers: Int
    /// Whether the publisher has muted it, or nobody wants it: then it is no fault that nothing comes.
    public var isMuted: Bool

    public init(
        media: Media, expectedPackets: Int, lostPackets: Int = 0, roundTrip: Interval = .zero, jitter: Interval = .zero,
        expectedBitrate: Bitrate = .zero, receivedBitrate: Bitrate = .zero, missingLayers: Int = 0,
        isMuted: Bool = false
    ) {
        self.media = media
        self.expectedPackets = expectedPackets
        self.lostPackets = lostPackets
        self.roundTrip = roundTrip
        self.jitter = jitter
        self.expectedBitrate = expectedBitrate
        self.receivedBitrate = receivedBitrate
        self.missingLayers = missingLayers
        self.isMuted = isMuted
    }

    /// From 0 to 100, in the manner of the E-model (ITU-T G.107): a perfect connection less an impairment for each
    /// fault.
    ///
    /// * **Delay** d is half the round trip, and two jitters for the buffer that hides them: 0.024 d, and from 177.3 ms
    ///   on 0.11 (d − 177.3) more (G.107 §B.4's simplification by Cole and Rosenbluth), d in milliseconds.
    /// * **Loss** of p percent: 95 p / (p + b) (G.107 equation 7-29, of random loss). b is how much of it a decoder
    ///   conceals: 10 for Opus, 40 with redundancy, 6 for pictures, of which one lost packet stops several.
    /// * **Bitrate**: 40 times the share of the expected bitrate that is missing. A missing tenth does not count, since
    ///   encoders stay somewhat below their target. Video only.
    /// * **Layers**: 15 for each that is wanted and not sent, or not sent on.
    public var score: Double {
        guard expectedPackets > 0 else { return isMuted ? 100 : 0 }
        guard lostPackets < expectedPackets else { return 0 }
        let delay = roundTrip.milliseconds / 2 + 2 * jitter.milliseconds
        let delayImpairment = 0.024 * delay + (delay > 177.3 ? 0.11 * (delay - 177.3) : 0)
        let percent = 100 * Double(max(lostPackets, 0)) / Double(expectedPackets)
        let lossImpairment = 95 * percent / (percent + robustness)
        return min(max(100 - delayImpairment - lossImpairment - shortfall, 0), 100)
    }

    private var robustness: Double {
        switch media {
        case .audio: 10
        case .redundantAudio: 40
        case .video: 6
        }
    }

    private var shortfall: Double {
        guard media == .video else { return 0 }
        var impairment = 15 * Double(max(missingLayers, 0))
        if expectedBitrate > .zero {
            let missing = 1 - receivedBitrate.value / expectedBitrate.value
            impairment += 40 * max(missing - 0.1, 0) / 0.9
        }
        return impairment
    }
}

/// Turns scores into a word that does not change too often: it falls at once, and rises by one word when two intervals
/// in a row were clearly better.
public struct QualityJudge: Sendable {
    /// The lowest score for each word.
    public static let excellent = 80.0
    public static let good = 55.0
    /// How much more the score has to be for the word to rise.
    public static let margin = 4.0

    public private(set) var quality = ConnectionQuality.excellent
    private var better = 0

    public init() {}

    /// - Parameter observations: of all tracks of the participant in one interval. The worst one decides: good sound
    ///   does not make up for frozen pictures. Empty when nothing should have come.
    /// - Returns: the new word; nil when it is the same.
    public mutating func observe(_ observations: [QualityObservation]) -> ConnectionQuality? {
        let active = observations.filter { !$0.isMuted || $0.expectedPackets > 0 }
        let isLost =
            !active.isEmpty && active.allSatisfy { $0.expectedPackets == 0 || $0.lostPackets >= $0.expectedPackets }
        let score = active.map(\.score).min() ?? 100
        return move(to: isLost ? .lost : Self.word(for: score), score: score)
    }

    private static func word(for score: Double) -> ConnectionQuality {
        score >= excellent ? .excellent : score >= good ? .good : .poor
    }

    private mutating func move(to word: ConnectionQuality, score: Double) -> ConnectionQuality? {
        if word < quality {
            better = 0
            quality = word
            return word
        }
        let isClearlyBetter = word > quality && Self.word(for: score - Self.margin) > quality
        guard isClearlyBetter || (quality == .lost && word > .lost) else {
            better = 0
            return nil
        }
        better += 1
        guard better >= 2, let next = ConnectionQuality(rawValue: quality.rawValue + 1) else { return nil }
        better = 0
        quality = next
        return next
    }
}
