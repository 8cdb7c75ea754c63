/// Arithmetic on the 16-bit sequence numbers of RTP, which wrap (RFC 1982, RFC 3550 §A.1).
public enum SequenceNumber {
    /// How far `newer` is after `older` on the shortest way round: -32,768 to 32,767.
    @inlinable
    public static func distance(from older: UInt16, to newer: UInt16) -> Int {
        Int(Int16(bitPattern: newer &- older))
    }

    /// Whether `candidate` comes after `reference`. Equal numbers are not newer; neither is the one exactly half
    /// the circle away.
    @inlinable
    public static func isNewer(_ candidate: UInt16, than reference: UInt16) -> Bool {
        distance(from: reference, to: candidate) > 0
    }
}

/// Turns wrapping 16-bit numbers into a line of 64-bit ones, following the highest number seen. The first number
/// keeps its value plus one cycle, so that packets from before it stay positive.
public struct SequenceUnwrapper: Sendable, Equatable {
    /// The highest unwrapped number so far; nil before the first.
    public private(set) var highest: Int64?

    public init() {}

    /// The unwrapped number nearest to the highest one, without recording it.
    public func peek(_ number: UInt16) -> Int64 {
        guard let highest else { return Int64(number) + 0x1_0000 }
        let step = SequenceNumber.distance(from: UInt16(truncatingIfNeeded: highest), to: number)
        return highest + Int64(step)
    }

    /// The unwrapped number, which becomes the highest when it is.
    public mutating func unwrap(_ number: UInt16) -> Int64 {
        let value = peek(number)
        highest = max(highest ?? value, value)
        return value
    }
}

/// Turns wrapping 32-bit RTP timestamps into a line of 64-bit ones.
public struct TimestampUnwrapper: Sendable, Equatable {
    /// The last unwrapped timestamp; nil before the first.
    public private(set) var last: Int64?

    public init() {}

    /// The unwrapped timestamp nearest to the last one, which it replaces.
    public mutating func unwrap(_ timestamp: UInt32) -> Int64 {
        guard let previous = last else {
            let value = Int64(timestamp) + 0x1_0000_0000
            last = value
            return value
        }
        let step = Int32(bitPattern: timestamp &- UInt32(truncatingIfNeeded: previous))
        last = previous + Int64(step)
        return previous + Int64(step)
    }
}
