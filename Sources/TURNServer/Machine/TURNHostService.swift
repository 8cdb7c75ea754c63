public import RTCWire

/// A UDP port of this host that is reached through the server though nothing else of the host is: where the media of
/// rooms comes in, for clients who have no other way to it.
public struct TURNHostService: Sendable, Hashable {
    /// What clients are told; they reach it by this address alone.
    public let announced: TransportAddress
    /// What its socket is bound to: another one where a NAT stands in front that maps it one to one. Datagrams go
    /// there, since such a NAT may not lead back in, and come from there.
    public let local: TransportAddress

    public init(local: TransportAddress, announced: TransportAddress? = nil) {
        self.local = local
        self.announced = announced ?? local
    }
}

/// The services of a host, found from either side.
struct TURNHostServices: Sendable {
    private var locals: [TransportAddress: TransportAddress] = [:]
    private var announced: [TransportAddress: TransportAddress] = [:]
    private let ips: Set<IPAddress>
    /// Of all of them: addresses of the host like any other.
    let hostAddresses: [IPAddress]

    /// - Parameter denied: what is not reached, whatever else is said.
    init(_ services: [TURNHostService] = [], denied: [IPPrefix] = []) {
        hostAddresses = services.flatMap { [$0.announced.ip, $0.local.ip] }
        let reached = services.filter { service in !denied.contains { $0.contains(service.announced.ip) } }
        ips = Set(reached.map(\.announced.ip))
        for service in reached {
            locals[service.announced] = service.local
            announced[service.local] = service.announced
        }
    }

    /// Whether one of them is there, at whatever port.
    func areAt(_ ip: IPAddress) -> Bool { ips.contains(ip) }

    /// Where the one is bound that clients know by this address.
    func local(of announced: TransportAddress) -> TransportAddress? { locals[announced] }

    /// How clients know the one that sends from this address.
    func announced(of local: TransportAddress) -> TransportAddress? { announced[local] }
}
