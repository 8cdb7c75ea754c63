import RTCEngine

/// Gives the frames of one track their place in a recording. The first one is placed by when it arrived, which is what
/// puts picture and sound side by side; those after it by their RTP timestamps, which network delay does not touch.
struct TrackClock: Sendable {
    /// When timestamps and arrival disagree by more, in seconds, the sender has begun a new time line (another source,
    /// or a restart), and the track is placed by arrival anew.
    private static let tolerance: Int64 = 5

    private enum Phase {
        case fresh
        /// `plain` is where the timestamp alone puts the frame; `time` is what was given out.
        case running(timestamp: UInt32, plain: Int64, time: Int64)
    }

    private let rate: Int64
    private var phase = Phase.fresh

    init(clockRate: UInt32) { rate = Int64(clockRate) }

    /// - Parameter arrival: Since the start of the recording.
    /// - Returns: Ticks since then; always more than for the frame before.
    mutating func time(of timestamp: UInt32, arrival: Interval) -> Int64 {
        let arrived = max(0, arrival.nanoseconds / 1_000 * rate / 1_000_000)
        switch phase {
        case .fresh:
            phase = .running(timestamp: timestamp, plain: arrived, time: arrived)
            return arrived
        case .running(let previous, let plain, let time):
            var next = plain + Int64(Int32(bitPattern: timestamp &- previous))
            if abs(next - arrived) > Self.tolerance * rate { next = arrived }
            let given = max(next, time + 1)
            phase = .running(timestamp: timestamp, plain: next, time: given)
            return given
        }
    }
}
