import RTCWire

/// The rate that the losses in receiver reports allow (draft-ietf-rmcat-gcc-02 §6): for peers that send no
/// transport-wide feedback. What they estimate themselves (REMB) bounds it.
struct ReportedLossControl {
    private struct Source {
        let ssrc: UInt32
        var highest: UInt32
        var lost: Int32
        var reportedAt: Instant
    }

    /// §6: above, the rate falls by half of the loss.
    private static let high = 0.10
    /// §6: below, it grows.
    private static let low = 0.02
    private static let growth = 1.08
    private static let smallGrowth = Bitrate(bitsPerSecond: 1_000)
    private static let growthInterval = Interval.seconds(Int64(1))
    private static let decreaseInterval = Interval.milliseconds(300)
    /// Until this long after the first report, what the peer says it can take is believed at once.
    private static let startPhase = Interval.seconds(Int64(2))
    /// But no further from the start than the first probes would go: some peers begin with a guess.
    private static let startFactor = 6.0
    /// Fewer packets say nothing about the share of losses.
    private static let fewest = 20
    private static let mostSources = 256
    /// Of one that has ended nothing is reported any more.
    private static let longestSilence = Interval.seconds(Int64(30))

    private let start: Bitrate
    private(set) var rate: Bitrate
    /// What the peer estimated last (draft-alvestrand-rmcat-remb-03); nil before.
    private(set) var peerEstimate: Bitrate?
    private var sources: [Source] = []
    private var expected = 0
    private var lost = 0
    private var started: Instant?
    private var lastGrowth: Instant?
    private var lastDecrease: Instant?
    private var hasLost = false

    init(start: Bitrate) {
        self.start = start
        rate = start
    }

    /// The peer says how much it thinks the path carries.
    mutating func receive(peerEstimate: Bitrate, limits: ClosedRange<Bitrate>, at now: Instant) {
        let started = started ?? now
        self.started = started
        self.peerEstimate = peerEstimate
        if now - started <= Self.startPhase, !hasLost {
            rate = max(rate, min(peerEstimate, start * Self.startFactor))
        }
        rate = clamp(rate, limits)
    }

    /// Block of a report about a stream of ours.
    mutating func receive(_ block: ReportBlock, roundTrip: Interval, limits: ClosedRange<Bitrate>, at now: Instant) {
        if started == nil { started = now }
        guard let index = sources.firstIndex(where: { $0.ssrc == block.ssrc }) else {
            let new = Source(
                ssrc: block.ssrc, highest: block.highestSequenceNumber, lost: block.cumulativeLost, reportedAt: now)
            if sources.count < Self.mostSources {
                sources.append(new)
            } else if let ended = sources.firstIndex(where: { now - $0.reportedAt > Self.longestSilence }) {
                sources[ended] = new
            }
            return
        }
        let sent = Int32(bitPattern: block.highestSequenceNumber &- sources[index].highest)
        let missing = block.cumulativeLost &- sources[index].lost
        sources[index].highest = block.highestSequenceNumber
        sources[index].lost = block.cumulativeLost
        sources[index].reportedAt = now
        // A peer that counts backwards, or in millions, is not counted with.
        guard (0...100_000).contains(sent), missing <= sent else { return }
        expected += Int(sent)
        lost += Int(max(missing, 0))
        guard expected >= Self.fewest else { return }
        update(loss: Double(lost) / Double(expected), roundTrip: roundTrip, at: now)
        rate = clamp(rate, limits)
        expected = 0
        lost = 0
    }

    private mutating func update(loss: Double, roundTrip: Interval, at now: Instant) {
        if loss > 0 { hasLost = true }
        if loss > Self.high {
            guard lastDecrease.map({ now - $0 >= Self.decreaseInterval + roundTrip }) ?? true else { return }
            lastDecrease = now
            rate = rate * (1 - 0.5 * loss)
        } else if loss < Self.low {
            guard lastGrowth.map({ now - $0 >= Self.growthInterval }) ?? true else { return }
            lastGrowth = now
            rate = rate * Self.growth + Self.smallGrowth
        }
    }

    private func clamp(_ rate: Bitrate, _ limits: ClosedRange<Bitrate>) -> Bitrate {
        min(max(min(rate, peerEstimate ?? rate), limits.lowerBound), limits.upperBound)
    }
}
