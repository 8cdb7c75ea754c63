/// How much arrives, by the receiver's clock. Samples of 150 ms are weighed by how far they are from the estimate: one
/// that is far off is taken for noise until more of them come (as libwebrtc does; draft-ietf-rmcat-gcc-02 §5.5 asks for
/// a window of 0.5 to 1 s, which follows a drop too slowly).
struct AcknowledgedBitrate {
    private static let firstWindow = Interval.milliseconds(500)
    private static let window = Interval.milliseconds(150)
    /// No packet is overtaken by others that were sent so much later.
    private static let overtaking = Interval.seconds(Int64(5))
    /// An estimate that nothing supports grows uncertain by this (kbit/s, squared) with each sample.
    private static let drift = 5.0
    /// How much a sample's distance from the estimate tells about its noise.
    private static let noise = 10.0
    /// Likewise for a low sample while the application sends little: it says nothing about the path.
    private static let noiseWhileLimited = 20.0

    /// In kbit/s.
    private var estimate: Double?
    private var variance = 50.0
    private var bytes = 0
    private var filled = Interval.zero
    private var last: Instant?

    /// Nil until half a second's packets have been heard of.
    var bitrate: Bitrate? { estimate.map { Bitrate(bitsPerSecond: $0 * 1_000) } }

    /// A packet arrived.
    ///
    /// - Parameter isLimited: the application sends less than it might.
    mutating func add(size: Int, arrivedAt now: Instant, isLimited: Bool) {
        let window = estimate == nil ? Self.firstWindow : Self.window
        let previous = last ?? now
        let gap = now - previous
        // The peer's clock has been set anew.
        guard gap + Self.overtaking > .zero else {
            last = now
            filled = .zero
            bytes = size
            return
        }
        last = max(previous, now)
        guard gap >= .zero else {
            // Overtaken: it counts, but moves no window.
            bytes += size
            return
        }
        filled = filled + gap
        // Silence is not a rate: the window begins anew.
        if gap > window {
            bytes = 0
            filled = Interval(nanoseconds: filled.nanoseconds % window.nanoseconds)
        }
        if filled >= window {
            take(sample: Double(bytes) * 8 / window.milliseconds, isLimited: isLimited)
            filled = min(filled - window, window)
            bytes = 0
        }
        bytes += size
    }

    /// The sender has stopped sending little: the next samples may be far off and right.
    mutating func expectChange() { variance += 200 }

    private mutating func take(sample: Double, isLimited: Bool) {
        guard let estimate else {
            // A window without a packet in it is no beginning.
            if sample > 0 { self.estimate = sample }
            return
        }
        let scale = isLimited && sample < estimate ? Self.noiseWhileLimited : Self.noise
        let uncertainty = scale * abs(estimate - sample) / max(estimate, 1)
        let sampleVariance = uncertainty * uncertainty
        let predicted = variance + Self.drift
        self.estimate = max((sampleVariance * estimate + predicted * sample) / (sampleVariance + predicted), 0)
        variance = sampleVariance * predicted / (sampleVariance + predicted)
    }
}
