internal import RTCWire

/// How many streams each site has: one address of IPv4, and of IPv6 a /64, whose addresses one host can have all.
struct SiteCounts: Sendable {
    private var counts: [IPAddress: Int] = [:]

    /// Those of the site of an address.
    subscript(ip: IPAddress) -> Int { counts[ip.site] ?? 0 }

    mutating func add(_ ip: IPAddress) { counts[ip.site, default: 0] += 1 }

    /// Nothing is kept of a site without any.
    mutating func remove(_ ip: IPAddress) {
        let left = self[ip] - 1
        counts[ip.site] = left > 0 ? left : nil
    }

    mutating func removeAll() { counts = [:] }

    var isEmpty: Bool { counts.isEmpty }
}
