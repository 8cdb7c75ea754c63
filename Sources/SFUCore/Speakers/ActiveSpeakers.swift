public import RTCEngine
public import RTCWire

/// Who speaks in a room, by the levels that publishers put on their packets (RFC 6464), by LiveKit's rule.
///
/// Every 400 ms each track is judged by what came since: it is **active** when at least 40 % of that time was no
/// quieter than −35 dBov. Its level is its loudest one, less what the share of active time takes from it (20 log10 of
/// the share, in decibels), as an amplitude between 0 and 1, and is smoothed: each interval takes it two thirds of the
/// way, which is an exponential mean over two intervals. An interval without speech makes it 0 at once, so that nobody
/// is shown as speaking who is not. Levels are told in eighths, rounded up, so that not every small change is told.
public struct ActiveSpeakers: Sendable {
    public struct Configuration: Sendable, Hashable {
        public var interval = Interval.milliseconds(400)
        /// In −dBov: sound at this level or louder is active.
        public var activeLevel: UInt8 = 35
        /// Percent of the interval.
        public var activeShare = 40
        /// The mean is over so many intervals.
        public var smoothedIntervals = 2
        /// Levels are told in so many steps.
        public var steps = 8

        public init() {}
    }

    /// One who began, changed or ceased to speak.
    public struct Change: Sendable, Hashable {
        /// The index that `add` gave.
        public var track: Int
        /// In eighths, 0 when it has become silent.
        public var level: Double
        public var isActive: Bool
    }

    private struct Track: Sendable {
        var isThere = true
        var active = Interval.zero
        var observed = Interval.zero
        /// In −dBov.
        var loudest: UInt8 = 127
        var smoothed = 0.0
        var told = 0.0
    }

    public let configuration: Configuration
    private var tracks: [Track] = []
    private var free: [Int] = []
    private var due: Instant?

    /// Amplitude of each level in −dBov: 10 to the power of −level/20.
    private static let amplitudes: [Double] = {
        var amplitudes: [Double] = []
        var amplitude = 1.0
        for _ in 0...127 {
            amplitudes.append(amplitude)
            amplitude *= 0.891_250_938_133_745_6
        }
        return amplitudes
    }()

    public init(_ configuration: Configuration = Configuration()) { self.configuration = configuration }

    /// A track of sound is published.
    ///
    /// - Returns: its index, used again after `remove`.
    public mutating func add() -> Int {
        if let index = free.popLast() {
            tracks[index] = Track()
            return index
        }
        tracks.append(Track())
        return tracks.count - 1
    }

    /// A track has ended. The next `tick` tells that it is silent, if it was not; its index is not used again before.
    public mutating func remove(_ track: Int) {
        guard tracks.indices.contains(track), tracks[track].isThere else { return }
        tracks[track].isThere = false
    }

    /// A track was muted: what was heard of it no longer counts, however loud it was.
    public mutating func muted(_ track: Int) {
        guard tracks.indices.contains(track) else { return }
        let told = tracks[track].told
        tracks[track] = Track(isThere: tracks[track].isThere, told: told)
    }

    /// A packet has come.
    ///
    /// - Parameter duration: of its sound.
    public mutating func observe(_ level: AudioLevel, of track: Int, duration: Interval) {
        guard tracks.indices.contains(track), duration > .zero else { return }
        // A packet can claim more than the interval has.
        let duration = min(duration, configuration.interval)
        tracks[track].observed = tracks[track].observed + duration
        guard level.level <= configuration.activeLevel else { return }
        tracks[track].active = tracks[track].active + duration
        tracks[track].loudest = min(tracks[track].loudest, level.level)
    }

    public var nextWake: Instant? { due }

    /// Time passes.
    ///
    /// - Parameter changes: those whose level changed, loudest first, are appended.
    public mutating func tick(at now: Instant, changes: inout [Change]) {
        guard let time = due else {
            due = now + configuration.interval
            return
        }
        guard now >= time else { return }
        // From now on, however late this tick is: in less than an interval less is heard than it takes to be active.
        due = now + configuration.interval
        let start = changes.count
        for index in tracks.indices {
            judge(index)
            let level = tracks[index].isThere ? quantized(tracks[index].smoothed) : 0
            if level != tracks[index].told {
                tracks[index].told = level
                changes.append(Change(track: index, level: level, isActive: level > 0))
            }
            if !tracks[index].isThere, !free.contains(index) { free.append(index) }
        }
        changes[start...].sort { ($1.level, $0.track) < ($0.level, $1.track) }
    }

    /// Those who speak, loudest first.
    public var speakers: [Change] {
        tracks.indices.filter { tracks[$0].told > 0 }
            .map { Change(track: $0, level: tracks[$0].told, isActive: true) }
            .sorted { ($1.level, $0.track) < ($0.level, $1.track) }
    }

    private mutating func judge(_ index: Int) {
        let interval = configuration.interval
        let needed = interval.nanoseconds * Int64(configuration.activeShare) / 100
        let active = min(tracks[index].active, interval)
        if active.nanoseconds >= needed, active > .zero {
            let share = active.seconds / interval.seconds
            let amplitude = Self.amplitudes[Int(min(tracks[index].loudest, 127))] * share
            let factor = 2 / Double(configuration.smoothedIntervals + 1)
            tracks[index].smoothed += (amplitude - tracks[index].smoothed) * factor
        } else {
            tracks[index].smoothed = 0
        }
        tracks[index].active = .zero
        tracks[index].observed = .zero
        tracks[index].loudest = 127
    }

    private func quantized(_ level: Double) -> Double {
        guard level > 0 else { return 0 }
        let steps = Double(configuration.steps)
        return min((level * steps).rounded(.up) / steps, 1)
    }
}
