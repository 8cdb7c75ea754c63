public import RTCEngine

/// A choice of layers and its bitrate.
public struct LayerStep: Sendable, Hashable {
    public var target: LayerTarget
    public var bitrate: Bitrate

    public init(_ target: LayerTarget, _ bitrate: Bitrate) {
        self.target = target
        self.bitrate = bitrate
    }
}

/// What one subscription could use of a subscriber's bitrate.
public struct StreamDemand: Sendable, Hashable {
    /// Once every stream has its lowest step, streams of a higher class rise first.
    public enum Importance: UInt8, Sendable, Hashable, Comparable, CaseIterable {
        /// Any other picture.
        case ordinary
        /// A picture of a participant that speaks.
        case speaker
        /// A shared screen, which often shows text: that is only legible at a high resolution.
        case screenShare

        public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    public enum Media: Sendable, Hashable {
        /// Audio of this bitrate, which is set aside before any video is given some.
        case audio(Bitrate)
        /// Video with these steps, in rising order of bitrate, without those beyond the size at which it is shown.
        /// Empty when nothing is wanted or sent.
        case video(steps: [LayerStep])
    }

    public var media: Media
    public var importance: Importance
    /// The order among streams of equal importance, as `SubscriberHints.priority` has it.
    public var priority: Int
    /// How many pixels it is shown at, as far as the subscriber has said. Of streams with equal rank the larger is
    /// first.
    public var pixels: Int
    /// Whether the stream may be paused. Otherwise it gets its lowest step even where that does not fit.
    public var mayPause: Bool

    public init(
        _ media: Media, importance: Importance = .ordinary, priority: Int = 0, pixels: Int = 0, mayPause: Bool = false
    ) {
        self.media = media
        self.importance = importance
        self.priority = priority
        self.pixels = pixels
        self.mayPause = mayPause
    }

    /// The place among streams of equal importance, the lowest first. A stream without a priority comes last.
    var rank: Int { priority > 0 ? priority : .max }
}

/// What a subscriber says about how it shows a track (LiveKit's adaptive stream and `track_setting`).
public struct SubscriberHints: Sendable, Hashable {
    /// The subscriber does not show it at all.
    public var isDisabled: Bool
    /// In pixels, 65,535 at most; 0 when it did not say.
    public private(set) var width: Int
    public private(set) var height: Int
    /// Pictures a second; 0 when it did not say.
    public var framesPerSecond: Int
    /// The highest quality that the subscriber has asked for.
    public var quality: VideoQuality
    /// Where the subscriber puts it among its streams when they do not all fit: 1 comes first; 0 when it did not say.
    public var priority: Int

    public init(
        isDisabled: Bool = false, width: Int = 0, height: Int = 0, framesPerSecond: Int = 0,
        quality: VideoQuality = .high, priority: Int = 0
    ) {
        self.isDisabled = isDisabled
        // Bounded, so that `pixels` cannot overflow whatever a subscriber says.
        self.width = min(max(width, 0), 65_535)
        self.height = min(max(height, 0), 65_535)
        self.framesPerSecond = framesPerSecond
        self.quality = quality
        self.priority = priority
    }

    public var pixels: Int { width * height }

    /// The size of a spatial layer's pictures.
    public struct Size: Sendable, Hashable {
        public var width: Int
        public var height: Int
        public var quality: VideoQuality

        public init(width: Int, height: Int, quality: VideoQuality) {
            self.width = width
            self.height = height
            self.quality = quality
        }
    }

