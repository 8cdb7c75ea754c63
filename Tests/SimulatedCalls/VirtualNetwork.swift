import RTCEngine
import RTCWire

/// One datagram on its way.
struct VirtualDatagram: Hashable {
    var source: TransportAddress
    var destination: TransportAddress
    var bytes: [UInt8]
}

struct HostID: Hashable { fileprivate let index: Int }
struct NATID: Hashable { fileprivate let index: Int }

/// An internet in memory, under virtual time and repeatable from its seed: hosts with addresses, access lines with
/// loss and delay, NATs of every kind, and STUN servers. It knows nothing of what the datagrams hold.
///
/// A test sends with `send`, asks `nextEvent` when something moves next, and takes what has arrived by `receive`.
struct VirtualNetwork {
    private struct Host {
        let addresses: [IPAddress]
        /// IPv4 addresses of this host are only known behind this NAT; IPv6 ones are public.
        let nat: NATID?
        var uplink: VirtualLink
        var downlink: VirtualLink
    }

    private enum Event {
        /// Has left the sender's line and NAT.
        case inCore(VirtualDatagram)
        case atHost(HostID, VirtualDatagram)
    }

    /// What became of the datagrams so far.
    struct Tally: Equatable {
        var sent = 0
        var delivered = 0
        /// By loss or a full queue.
        var lost = 0
        /// By a NAT that nobody had opened.
        var filtered = 0
        /// To an address that nobody has there.
        var unroutable = 0
    }

    private var random: EngineRandom
    private var hosts: [Host] = []
    private var nats: [VirtualNAT] = []
    private var stunServers: [TransportAddress] = []
    /// TURN servers with all that is behind their addresses.
    var turnServers: [VirtualTURNServer] = []
    /// What TURN servers carried between relayed addresses and peers, and when.
    private var carried: [(datagram: VirtualDatagram, at: Instant)] = []
    private var events = EventQueue<Event>()
    private(set) var tally = Tally()

    init(seed: UInt64) { random = .seeded(seed) }

    // MARK: Building

    mutating func addNAT(_ kind: NATKind, publicAddress: String) -> NATID {
        nats.append(VirtualNAT(kind, publicAddress: address(publicAddress)))
        return NATID(index: nats.count - 1)
    }

    mutating func addHost(
        _ addresses: [String], behind nat: NATID? = nil, uplink: LinkConditions = .access,
        downlink: LinkConditions = .access
    ) -> HostID {
        hosts.append(
            Host(
                addresses: addresses.map { address($0) }, nat: nat, uplink: VirtualLink(uplink),
                downlink: VirtualLink(downlink)))
        return HostID(index: hosts.count - 1)
    }

    /// A public server that tells everybody their address.
    mutating func addSTUNServer(at address: TransportAddress) { stunServers.append(address) }

    // MARK: Changing while it runs

    mutating func setUplink(_ conditions: LinkConditions, of host: HostID) {
        hosts[host.index].uplink.conditions = conditions
    }

    mutating func setDownlink(_ conditions: LinkConditions, of host: HostID) {
        hosts[host.index].downlink.conditions = conditions
    }

    mutating func forgetMappings(of nat: NATID) { nats[nat.index].forgetMappings() }

    // MARK: Running

    /// Puts a datagram on the line of `host`.
    mutating func send(
        _ bytes: [UInt8], from source: TransportAddress, to destination: TransportAddress, by host: HostID,
        at now: Instant
    ) {
        tally.sent += 1
        let arrivals = hosts[host.index].uplink.arrivals(ofBytes: bytes.count, at: now, random: &random)
        if arrivals.isEmpty { tally.lost += 1 }
        let plain = VirtualDatagram(source: source, destination: destination, bytes: bytes)
        guard let nat = hosts[host.index].nat, !source.ip.isIPv6 else {
            for arrival in arrivals { events.schedule(.inCore(plain), at: arrival) }
            return
        }
        // A neighbour on the same private network is reached without the NAT.
        if let neighbour = hostIndex(of: destination.ip, behind: nat) {
            for arrival in arrivals { events.schedule(.atHost(HostID(index: neighbour), plain), at: arrival) }
            return
        }
        guard !arrivals.isEmpty else { return }
        var translated = plain
        translated.source = nats[nat.index].outbound(from: source, to: destination)
        for arrival in arrivals { events.schedule(.inCore(translated), at: arrival) }
    }

    mutating func takeCarried() -> [(datagram: VirtualDatagram, at: Instant)] {
        defer { carried.removeAll() }
        return carried
    }

    /// When something moves next; nil when nothing is under way.
    var nextEvent: Instant? { events.nextAt }

    /// The next datagram that has arrived at a host by `now`, and when it did.
    mutating func receive(by now: Instant) -> (host: HostID, datagram: VirtualDatagram, at: Instant)? {
        while let (at, event) = events.pop(dueAt: now) {
            switch event {
            case .inCore(let datagram): route(datagram, at: at)
            case .atHost(let host, let datagram):
                tally.delivered += 1
                return (host, datagram, at)
            }
        }
        return nil
    }

    private mutating func route(_ datagram: VirtualDatagram, at now: Instant) {
        if stunServers.contains(datagram.destination) { return answer(datagram, at: now) }
        if let server = turnServers.firstIndex(where: { $0.owns(datagram.destination) }) {
            for reply in turnServers[server].receive(datagram, at: now) {
                events.schedule(.inCore(reply), at: now + .milliseconds(1))
            }
            for datagram in turnServers[server].takeCarried() { carried.append((datagram, now)) }
            return
        }
        var inner = datagram
        let target: Int?
        if let nat = nats.firstIndex(where: { $0.publicAddress == datagram.destination.ip }) {
            guard let inside = nats[nat].inbound(to: datagram.destination, from: datagram.source) else {
                tally.filtered += 1
                return
            }
            inner.destination = inside
            target = hostIndex(of: inside.ip, behind: NATID(index: nat))
        } else {
            target = publicHostIndex(of: datagram.destination.ip)
        }
        guard let target else {
            tally.unroutable += 1
            return
        }
        let arrivals = hosts[target].downlink.arrivals(ofBytes: inner.bytes.count, at: now, random: &random)
        if arrivals.isEmpty { tally.lost += 1 }
        for arrival in arrivals { events.schedule(.atHost(HostID(index: target), inner), at: arrival) }
    }

    private mutating func answer(_ datagram: VirtualDatagram, at now: Instant) {
        guard let request = try? STUNMessage(parsing: datagram.bytes.span.bytes), request.kind == .request else {
            return
        }
        let response = STUNMessage(
            .success, transactionID: request.transactionID, attributes: [.xorMappedAddress(datagram.source)])
        let reply = VirtualDatagram(
            source: datagram.destination, destination: datagram.source, bytes: response.encoded())
        events.schedule(.inCore(reply), at: now + .milliseconds(1))
    }

    private func hostIndex(of ip: IPAddress, behind nat: NATID) -> Int? {
        hosts.firstIndex { $0.nat == nat && $0.addresses.contains(ip) }
    }

    private func publicHostIndex(of ip: IPAddress) -> Int? {
        hosts.firstIndex { ($0.nat == nil || ip.isIPv6) && $0.addresses.contains(ip) }
    }
}

/// An address that a test writes out; a wrong one stops the test.
func address(_ text: String) -> IPAddress {
    guard let ip = IPAddress(text) else { fatalError("not an address: \(text)") }
    return ip
}

func endpoint(_ text: String, _ port: UInt16) -> TransportAddress {
    TransportAddress(address(text), port: port)
}
