internal import RTCWire

/// How many streams each household has: one address of IPv4, and of IPv6 a /64, whose addresses one host can have all.
struct HouseholdCounts: Sendable {
    private var counts: [UInt64: Int] = [:]

    /// Those of the household of an address.
    subscript(ip: IPAddress) -> Int { counts[ip.household] ?? 0 }

    mutating func add(_ ip: IPAddress) { counts[ip.household, default: 0] += 1 }

    /// Nothing is kept of a household without any.
    mutating func remove(_ ip: IPAddress) {
        let left = self[ip] - 1
        counts[ip.household] = left > 0 ? left : nil
    }

    mutating func removeAll() { counts = [:] }

    var isEmpty: Bool { counts.isEmpty }
}
