/// Arithmetic on numbers that wrap (RFC 1982), as SCTP's are: TSNs, stream sequence numbers, message identifiers
/// (RFC 9260 §1.6).
public enum SerialNumber {
    /// How far `newer` is after `older` on the shortest way round.
    @inlinable
    public static func distance(from older: UInt32, to newer: UInt32) -> Int {
        Int(Int32(bitPattern: newer &- older))
    }

    /// Whether `candidate` comes after `reference`. Equal numbers are not newer.
    @inlinable
    public static func isNewer(_ candidate: UInt32, than reference: UInt32) -> Bool {
        distance(from: reference, to: candidate) > 0
    }
}
