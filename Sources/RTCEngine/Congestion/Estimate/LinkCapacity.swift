/// What the path has been seen to carry when it was full: the mean and the spread of the rates at which overuse was
/// found (draft-ietf-rmcat-gcc-02 §5.5). Near it the rate grows slowly.
struct LinkCapacity {
    private static let weight = 0.05
    private static let spreads = 3.0

    /// In kbit/s, like all here.
    private var mean: Double?
    /// Of the error's square, in proportion to the mean.
    private var deviation = 0.4

    var estimate: Bitrate? { mean.map { Bitrate(bitsPerSecond: $0 * 1_000) } }

    /// The path was full at this rate.
    mutating func add(_ sample: Bitrate) {
        let value = sample.value / 1_000
        let mean = self.mean.map { (1 - Self.weight) * $0 + Self.weight * value } ?? value
        self.mean = mean
        let error = mean - value
        deviation = (1 - Self.weight) * deviation + Self.weight * error * error / max(mean, 1)
        deviation = min(max(deviation, 0.4), 2.5)
    }

    /// The path has changed: what was seen no longer holds.
    mutating func reset() { mean = nil }

    /// Whether a rate is more than the path could carry when it was last full.
    func isExceeded(by rate: Bitrate) -> Bool { mean.map { rate.value / 1_000 > $0 + spread($0) } ?? false }
    /// Whether the path is full at much less than before.
    func isFarAbove(_ rate: Bitrate) -> Bool { mean.map { rate.value / 1_000 < $0 - spread($0) } ?? false }

    private func spread(_ mean: Double) -> Double { Self.spreads * (deviation * mean).squareRoot() }
}
