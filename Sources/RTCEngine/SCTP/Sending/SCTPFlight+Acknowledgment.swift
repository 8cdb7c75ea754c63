internal import RTCWire

/// What a SACK changed.
struct SCTPAcknowledged: Sendable {
    /// User bytes acknowledged for the first time.
    var bytes = 0
    /// The cumulative TSN has moved.
    var hasAdvanced = false
    var roundTrip: Interval?
    /// RFC 9260 §7.2.4: chunks were found lost by acknowledgments of later ones.
    var foundLosses = 0
}

extension SCTPFlight {
    /// RFC 9260 §6.2.1. Nil for a SACK that is older than the last or acknowledges what was never sent.
    mutating func acknowledge(
        upTo tsn: UInt32, blocks: [SCTPSelectiveAcknowledgment.Block], isRecovering: Bool, at now: Instant
    ) -> SCTPAcknowledged? {
        let advance = SerialNumber.distance(from: cumulative, to: tsn)
        guard advance >= 0, advance <= chunks.count else { return nil }
        var result = SCTPAcknowledged()
        for index in 0..<advance { take(index, into: &result, at: now) }
        removeFirst(advance)
        result.hasAdvanced = advance > 0

        // The peer had this one and has it no longer (§6.2.1 iv): what it said of later ones is void as well.
        if let first = chunks.first, first.fate == .acknowledged { forgetBlocks() }

        var before = 0
        var highestNew: Int?
        var highest = 0
        for block in blocks {
            // Blocks that overlap, run backwards or reach past what was sent: the rest is not believed.
            guard block.start > before, block.end >= block.start, Int(block.end) <= chunks.count else { break }
            for index in Int(block.start) - 1..<Int(block.end) where take(index, into: &result, at: now) {
                highestNew = index
            }
            before = Int(block.end)
            // Blocks count from 1, places from 0.
            highest = before - 1
        }
        // §7.2.4: the highest newly acknowledged TSN counts; in recovery an advance counts for all that are missing.
        let limit = isRecovering && result.hasAdvanced ? highest : highestNew ?? 0
        if limit > 0 { countMisses(below: limit, into: &result) }
        return result
    }

    /// Whether the chunk was not acknowledged before.
    @discardableResult
    private mutating func take(_ index: Int, into result: inout SCTPAcknowledged, at now: Instant) -> Bool {
        switch chunks[index].fate {
        case .inFlight, .lost:
            result.bytes += chunks[index].count
            if let time = measure(index, at: now) { result.roundTrip = time }
            setFate(of: index, to: .acknowledged)
            return true
        case .acknowledged, .abandoned: return false
        }
    }

    private mutating func countMisses(below limit: Int, into result: inout SCTPAcknowledged) {
        let last = tsn(at: limit)
        for index in 0..<limit where chunks[index].fate == .inFlight {
            // A retransmission is judged by what was first sent after it; RFC 9260 would wait for the timer.
            guard !SerialNumber.isNewer(chunks[index].sentBefore, than: last), addMiss(to: index) >= 3 else { continue }
            setFate(of: index, to: .lost)
            result.foundLosses += 1
        }
    }

    private mutating func forgetBlocks() {
        for index in 0..<chunks.count where chunks[index].fate == .acknowledged { setFate(of: index, to: .lost) }
    }
}
