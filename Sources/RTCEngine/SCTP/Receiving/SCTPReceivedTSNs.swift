internal import RTCWire

/// Which TSNs have come (RFC 9260 §6.2).
struct SCTPReceivedTSNs: Sendable {
    /// TSNs that have come behind a gap; both ends belong to it.
    private struct Range: Sendable {
        var first: UInt32
        var last: UInt32
    }

    enum Place: Sendable {
        /// The next one, the one that everything behind it waits for.
        case next
        /// Behind a gap.
        case ahead
        case duplicate
        /// Not to be taken: more gaps or a larger leap than we remember. As good as lost.
        case tooFar
    }

    /// Everything up to this one has come.
    private(set) var cumulative: UInt32
    private var ranges: [Range] = []
    private(set) var duplicates: [UInt32] = []

    /// Many more than a SACK can name.
    private static let maximumRanges = 2_048
    /// A SACK names TSNs by 16-bit offsets.
    private static let maximumLeap = 65_535
    private static let maximumDuplicates = 32

    init(initialTSN: UInt32) { cumulative = initialTSN &- 1 }

    var hasGaps: Bool { !ranges.isEmpty }

    func place(of tsn: UInt32) -> Place {
        let distance = offset(tsn)
        if distance == 1 { return .next }
        if distance <= 0 { return .duplicate }
        if distance > Self.maximumLeap { return .tooFar }
        let index = firstRange(endingAtOrAfter: distance)
        if index < ranges.count, offset(ranges[index].first) <= distance { return .duplicate }
        // At the limit, what closes a gap or makes a range longer is still taken.
        let isBeside =
            index > 0 && ranges[index - 1].last &+ 1 == tsn || index < ranges.count && ranges[index].first == tsn &+ 1
        return isBeside || ranges.count < Self.maximumRanges ? .ahead : .tooFar
    }

    /// Records a TSN whose place is `next` or `ahead`.
    mutating func record(_ tsn: UInt32) {
        let distance = offset(tsn)
        guard distance > 1 else {
            if distance == 1 { advance(to: tsn) }
            return
        }
        let index = firstRange(endingAtOrAfter: distance)
        let touchesBefore = index > 0 && ranges[index - 1].last &+ 1 == tsn
        let touchesAfter = index < ranges.count && ranges[index].first == tsn &+ 1
        if touchesBefore, touchesAfter {
            ranges[index - 1].last = ranges[index].last
            ranges.remove(at: index)
        } else if touchesBefore {
            ranges[index - 1].last = tsn
        } else if touchesAfter {
            ranges[index].first = tsn
        } else {
            ranges.insert(Range(first: tsn, last: tsn), at: index)
        }
    }

    /// Counts everything up to `tsn` as come: the next has, or the peer gave it up (RFC 3758 §3.6).
    mutating func advance(to tsn: UInt32) {
        guard offset(tsn) > 0 else { return }
        var reached = tsn
        var used = 0
        while used < ranges.count, !SerialNumber.isNewer(ranges[used].first, than: reached &+ 1) {
            if SerialNumber.isNewer(ranges[used].last, than: reached) { reached = ranges[used].last }
            used += 1
        }
        cumulative = reached
        if used > 0 { ranges.removeFirst(used) }
    }

    mutating func noteDuplicate(_ tsn: UInt32) {
        if duplicates.count < Self.maximumDuplicates { duplicates.append(tsn) }
    }

    /// What a SACK with room for so many blocks and duplicates says; the duplicates are told once (RFC 9260 §3.3.4).
    mutating func acknowledgment(window: Int, maximumEntries: Int) -> SCTPSelectiveAcknowledgment {
        var result = SCTPSelectiveAcknowledgment(
            cumulativeTSN: cumulative, receiverWindow: UInt32(clamping: window))
        for range in ranges.prefix(maximumEntries) {
            let end = offset(range.last)
            // FORWARD TSN aside, nothing was taken from beyond `maximumLeap`.
            guard end <= Self.maximumLeap else { break }
            result.blocks.append(
                .init(start: UInt16(truncatingIfNeeded: offset(range.first)), end: UInt16(truncatingIfNeeded: end)))
        }
        result.duplicates = Array(duplicates.prefix(max(0, maximumEntries - result.blocks.count)))
        duplicates.removeAll(keepingCapacity: true)
        return result
    }

    private func offset(_ tsn: UInt32) -> Int { SerialNumber.distance(from: cumulative, to: tsn) }

    /// The index of the first range that does not end before this offset. Most TSNs come at the end.
    private func firstRange(endingAtOrAfter distance: Int) -> Int {
        guard let last = ranges.last, offset(last.last) >= distance else { return ranges.count }
        var low = 0
        var high = ranges.count - 1
        while low < high {
            let middle = (low + high) / 2
            if offset(ranges[middle].last) < distance { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
