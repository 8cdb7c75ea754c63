public import RTCWire

/// A range of addresses that begin alike, as `10.0.0.0/8`.
public struct IPPrefix: Hashable, Sendable {
    /// The first address of the range.
    public let ip: IPAddress
    /// How many bits are alike.
    public let length: Int

    /// Nil when the family has fewer bits. Bits behind the prefix are ignored.
    public init?(_ ip: IPAddress, length: Int) {
        guard (0...(ip.isIPv6 ? 128 : 32)).contains(length) else { return nil }
        self.ip = ip.masked(to: length)
        self.length = length
    }

    /// `10.0.0.0/8`, `fc00::/7`, or an address alone; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, let ip = IPAddress(first) else { return nil }
        switch parts.count {
        case 1: self.init(ip, length: ip.isIPv6 ? 128 : 32)
        case 2:
            guard (1...3).contains(parts[1].utf8.count), parts[1].utf8.allSatisfy({ (48...57).contains($0) }),
                let length = Int(parts[1])
            else { return nil }
            self.init(ip, length: length)
        default: return nil
        }
    }

    public func contains(_ other: IPAddress) -> Bool {
        other.isIPv6 == ip.isIPv6 && other.masked(to: length) == ip
    }
}

extension IPPrefix: CustomStringConvertible {
    public var description: String { "\(ip)/\(length)" }
}

extension IPAddress {
    /// The address with only its first `length` bits.
    fileprivate func masked(to length: Int) -> IPAddress {
        switch self {
        // A shift by all bits gives 0: Swift's shifts are not those of the processor.
        case .v4(let value): .v4(value & ~(UInt32.max >> UInt32(length)))
        case .v6(let high, let low):
            .v6(high & ~(UInt64.max >> UInt64(min(length, 64))), low & ~(UInt64.max >> UInt64(max(length - 64, 0))))
        }
    }
}
