package import RTCEngine
package import RTCNetwork
package import RTCWire

/// Where a `MediaWorker` sends and receives, and its limits.
package struct MediaWorkerConfiguration: Sendable {
    /// An address of this host, and the one under which clients reach it: another where a NAT stands in front that maps
    /// one to one.
    package struct Address: Sendable, Equatable {
        package var local: IPAddress
        package var announced: IPAddress

        package init(local: IPAddress, announced: IPAddress? = nil) {
            self.local = local
            self.announced = announced ?? local
        }
    }

    /// Each gets a socket of its own, so that answers leave from the address that was asked. Not `0.0.0.0` nor `::`.
    /// RFC 8445 §5.2: clients are told of the first of IPv4, and of all of IPv6.
    package var addresses: [Address]
    /// Which addresses there are while the host has these interfaces; nil where they stay as they are.
    package var follow: (@Sendable ([NetworkInterface]) -> [Address])?
    /// For UDP; 0 takes one that is free on all addresses.
    package var port: UInt16 = 7_882
    /// For TCP (RFC 6544); 0 likewise, nil for none.
    package var tcpPort: UInt16? = 7_881
    package var security: any SecurityProvider
    package var ice = ICEConfiguration()
    package var congestion = CongestionConfiguration(pacing: .forwarded)

    /// Peer connections: nobody comes in beyond it. Who is in may make the second of two.
    package var maximumPeers = 10_000
    /// TCP connections in all.
    package var maximumTCPConnections = 10_000
    /// Of them, those from one address (IPv6: one /64) that have shown no credential yet. One client may open a dozen
    /// while it joins, and an office behind one address has many who join.
    package var maximumStrangersPerAddress = 256
    /// Of one peer connection: beyond, the one over which no check has come for the longest time ends.
    package var maximumTCPConnectionsOfPeer = 32
    /// How long a TCP connection may take to show a credential.
    package var patience = Duration.seconds(10)

    package init(addresses: [Address], security: any SecurityProvider) {
        self.addresses = addresses
        self.security = security
    }

    /// What to listen on for an address that may stand for all of this host's: those that are not loopback, or loopback
    /// where there is nothing else, as browsers gather them.
    package static func addresses(for ip: IPAddress, among interfaces: [NetworkInterface]) -> [IPAddress] {
        guard ip.isUnspecified else { return [ip] }
        let interfaces = interfaces.filter { ip.isIPv6 || !$0.address.isIPv6 }
        let reachable = interfaces.filter { !$0.isLoopback }
        var addresses: [IPAddress] = []
        for interface in reachable.isEmpty ? interfaces : reachable where !addresses.contains(interface.address) {
            addresses.append(interface.address)
        }
        return addresses
    }
}

/// Why a worker did not start.
package enum MediaWorkerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A port could not be taken.
    case port(_ transport: String, TransportAddress, SystemError)
    /// There is no address to listen on.
    case noAddress

    package var description: String {
        switch self {
        case .port(let transport, let address, let error):
            "Media cannot come in by \(transport) on \(address): "
                + (error.isAddressInUse
                    ? "the port is taken by another program."
                    : error.isAddressMissing ? "this machine has no such address." : "\(error).")
        case .noAddress: "There is no address for media to come in on."
        }
    }
}
