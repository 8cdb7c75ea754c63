public import RTCEngine

/// What arrives of each layer of a publication: its bitrate in the last second, what it costs to have it, and whether
/// it is being sent at all.
///
/// A layer is a simulcast stream or a spatial layer inside one, and in it temporal layers. Costs a few additions a
/// packet and no storage that grows.
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
    /// Of the windows before that one, the latest first.
    private var earlier = [Int](repeating: 0, count: (Self.windows - 1) * Self.cells)
    private var starved = StarvedLayers()
    /// The step that is being filled.
    private var current: Int64 = 0
    private var beginning: Instant?
    /// When each layer was last heard of.
    private var heard: [Instant?] = Array(repeating: nil, count: Self.maximumSpatialLayers)
    /// When each began, or began again.
    private var began: [Instant?] = Array(repeating: nil, count: Self.maximumSpatialLayers)
    private var lastPacket: Instant?
    /// It begins in the midst of a publication.
    private var isResumed = false
    /// The layers that are being sent, a bit each, without layers that are starved beside others. If all layers are
    /// silent they stay in it: a still screen sends nothing, and neither does a publisher whose path is broken.
    ///
    /// Every subscriber asks for it with every packet.
    public private(set) var live: UInt8 = 0

    public init() {}

    /// Nothing is known yet of layers but that they are being sent.
    ///
    /// - Parameter live: a bit for each.
    init(live: UInt8, at now: Instant) {
        for layer in heard.indices where live >> UInt8(layer) & 1 != 0 {
            receive(bytes: 0, spatial: layer, temporal: 0, at: now)
        }
    }

    /// After a pause, in whose windows there is nothing, all is measured anew. The same layers are being sent.
    mutating func resume(at now: Instant) {
        self = LayerBitrates(live: live, at: now)
        isResumed = true
    }

    /// - Parameter endsPicture: of simulcast layers that are compared by their pictures, whether it is a picture's last
    ///   packet.
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
            // All were silent: whichever comes first afterwards, the others have the same time to come as before.
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
        // After a longer silence every row goes, whichever it is.
        let passed = Int(min(step - current, Int64(Self.rows)))
        for offset in 1...passed { begin(Int((current + Int64(offset)) % Int64(Self.rows))) }
        current = step
        let fed = starved.advance(to: now)
        // What a layer cost while it was starved is no measure.
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

    /// The publisher has been told what is wanted: what it did not send until then says nothing of what it can send.
    mutating func wantedAnew() {
        starved.wantedAnew()
        noteLive()
    }

    /// A row is to be filled anew: one leaves each window for the one before it.
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
        // In the beginning the window is as long as what it has seen, and never so short that one key frame is a rate.
        let length = min(max(now - beginning, .milliseconds(500)), Self.step * Int64(Self.steps))
        return Bitrate(bytes: sum, in: length)
    }

    /// The bitrate of a layer: the median of the last three seconds, so that a second with a key frame, which a
    /// subscriber needs when it switches to the layer, does not count. For a younger layer, which has begun with a key
    /// frame, the smallest of its seconds.
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

    /// For a stream whose spatial layers need each other: the bitrate of this layer and those below it.
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

    /// Layers that begin with the publication come one after the other.
    private static let togetherness = Interval.milliseconds(200)

    /// How many temporal layers of a layer have come in the last second.
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
