public import RTCEngine

/// What comes of each layer of a publication: its bitrate in the last second, its typical bitrate (`cost`), and whether
/// it is being sent at all.
///
/// A spatial layer is a simulcast stream, or a layer inside the only stream; it has temporal layers. A packet takes a
/// few additions, and the memory does not grow.
public struct LayerBitrates: Sendable {
    public static let maximumSpatialLayers = 4
    public static let maximumTemporalLayers = 4
    private static let cells = maximumSpatialLayers * maximumTemporalLayers
    /// The window slides by this much.
    static let step = Interval.milliseconds(100)
    static let steps = 10
    /// How many consecutive windows are remembered.
    private static let windows = 3
    private static let rows = steps * windows
    /// A layer without packets for this long, while others have some, counts as stopped by its publisher.
    ///
    /// Longer than between two pictures of the slowest layer (a screen's lowest layer may have one a second), and short
    /// enough that its subscribers do not see a still picture for long.
    public static let patience = Interval.milliseconds(1_500)

    /// Bytes of each cell in each step.
    private var bytes = [Int32](repeating: 0, count: Self.rows * Self.cells)
    private var totals = [Int](repeating: 0, count: Self.cells)
    /// The sums of each cell in the windows before that one, the latest window first.
    private var earlier = [Int](repeating: 0, count: (Self.windows - 1) * Self.cells)
    private var starved = StarvedLayers()
    /// The step that is being filled.
    private var current: Int64 = 0
    private var beginning: Instant?
    /// When the last packet of each layer came.
    private var heard: [Instant?] = Array(repeating: nil, count: Self.maximumSpatialLayers)
    /// When each layer began, or began again.
    private var began: [Instant?] = Array(repeating: nil, count: Self.maximumSpatialLayers)
    private var lastPacket: Instant?
    /// Whether counting has begun anew after a pause, and not with the publication.
    private var isResumed = false
    /// The layers that are being sent, a bit each. Starved layers are left out, unless all are. When nothing comes at
    /// all the layers stay in it, since a still screen sends nothing, nor does a publisher whose path is broken.
    ///
    /// A stored property, since it is read for every subscriber with every packet.
    public private(set) var live: UInt8 = 0

    public init() {}

    /// Layers of which only is known that they are being sent.
    ///
    /// - Parameter live: a bit for each.
    init(live: UInt8, at now: Instant) {
        for layer in heard.indices where live >> UInt8(layer) & 1 != 0 {
            receive(bytes: 0, spatial: layer, temporal: 0, at: now)
        }
    }

    /// Measures everything anew after a pause, in which nothing came. The same layers count as being sent.
    mutating func resume(at now: Instant) {
        self = LayerBitrates(live: live, at: now)
        isResumed = true
    }

    /// - Parameter endsPicture: whether it is the last packet of a picture; told only for simulcast layers whose rates
    ///   of pictures are to be compared.
    public mutating func receive(
        bytes count: Int, spatial: Int, temporal: Int, endsPicture: Bool = false, at now: Instant
    ) {
        advance(to: now)
        let spatial = min(spatial, Self.maximumSpatialLayers - 1)
        let cell = spatial * Self.maximumTemporalLayers + min(temporal, Self.maximumTemporalLayers - 1)
        bytes[Int(current % Int64(Self.rows)) * Self.cells + cell] &+= Int32(clamping: count)
        totals[cell] += count
        if endsPicture { starved.pictureEnded(of: spatial, at: now) }
        if let lastPacket, now - lastPacket >= Self.patience {
            // Nothing came of any layer. The pause does not count, so that the others do not count as stopped when the
            // first one comes again.
            for layer in heard.indices { heard[layer] = heard[layer].map { $0 + (now - lastPacket) } }
        }
        if heard[spatial].map({ now - $0 >= Self.patience }) ?? true { began[spatial] = now }
        heard[spatial] = now
        lastPacket = now
        noteLive()
    }

    /// Time passes; what is older than the window is forgotten.
    public mutating func advance(to now: Instant) {
        let step = now.nanoseconds / Self.step.nanoseconds
        guard beginning != nil else {
            beginning = now
            current = step
            return
        }
        guard step > current else { return }
        // After a longer pause all rows are cleared.
        let passed = Int(min(step - current, Int64(Self.rows)))
        for offset in 1...passed { begin(Int((current + Int64(offset)) % Int64(Self.rows))) }
        current = step
        let fed = starved.advance(to: now)
        // The bitrate of a layer while it was starved tells nothing of what it costs now.
        for layer in began.indices where fed >> UInt8(layer) & 1 != 0 { began[layer] = now }
        noteLive()
    }

