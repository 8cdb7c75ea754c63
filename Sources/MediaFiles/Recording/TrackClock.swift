import RTCEngine

/// Gives the frames of one track their place in a recording. The first one is placed by when it arrived, which is what
/// puts picture and sound side by side; those after it by their RTP timestamps, which network delay does not touch.
///
/// A sender that begins a new time line (another source, a restart, a pause in which its clock stood still) is placed
/// by arrival anew. A new line is told from delay by three signs: timestamps that go back; timestamps that run ahead of
/// arrival at once, as no network hurries; and a distance that does not go away, as delay does.
struct TrackClock: Sendable {
    /// How far ahead of arrival, and behind it, one frame may be placed, in seconds.
    private static let aheadLimit: Int64 = 1
    private static let behindLimit: Int64 = 5
    /// When every frame of this many seconds is off to the same side by more than `tolerance` milliseconds, it is no
    /// delay.
    private static let windowLength: Int64 = 3
    private static let tolerance: Int64 = 300

    private enum Phase {
        case fresh
        /// `plain` is where the timestamp alone puts the frame; `time` is what was given out.
        case running(timestamp: UInt32, plain: Int64, time: Int64)
    }

    private let rate: Int64
    private var phase = Phase.fresh
    /// How far frames arrive behind their place, since `windowStart`: the least and the most, in ticks.
    private var offsets: ClosedRange<Int64>?
    private var windowStart: Int64 = 0

    init(clockRate: UInt32) { rate = Int64(clockRate) }

    /// - Parameter arrival: Since the start of the recording.
    /// - Returns: Ticks since then; always more than for the frame before.
    mutating func time(of timestamp: UInt32, arrival: Interval) -> Int64 {
        let arrived = max(0, arrival.nanoseconds / 1_000 * rate / 1_000_000)
        switch phase {
        case .fresh:
            windowStart = arrived
            phase = .running(timestamp: timestamp, plain: arrived, time: arrived)
            return arrived
        case .running(let previous, let plain, let time):
            let step = Int64(Int32(bitPattern: timestamp &- previous))
            let next = plain + step + correction(next: plain + step, arrived: arrived, step: step)
            let given = max(next, time + 1)
            phase = .running(timestamp: timestamp, plain: next, time: given)
            return given
        }
    }

    /// What brings a frame to where its arrival says it belongs; 0 while its timestamp can be believed.
    private mutating func correction(next: Int64, arrived: Int64, step: Int64) -> Int64 {
        let behind = arrived - next
        guard step >= 0, behind >= -Self.aheadLimit * rate, behind <= Self.behindLimit * rate else {
            offsets = nil
            windowStart = arrived
            return behind
        }
        let known = offsets ?? behind...behind
        let window = min(known.lowerBound, behind)...max(known.upperBound, behind)
        offsets = window
        guard arrived - windowStart >= Self.windowLength * rate else { return 0 }
        offsets = nil
        windowStart = arrived
        let tolerated = Self.tolerance * rate / 1_000
        if window.lowerBound > tolerated { return window.lowerBound }
        if window.upperBound < -tolerated { return window.upperBound }
        return 0
    }
}
