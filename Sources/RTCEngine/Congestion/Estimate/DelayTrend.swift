/// Whether the path's queue grows: the slope of the one-way delay over the last groups, found by a straight line
/// through them.
///
/// draft-ietf-rmcat-gcc-02 §5.3 has a Kalman filter here; libwebrtc replaced it in 2016 by this line, which needs no
/// model of the noise. What follows (§5.4) is the same for both.
struct DelayTrend {
    private struct Point {
        /// Milliseconds since the first group.
        var time: Double
        /// Milliseconds by which the delay has grown since then, smoothed.
        var delay: Double
    }

    /// Groups that the line goes through.
    static let window = 20
    private static let smoothing = 0.9
    /// The slope is multiplied by the number of groups that it is made of, at most this many, and by the gain: so it
    /// becomes comparable to the threshold, in milliseconds.
    private static let mostGroups = 60
    private static let gain = 4.0
    /// The path may become longer, and clocks differ: what was quickest is forgotten by a thousandth of the time.
    private static let drift = 0.001

    private var points: [Point] = []
    /// The oldest point.
    private var head = 0
    private var groups = 0
    private var origin: Instant?
    private var delay = 0.0
    private var smoothedDelay = 0.0
    private var slope = 0.0
    private var shortest = 0.0

    /// How much longer the last group was on its way than the quickest, in milliseconds: the path's queue.
    var queue: Double { delay - shortest }

    /// Takes the next group.
    ///
    /// - Returns: how strongly the delay grows, in milliseconds to compare with the threshold; 0 until there is a line.
    mutating func add(_ delta: PacketGroups.Delta) -> Double {
        let origin = origin ?? delta.at
        self.origin = origin
        groups = min(groups + 1, 1_000)
        delay += (delta.arrived - delta.sent).milliseconds
        shortest = min(shortest + delta.arrived.milliseconds * Self.drift, delay)
        smoothedDelay = Self.smoothing * smoothedDelay + (1 - Self.smoothing) * delay
        let point = Point(time: (delta.at - origin).milliseconds, delay: smoothedDelay)
        if points.count < Self.window {
            points.append(point)
        } else {
            points[head] = point
            head = (head + 1) % Self.window
        }
        if points.count == Self.window, let line = leastSquares() { slope = line }
        return groups < 2 ? 0 : Double(min(groups, Self.mostGroups)) * slope * Self.gain
    }

    private func leastSquares() -> Double? {
        var time = 0.0
        var delay = 0.0
        for point in points {
            time += point.time
            delay += point.delay
        }
        time /= Double(points.count)
        delay /= Double(points.count)
        var numerator = 0.0
        var denominator = 0.0
        for point in points {
            numerator += (point.time - time) * (point.delay - delay)
            denominator += (point.time - time) * (point.time - time)
        }
        return denominator > 0 ? numerator / denominator : nil
    }
}
