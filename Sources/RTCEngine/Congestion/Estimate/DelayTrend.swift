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

    /// Sums over the points, of which each line is made: one that leaves and one that comes change them, and so a
    /// packet costs no look at all of the points.
    private struct Sums {
        var time = 0.0
        var delay = 0.0
        var square = 0.0
        var product = 0.0

        mutating func add(_ point: Point, from base: Point, times sign: Double = 1) {
            let (time, delay) = (point.time - base.time, point.delay - base.delay)
            self.time += sign * time
            self.delay += sign * delay
            square += sign * time * time
            product += sign * time * delay
        }

        /// By least squares; nil where all points are of one time, as far as can be told.
        func slope(over count: Double) -> Double? {
            let spread = square - time * time / count
            return spread > Self.leastSpread ? (product - time * delay / count) / spread : nil
        }

        /// In square milliseconds, over all points: less may be what rounding has left.
        private static let leastSpread = 0.01
    }

    private var points: [Point] = []
    /// The oldest point.
    private var head = 0
    private var sums = Sums()
    /// What the points are measured from in `sums`: near to them, for differences of large numbers are not exact. The
    /// sums begin anew with it before what rounding has left in them matters.
    private var base = Point(time: 0, delay: 0)
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
        take(point)
        if points.count == Self.window, let line = sums.slope(over: Double(Self.window)) { slope = line }
        return groups < 2 ? 0 : Double(min(groups, Self.mostGroups)) * slope * Self.gain
    }

    /// The newest point takes the place of the oldest.
    private mutating func take(_ point: Point) {
        if points.count < Self.window {
            points.append(point)
            sums.add(point, from: base)
            return
        }
        sums.add(points[head], from: base, times: -1)
        sums.add(point, from: base)
        points[head] = point
        head += 1
        guard head == Self.window else { return }
        head = 0
        base = point
        sums = Sums()
        for point in points { sums.add(point, from: base) }
    }
}
