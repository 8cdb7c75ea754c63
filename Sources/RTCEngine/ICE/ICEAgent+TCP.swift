public import RTCWire

/// Candidates over TCP (RFC 6544): for networks that let no UDP out. The agent sees a connection as a route like any
/// other, from a base that no UDP socket has: where we listen, or port 9 of the address that we connect from. The owner
/// makes and accepts connections, frames what goes over them (RFC 4571), and says when one is over.
extension ICEAgent {
    /// RFC 6544 §4.5: what an active candidate has for a port, since its own is known only once it connects.
    public static let activePort: UInt16 = 9

    /// TCP connections are accepted at `base` (passive), or can be made from its address (active; the port is
    /// `activePort`). Simultaneous open is for nobody: browsers do not know it.
    public mutating func addTCPHost(_ base: TransportAddress, _ type: ICECandidate.TCPType, at now: Instant) {
        guard connectionState != .closed, type != .simultaneousOpen, !base.ip.isUnspecified, !isOurs(base)
        else { return }
        // RFC 8445 §2.5: a lite agent begins nothing.
        guard type == .passive || !configuration.isLite else { return }
        let host = TCPHost(base: base, type: type)
        tcpHosts.append(host)
        tell(host, at: now)
        advance(at: now)
    }

    /// Puts the candidates of all TCP hosts out again, in a new generation.
    mutating func tellTCPHosts(at now: Instant) {
        for host in tcpHosts where !session.locals.contains(where: { $0.base == host.base }) { tell(host, at: now) }
    }

    private mutating func tell(_ host: TCPHost, at now: Instant) {
        guard mayTellOwnAddress() else { return }
        let index = tcpHosts.firstIndex { $0.base == host.base } ?? 0
        let candidate = ICECandidate(
            foundation: foundations.foundation(of: .host, base: host.base.ip, transport: .tcp), transport: .tcp,
            priority: ICECandidate.priority(
                ofTCP: host.type, localPreference: host.base.ip.localPreference(index: index)),
            address: .ip(host.base), type: .host, tcpType: host.type, usernameFragment: session.local.usernameFragment)
        tell(LocalCandidate(candidate: candidate, address: host.base, base: host.base), at: now)
    }

    /// A connection is over, or could not be made.
    public mutating func tcpConnectionClosed(from base: TransportAddress, to remote: TransportAddress, at now: Instant)
    {
        guard connectionState != .closed else { return }
        let route = ICERoute(base: base, remote: remote)
        session.transactions.remove(over: route)
        if let pair = session.checklist.pair(over: route) {
            fail(Checklist.Check(pair: pair.id, nominates: false))
        }
        if path?.route == route {
            // Another connection may be made to the same place.
            session.checklist.remove(over: route)
            losePath(because: "the connection of the selected pair is closed")
            searchAgain(at: now)
        }
        advance(at: now)
    }

    /// Whether a socket of ours is bound or connected there.
    func isOurs(_ base: TransportAddress) -> Bool {
        bases.contains(base) || tcpHosts.contains { $0.base == base } || relays.contains { $0.relayed == base }
    }
}

/// Where TCP connections come from or go to.
struct TCPHost: Sendable, Equatable {
    let base: TransportAddress
    let type: ICECandidate.TCPType
}

extension LocalCandidate {
    /// Whether checks from here to there make sense (RFC 6544 §6.2): of one transport, and over TCP from active to
    /// passive. A passive candidate is checked from when somebody has connected to it.
    func canPair(with remote: RemoteCandidate) -> Bool {
        guard base.ip.canPair(with: remote.address.ip) else { return false }
        switch (candidate.transport, remote.candidate.transport) {
        case (.udp, .udp): return true
        case (.tcp, .tcp): return candidate.tcpType == .active && remote.candidate.tcpType == .passive
        case (.udp, .tcp), (.tcp, .udp): return false
        }
    }
}

extension ICECandidate {
    /// RFC 6544 §4.2: TCP goes behind UDP. The values of libwebrtc, so that both sides of a call order alike.
    var typePreference: UInt8 {
        switch (transport, type) {
        case (.udp, _): type.typePreference
        case (.tcp, .host): 90
        case (.tcp, .peerReflexive): 80
        case (.tcp, .serverReflexive): 70
        case (.tcp, .relayed): 0
        }
    }

    /// RFC 6544 §4.2, for a host: the direction goes before the address, active before passive.
    static func priority(ofTCP type: TCPType, localPreference: UInt16) -> UInt32 {
        let direction: UInt32 =
            switch type {
            case .active: 6
            case .passive: 4
            case .simultaneousOpen: 2
            }
        return 90 << 24 | (direction << 13 | UInt32(localPreference >> 3)) << 8 | 255
    }
}
