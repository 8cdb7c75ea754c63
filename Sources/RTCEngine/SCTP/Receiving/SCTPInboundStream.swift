internal import RTCWire

/// The peer's outgoing side of a stream, as it reaches us. Messages are counted from the stream's beginning; on the
/// wire are the last 16 bits of that count (DATA) or 32 (I-DATA).
struct SCTPInboundStream: Sendable {
    /// The count of the ordered message that is delivered next.
    private(set) var nextOrdered = 0
    /// From `nextOrdered` on.
    var ordered = SCTPWaitingMessages()
    /// With interleaving; without, `SCTPReassembly` holds the fragments of all streams.
    var unordered = SCTPWaitingMessages()
    private var lastUnordered = 0
    /// The ordered message that the peer has named last as given up, as it is on the wire.
    var lastSkipped: UInt32?

    mutating func advanceOrder(past place: Int) { nextOrdered = place + 1 }

    /// The count of an ordered message; nil when its turn is over: the peer has given it up.
    func place(of number: UInt32, isInterleaved: Bool) -> Int? {
        guard isInterleaved else {
            // Any of the 65,536 numbers may be ahead. What was given up is known by its TSN, and does not come here.
            return nextOrdered + Int(UInt16(truncatingIfNeeded: Int(number) &- nextOrdered))
        }
        let distance = SerialNumber.distance(from: UInt32(truncatingIfNeeded: nextOrdered), to: number)
        return distance >= 0 ? nextOrdered + distance : nil
    }

    /// Up to where the peer has given up; nil when we are past that.
    func limit(ofSkip number: UInt32, isInterleaved: Bool) -> Int? {
        guard !isInterleaved else { return place(of: number, isInterleaved: true) }
        // What it gave up may have come: half of the numbers are behind us.
        let distance = Int(Int16(truncatingIfNeeded: Int(number) &- nextOrdered))
        return distance >= 0 ? nextOrdered + distance : nil
    }

    /// The count of an unordered message, taken for the nearest to the one before.
    mutating func unorderedPlace(of number: UInt32) -> Int {
        lastUnordered += SerialNumber.distance(from: UInt32(truncatingIfNeeded: lastUnordered), to: number)
        return lastUnordered
    }
}
