import RTCEngine

/// Finds simulcast layers that are starved: their encoder has so little bitrate that it drops the pictures after a key
/// frame. A layer is starved when it has far fewer pictures than a lower one.
///
/// A key frame alone does not mean that this is over. A browser that is asked for a key frame of the layer below makes
/// one of each layer, the largest first, and spends the bitrate of the next seconds on it.
struct StarvedLayers: Sendable {
    /// A layer is compared with a lower one that had at least this many pictures in the last second.
    private static let enoughPictures = 8
    /// A layer with less than one picture for this many of the lower layer is starved.
    private static let starving = 8
    /// A starved layer with one picture for this many of the lower layer is no longer starved. The two thresholds
    /// differ because each change costs a key frame.
    private static let fed = 2
    /// After no picture of any layer came for this long, the counts are not used until a second has passed.
    private static let lull = Interval.milliseconds(500)
    private static let layers = LayerBitrates.maximumSpatialLayers
    private static let step = LayerBitrates.step
    private static let steps = LayerBitrates.steps

    /// The starved layers, a bit each.
    private(set) var mask: UInt8 = 0
    /// Pictures of each layer in each step of the last second, and in all of it.
    private var pictures = [Int16](repeating: 0, count: Self.steps * Self.layers)
    private var totals = [Int](repeating: 0, count: Self.layers)
    /// The step that is being filled.
    private var current: Int64 = 0
    /// When the last picture came, of any layer.
    private var last: Instant?
    /// For each layer, when its first picture came since the last lull, or since the publisher was told what is wanted.
    /// Pictures that were missing before do not count.
    private var since: [Instant?] = Array(repeating: nil, count: Self.layers)

    /// The last packet of a picture has come. To be told after `advance`.
    mutating func pictureEnded(of layer: Int, at now: Instant) {
        if let last, now - last >= Self.lull { forgetCounts() }
        if since[layer] == nil { since[layer] = now }
        last = now
        pictures[Int(current % Int64(Self.steps)) * Self.layers + layer] &+= 1
        totals[layer] += 1
    }

    /// The publisher has been told what is wanted.
    mutating func wantedAnew() {
        mask = 0
        forgetCounts()
    }

    private mutating func forgetCounts() { for layer in since.indices { since[layer] = nil } }

    /// Time passes.
    ///
    /// - Returns: the layers that are no longer starved, a bit each.
    mutating func advance(to now: Instant) -> UInt8 {
        let step = now.nanoseconds / Self.step.nanoseconds
        guard step > current else { return 0 }
        for offset in 1...min(step - current, Int64(Self.steps)) {
            let row = Int((current + offset) % Int64(Self.steps))
            for layer in totals.indices {
                totals[layer] -= Int(pictures[row * Self.layers + layer])
                pictures[row * Self.layers + layer] = 0
            }
        }
        current = step
        guard let last, now - last < Self.lull else { return 0 }
        return judge(at: now)
    }

    private mutating func judge(at now: Instant) -> UInt8 {
        var most = 0
        var fed: UInt8 = 0
        for (layer, count) in totals.enumerated() {
            let bit = UInt8(1) << UInt8(layer)
            guard let since = since[layer], now - since >= Self.step * Int64(Self.steps) else { continue }
            if mask & bit == 0 {
                if most >= Self.enoughPictures, count * Self.starving < most { mask |= bit }
            } else if most > 0, count * Self.fed >= most {
                mask &= ~bit
                fed |= bit
            }
            most = max(most, count)
        }
        return fed
    }
}
