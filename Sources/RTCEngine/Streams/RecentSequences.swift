/// Which of the last packets of a stream have come: a retransmission and the packet it repeats must not both go on.
struct RecentSequences: Sendable {
    /// At a thousand packets a second, as long as a packet can be asked for again.
    private static let count: Int64 = 1_024

    private var bits = [UInt64](repeating: 0, count: Int(count) / 64)
    private var highest: Int64?

    /// Notes a packet; false when it has come before, or is too old to tell.
    mutating func insert(_ sequence: Int64) -> Bool {
        guard let highest else {
            self.highest = sequence
            set(sequence)
            return true
        }
        if sequence > highest {
            // What is passed over has not come yet.
            for passedOver in max(highest, sequence - Self.count) + 1..<sequence { clear(passedOver) }
            self.highest = sequence
            set(sequence)
            return true
        }
        guard sequence > highest - Self.count, !has(sequence) else { return false }
        set(sequence)
        return true
    }

    /// The source has started over.
    mutating func reset() {
        highest = nil
        for word in bits.indices { bits[word] = 0 }
    }

    private static func place(_ sequence: Int64) -> (word: Int, bit: UInt64) {
        // Unwrapped numbers may fall below zero, places may not.
        let place = sequence & (count - 1)
        return (Int(place >> 6), 1 << UInt64(place & 63))
    }

    private func has(_ sequence: Int64) -> Bool {
        let place = Self.place(sequence)
        return bits[place.word] & place.bit != 0
    }

    private mutating func set(_ sequence: Int64) {
        let place = Self.place(sequence)
        bits[place.word] |= place.bit
    }

    private mutating func clear(_ sequence: Int64) {
        let place = Self.place(sequence)
        bits[place.word] &= ~place.bit
    }
}
