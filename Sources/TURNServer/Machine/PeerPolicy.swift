public import RTCWire

/// To which addresses a server relays. The one place that decides it: a relay that reaches the networks behind it is a
/// door into them (RFC 8656 §21.4.1).
///
/// Never: loopback, unspecified, link-local, multicast, broadcast and reserved addresses, nor any of them inside an
/// address of IPv6 that stands for one of IPv4; nor the host's own addresses, behind which services may be that its
/// firewall keeps from others. Private ranges only if they are allowed. Everything else, unless it is denied.
public struct PeerPolicy: Sendable {
    /// Whether all private ranges are reached: RFC 1918, shared (RFC 6598), unique local (RFC 4193) and their like.
    public var allowsPrivateRanges = false
    /// Private ranges that are reached though the others are not.
    public var allowed: [IPPrefix] = []
    /// What is not reached, whatever else is said.
    public var denied: [IPPrefix] = []
    /// The host's own addresses: what it listens on, and what it is known by outside. `TURNService` adds those that it
    /// has. Clients' relayed addresses on them are reached all the same, within the server, and each `TURNHostService`.
    public var host: [IPAddress] = []
    /// Reached although nobody should reach it through a relay: loopback or the host, for tests on one machine. Whoever
    /// has a credential then reaches every service that this host keeps to itself.
    public var insecurelyAllowed: [IPPrefix] = []

    public init() {}

    /// Whether the server relays to this address, and takes from it.
    public func permits(_ ip: IPAddress) -> Bool {
        if denied.contains(where: { $0.contains(ip) }) { return false }
        if insecurelyAllowed.contains(where: { $0.contains(ip) }) { return true }
        if host.contains(ip) { return false }
        if Self.never.contains(where: { $0.contains(ip) }) { return false }
        if !allowsPrivateRanges, Self.privateRanges.contains(where: { $0.contains(ip) }),
            !allowed.contains(where: { $0.contains(ip) })
        {
            return false
        }
        // Somewhere on the way it becomes a packet of IPv4, to that address.
        return Self.embedded(in: ip).allSatisfy(permits)
    }

    private static func prefixes(_ texts: String...) -> [IPPrefix] { texts.compactMap { IPPrefix($0) } }

    private static let never = prefixes(
        // RFC 6890: this network, loopback, link-local, multicast, reserved with the limited broadcast.
        "0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
        // RFC 4291: unspecified and loopback within the IPv4-compatible addresses, IPv4-mapped, link-local, multicast.
        // Hosts take mapped addresses for IPv4 or not at all, so none is a peer's.
        "::/96", "::ffff:0:0/96", "fe80::/10", "ff00::/8",
        // RFC 2765: IPv4-translated. RFC 6666: nowhere.
        "::ffff:0:0:0/96", "100::/64")

    private static let privateRanges = prefixes(
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
        // RFC 6598 (carriers' NATs), RFC 6890 (protocol assignments), RFC 2544 (benchmarks).
        "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15",
        // RFC 4193, RFC 3879 (site-local), RFC 8215 (a network's own NAT64).
        "fc00::/7", "fec0::/10", "64:ff9b:1::/48")

    private static let nat64 = IPPrefix("64:ff9b::/96")
    private static let sixToFour = IPPrefix("2002::/16")
    private static let teredo = IPPrefix("2001::/32")

    /// Addresses of IPv4 to which a gateway may turn this one.
    private static func embedded(in ip: IPAddress) -> [IPAddress] {
        guard case .v6(let high, let low) = ip else { return [] }
        // RFC 6052 §2.1.
        if nat64?.contains(ip) == true { return [.v4(UInt32(truncatingIfNeeded: low))] }
        // RFC 3056 §2.
        if sixToFour?.contains(ip) == true { return [.v4(UInt32(truncatingIfNeeded: high >> 16))] }
        // RFC 4380 §4: the server, and the client with its bits turned over.
        if teredo?.contains(ip) == true {
            return [.v4(UInt32(truncatingIfNeeded: high)), .v4(~UInt32(truncatingIfNeeded: low))]
        }
        // RFC 5214 §6.1 (ISATAP), with and without the bit for global uniqueness.
        if low >> 32 & ~0x0200_0000 == 0x0000_5efe { return [.v4(UInt32(truncatingIfNeeded: low))] }
        return []
    }
}