    /// The highest layers that the subscriber can use.
    ///
    /// - Parameters:
    ///   - sizes: of the spatial layers, lowest first.
    ///   - temporalLayers: how many there are; each but the lowest doubles the rate of pictures.
    ///   - framesPerSecond: the publisher's rate of pictures; 0 where it has not said, which is taken for 30.
    /// - Returns: nil when nothing is wanted.
    public func limit(sizes: [Size], temporalLayers: Int, framesPerSecond: Int) -> LayerTarget? {
        guard !isDisabled, quality > .off, !sizes.isEmpty else { return nil }
        // The lowest layer that is as large as the picture is shown. The longer sides are compared with each other, and
        // the shorter ones, so that upright pictures count too. Publishers round sizes, so nine tenths are large
        // enough.
        var spatial = sizes.count - 1
        if width > 0 || height > 0 {
            let wanted = (max(width, height) * 9 / 10, min(width, height) * 9 / 10)
            spatial =
                sizes.firstIndex { max($0.width, $0.height) >= wanted.0 && min($0.width, $0.height) >= wanted.1 }
                ?? spatial
        }
        // A publisher of two layers calls them LOW and MEDIUM. For a quality that no layer has, the next lower one is
        // taken.
        let named = sizes.lastIndex { $0.quality <= quality } ?? 0
        spatial = min(spatial, named)
        return LayerTarget(
            spatial: spatial,
            temporal: temporalLimit(temporalLayers: temporalLayers, framesPerSecond: framesPerSecond))
    }

    /// What most cameras send; assumed where the publisher has not said.
    static let usualFramesPerSecond = 30

    /// The highest temporal layer that the subscriber can use: each above the lowest doubles the rate.
    func temporalLimit(temporalLayers: Int, framesPerSecond: Int) -> Int {
        var temporal = max(temporalLayers, 1) - 1
        var rate = framesPerSecond > 0 ? framesPerSecond : Self.usualFramesPerSecond
        while self.framesPerSecond > 0, temporal > 0, rate / 2 >= self.framesPerSecond {
            temporal -= 1
            rate /= 2
        }
        return temporal
    }
}

extension LayerBitrates {
    /// The steps of a publication for `StreamDemand`: every live spatial layer with each of its temporal layers up to a
    /// limit. Left out are layers whose bitrate is not known yet, and steps that cost no more than the one before. Of
    /// simulcast, where a larger picture is a stream of its own and may cost less than a smaller one, steps that cost
    /// no less than a larger picture are left out as well.
    ///
    /// - Parameter prefersMotion: whether a larger picture at less than half of the frame rate is worse than a smaller
    ///   one. Then the lowest temporal layers of a larger picture are left out, if there are smaller pictures.
    public func steps(
        _ arrangement: LayerArrangement, limit: LayerTarget, prefersMotion: Bool = false, at now: Instant
    ) -> [LayerStep] {
        var steps: [LayerStep] = []
        let live = live
        guard live != 0 else { return [] }
        let lowest = live.trailingZeroBitCount
        let highest = max(min(Int(limit.spatial), Self.maximumSpatialLayers - 1), lowest)
        for spatial in lowest...highest where live >> UInt8(spatial) & 1 != 0 && isMeasured(spatial: spatial, at: now) {
            let count = max(temporalLayerCount(spatial: spatial), 1)
            var ofThis = 0
            let fewest = prefersMotion && !steps.isEmpty ? min(max(count - 2, 0), Int(limit.temporal)) : 0
            for temporal in fewest..<count where temporal <= Int(limit.temporal) {
                let bitrate =
                    arrangement == .simulcast
                    ? cost(spatial: spatial, temporal: temporal, at: now)
                    : cumulativeCost(spatial: spatial, temporal: temporal, at: now)
                // Smaller pictures that cost no less are left out; but not for a layer of which nothing has come.
                while bitrate > .zero, let last = steps.last, last.target.spatial < spatial, last.bitrate >= bitrate,
                    arrangement == .simulcast
                {
                    steps.removeLast()
                }
                let target = LayerTarget(spatial: spatial, temporal: temporal)
                if let last = steps.last, bitrate <= last.bitrate {
                    // This layer adds pictures at no known cost (little has come of it yet), so the step before
                    // includes it.
                    if ofThis > 0 { steps[steps.count - 1].target = target }
                    continue
                }
                steps.append(LayerStep(target, bitrate))
                ofThis += 1
            }
        }
        return steps
    }
}