    private mutating func noteLive() {
        guard let lastPacket else { return live = 0 }
        var mask: UInt8 = 0
        for layer in heard.indices {
            if let time = heard[layer], lastPacket - time < Self.patience { mask |= 1 << UInt8(layer) }
        }
        live = mask & ~starved.mask != 0 ? mask & ~starved.mask : mask
    }

    /// The publisher was told what is wanted. What it did not send before does not tell what it can send.
    mutating func wantedAnew() {
        starved.wantedAnew()
        noteLive()
    }

    /// Clears a row to fill it anew: the oldest row of each window moves to the window before it.
    private mutating func begin(_ row: Int) {
        for cell in 0..<Self.cells {
            let last = Int(bytes[(row + 2 * Self.steps) % Self.rows * Self.cells + cell])
            let second = Int(bytes[(row + Self.steps) % Self.rows * Self.cells + cell])
            let third = Int(bytes[row * Self.cells + cell])
            totals[cell] -= last
            earlier[cell] += last - second
            earlier[Self.cells + cell] += second - third
            bytes[row * Self.cells + cell] = 0
        }
    }

    /// The bitrate of one layer with the temporal layers up to `temporal`.
    public func bitrate(spatial: Int, temporal: Int = Self.maximumTemporalLayers - 1, at now: Instant) -> Bitrate {
        guard let beginning, (0..<Self.maximumSpatialLayers).contains(spatial) else { return .zero }
        var sum = 0
        for layer in 0...min(max(temporal, 0), Self.maximumTemporalLayers - 1) {
            sum += totals[spatial * Self.maximumTemporalLayers + layer]
        }
        // In the beginning the window is as long as the time since then, but at least half a second, so that a single
        // key frame is not taken for a bitrate.
        let length = min(max(now - beginning, .milliseconds(500)), Self.step * Int64(Self.steps))
        return Bitrate(bytes: sum, in: length)
    }

    /// The typical bitrate of a layer: the median of the last three seconds, so that one second with a key frame does
    /// not count. Key frames come when subscribers switch to the layer. For a layer that is younger than three seconds,
    /// and has begun with a key frame, the smallest of its seconds.
    public func cost(
        spatial: Int, temporal: Int = Self.maximumTemporalLayers - 1, at now: Instant
    ) -> Bitrate {
        guard (0..<Self.maximumSpatialLayers).contains(spatial), let began = began[spatial] else { return .zero }
        let length = Self.step * Int64(Self.steps)
        guard now - began >= length * 2 else { return bitrate(spatial: spatial, temporal: temporal, at: now) }
        var sums = (0, 0, 0)
        for layer in 0...min(max(temporal, 0), Self.maximumTemporalLayers - 1) {
            let cell = spatial * Self.maximumTemporalLayers + layer
            sums.0 += totals[cell]
            sums.1 += earlier[cell]
            sums.2 += earlier[Self.cells + cell]
        }
        let (low, high) = (min(sums.0, sums.1), max(sums.0, sums.1))
        return Bitrate(bytes: now - began >= length * 3 ? max(low, min(high, sums.2)) : low, in: length)
    }

    /// For a stream whose spatial layers depend on each other: the typical bitrate of this layer and all below it.
    public func cumulativeCost(
        spatial: Int, temporal: Int = Self.maximumTemporalLayers - 1, at now: Instant
    ) -> Bitrate {
        var sum = Bitrate.zero
        for layer in 0...min(max(spatial, 0), Self.maximumSpatialLayers - 1) {
            sum = sum + cost(spatial: layer, temporal: temporal, at: now)
        }
        return sum
    }

    /// Whether the bitrate of a layer is known. A layer that starts while others go on begins with next to nothing, or
    /// with a key frame, so its first second says little; the same holds for all layers after a pause.
    public func isMeasured(spatial: Int, at now: Instant) -> Bool {
        guard heard.indices.contains(spatial), let began = began[spatial], let beginning else { return false }
        return now - began >= Self.step * Int64(Self.steps)
            || began - beginning < Self.togetherness && !isResumed
    }

    /// Layers that begin within this time after the publication count as begun with it.
    private static let togetherness = Interval.milliseconds(200)

    /// How many temporal layers of a spatial layer have come in the last second.
    public func temporalLayerCount(spatial: Int) -> Int {
        guard (0..<Self.maximumSpatialLayers).contains(spatial) else { return 0 }
        for layer in (0..<Self.maximumTemporalLayers).reversed()
        where totals[spatial * Self.maximumTemporalLayers + layer] > 0 {
            return layer + 1
        }
        return 0
    }

    /// The publisher has said that it stopped a layer, or was told to: the layer is no longer live, without waiting for
    /// `patience`.
    public mutating func stopped(spatial: Int) {
        guard heard.indices.contains(spatial) else { return }
        heard[spatial] = nil
        noteLive()
    }
}
