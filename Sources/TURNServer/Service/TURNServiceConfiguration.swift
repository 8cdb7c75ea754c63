public import RTCNetwork
public import RTCSecurity
public import RTCWire

/// Where a `TURNService` listens.
public struct TURNServiceConfiguration: Sendable {
    public var server: TURNServerConfiguration
    /// Each gets sockets of its own, so that answers leave from the address that was asked. Not `0.0.0.0` nor `::`.
    public var addresses: [IPAddress]
    /// For UDP and TCP; 0 takes one that is free on all addresses.
    public var port: UInt16 = 3_478
    /// For TLS over TCP, if there is an identity; 0 likewise.
    public var tlsPort: UInt16 = 5_349
    /// The certificate for TLS; without one there is none.
    public var identity: TLSIdentity?

    /// TCP and TLS connections in all, and from one address; of IPv6 from one /64.
    public var maximumStreams = 4_000
    public var maximumStreamsPerAddress = 1_024
    /// Connections from one address that have no allocation yet.
    public var maximumStrangersPerAddress = 256
    /// How long a connection may be without an allocation.
    public var patience = Duration.seconds(20)

    public init(server: TURNServerConfiguration, addresses: [IPAddress]) {
        self.server = server
        self.addresses = addresses
    }

    /// What to listen on for an address that may stand for all of this host's, as `0.0.0.0` does for those of IPv4 and
    /// `::` for all.
    public static func addresses(for ip: IPAddress) throws(SystemError) -> [IPAddress] {
        guard ip.isUnspecified else { return [ip] }
        var addresses: [IPAddress] = []
        for interface in try NetworkInterface.current() where ip.isIPv6 || !interface.address.isIPv6 {
            if !addresses.contains(interface.address) { addresses.append(interface.address) }
        }
        return addresses
    }
}

/// Why a service did not start.
public enum TURNServiceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A port could not be taken.
    case port(TransportAddress, SystemError)
    /// There is no address to listen on.
    case noAddress

    public var description: String {
        switch self {
        case .port(let address, let error): "TURN cannot listen on \(address): \(error)"
        case .noAddress: "TURN has no address to listen on."
        }
    }
}
