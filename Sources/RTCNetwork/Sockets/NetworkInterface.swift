internal import CDatagram
public import RTCWire

/// An address of this host on which a candidate could be gathered.
public struct NetworkInterface: Sendable, Equatable {
    /// The system's name, as `eth0`.
    public var name: String
    /// One of its addresses; an interface with several is listed once for each.
    public var address: IPAddress
    /// Reaches this host only.
    public var isLoopback: Bool

    /// The addresses of all interfaces that are up, in the system's order. Link-local IPv6 is left out, as
    /// browsers do: such a candidate needs a scope that SDP cannot carry.
    public static func current() throws(SystemError) -> [NetworkInterface] {
        var capacity: Int32 = 64
        while true {
            var raw = [cdatagram_interface](repeating: cdatagram_interface(), count: Int(capacity))
            let count = cdatagram_interfaces(&raw, capacity)
            guard count >= 0 else { throw SystemError("getifaddrs", negated: count) }
            if count > capacity {
                capacity = count
                continue
            }
            return raw.prefix(Int(count)).compactMap(NetworkInterface.init)
        }
    }

    private init?(_ raw: cdatagram_interface) {
        guard raw.is_up != 0, let address = TransportAddress(raw.address)?.ip else { return nil }
        guard !address.isUnspecified, !address.isMulticast, !(address.isIPv6 && address.isLinkLocal) else { return nil }
        self.name = withUnsafeBytes(of: raw.name) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        self.address = address
        self.isLoopback = raw.is_loopback != 0
    }
}
