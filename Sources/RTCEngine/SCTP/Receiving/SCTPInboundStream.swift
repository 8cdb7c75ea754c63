internal import RTCWire

/// The peer's outgoing side of a stream, as it reaches us.
struct SCTPInboundStream: Sendable {
    /// An ordered message that cannot be delivered yet, or an unordered one that is not whole.
    struct Waiting: Sendable {
        enum Content: Sendable {
            case fragments(SCTPFragments)
            case whole([UInt8], payloadProtocol: UInt32)
        }

        let number: UInt32
        var content: Content

        static let overhead = 128

        var cost: Int {
            switch content {
            case .fragments(let fragments): fragments.cost + Self.overhead
            case .whole(let bytes, _): bytes.count + Self.overhead
            }
        }
    }

    /// The number of the ordered message that is delivered next.
    var nextOrdered: UInt32 = 0
    /// By number, from `nextOrdered` on.
    var ordered: [Waiting] = []
    /// By number, with interleaving; without, all fragments together, by TSN.
    var unordered: [Waiting] = []

    /// How far a message is from the next in order. Numbers of DATA have 16 bits.
    func distance(to number: UInt32, isInterleaved: Bool) -> Int {
        isInterleaved
            ? SerialNumber.distance(from: nextOrdered, to: number)
            : Int(Int16(truncatingIfNeeded: number &- nextOrdered))
    }

    mutating func advanceOrder(past number: UInt32, isInterleaved: Bool) {
        nextOrdered = isInterleaved ? number &+ 1 : (number &+ 1) & 0xffff
    }

    /// Where a message stands among the ordered ones, and whether it is there.
    func place(of number: UInt32, isInterleaved: Bool) -> (index: Int, isPresent: Bool) {
        let wanted = distance(to: number, isInterleaved: isInterleaved)
        return Self.search(ordered) { distance(to: $0.number, isInterleaved: isInterleaved) - wanted }
    }

    func placeUnordered(of number: UInt32) -> (index: Int, isPresent: Bool) {
        Self.search(unordered) { SerialNumber.distance(from: number, to: $0.number) }
    }

    /// Looks at the end first, where most belong.
    private static func search(_ list: [Waiting], _ compare: (Waiting) -> Int) -> (index: Int, isPresent: Bool) {
        guard let last = list.last, compare(last) >= 0 else { return (list.count, false) }
        var low = 0
        var high = list.count - 1
        while low < high {
            let middle = (low + high) / 2
            if compare(list[middle]) < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, compare(list[low]) == 0)
    }
}
