/// An IPv4 or IPv6 address, without a scope.
public enum IPAddress: Hashable, Sendable {
    /// Host byte order: 127.0.0.1 is `0x7f000001`.
    case v4(UInt32)
    /// The high and the low eight bytes, host byte order.
    case v6(UInt64, UInt64)

    public var isIPv6: Bool {
        switch self {
        case .v4: false
        case .v6: true
        }
    }

    /// 127.0.0.0/8 and ::1.
    public var isLoopback: Bool {
        switch self {
        case .v4(let value): value >> 24 == 127
        case .v6(let high, let low): high == 0 && low == 1
        }
    }

    /// 169.254.0.0/16 and fe80::/10.
    public var isLinkLocal: Bool {
        switch self {
        case .v4(let value): value >> 16 == 0xa9fe
        case .v6(let high, _): high >> 54 == 0x3fa
        }
    }

    /// 0.0.0.0 and ::.
    public var isUnspecified: Bool {
        switch self {
        case .v4(let value): value == 0
        case .v6(let high, let low): high == 0 && low == 0
        }
    }

    /// 224.0.0.0/4 and ff00::/8.
    public var isMulticast: Bool {
        switch self {
        case .v4(let value): value >> 28 == 0xe
        case .v6(let high, _): high >> 56 == 0xff
        }
    }

    /// Whom it is counted for: a host of IPv6 has a whole /64 (RFC 7217), and one of IPv4 that comes to a socket of
    /// both (RFC 4291 §2.5.5.2) is one of IPv4.
    package var site: IPAddress {
        switch self {
        case .v4: self
        case .v6(0, let low) where low >> 32 == 0xffff: .v4(UInt32(truncatingIfNeeded: low))
        case .v6(let high, _): .v6(high, 0)
        }
    }
}

/// An address and a port of a datagram transport.
public struct TransportAddress: Hashable, Sendable {
    public var ip: IPAddress
    public var port: UInt16

    public init(_ ip: IPAddress, port: UInt16) {
        self.ip = ip
        self.port = port
    }
}
