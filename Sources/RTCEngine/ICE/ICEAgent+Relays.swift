public import RTCWire

/// A relayed address that a TURN server has given us (RFC 8445 §5.1.1.2).
public struct ICERelay: Hashable, Sendable {
    /// What peers send to, and what ICE sends from: the candidate is its own base.
    public var relayed: TransportAddress
    /// Where the server sees us.
    public var mapped: TransportAddress?
    public var server: TransportAddress
    /// How the server is reached.
    public var transport: TURNServer.Transport
    /// The socket that it is reached from over UDP.
    public var base: TransportAddress?
}

/// Relayed candidates. What ICE sends from a relayed address its owner carries through the allocation, and what comes
/// through the allocation it hands over as having come to that address.
extension ICEAgent {
    /// Relays are being asked for: gathering has begun, though there may be no address of our own to tell.
    public mutating func relaysAwaited() {
        guard connectionState != .closed else { return }
        session.gatherer.begin()
        noteGathering()
    }

    /// The next restart is to wait for relays: gathering is over when `localHostsComplete` is called again.
    public mutating func relaysAwaitedAgain() { basesComplete = false }

    /// A server has given us an address. To be called before gathering has completed: afterwards it waits for the next
    /// restart, since the peer has been told that no candidate follows.
    public mutating func addRelay(_ relay: ICERelay, at now: Instant) {
        guard connectionState != .closed, !isOurs(relay.relayed) else { return }
        relays.append(relay)
        guard session.gatherer.state != .complete else { return }
        tellReflexive(of: relay, at: now)
        tell(relay, index: relays.count - 1, at: now)
        advance(at: now)
    }

    /// It is gone with its allocation: its pairs end at once, as those of a socket that is gone, and no restart tells
    /// it again.
    ///
    /// - Parameter isRestarting: it is given back by a restart that goes on without it.
    /// - Returns: our candidates that are no more.
    public mutating func removeRelay(
        _ relayed: TransportAddress, isRestarting: Bool = false, at now: Instant
    ) -> [ICECandidate] {
        relays.removeAll { $0.relayed == relayed }
        return interfacesChanged(lost: [relayed], found: [], mayAskForRestart: !isRestarting, at: now)
    }

    /// A restart goes on with the allocations that there are.
    mutating func tellRelays(at now: Instant) {
        for (index, relay) in relays.enumerated() where !session.locals.contains(where: { $0.base == relay.relayed }) {
            // Nobody else tells it: where there are TURN servers alone, no STUN server is asked.
            tellReflexive(of: relay, at: now)
            tell(relay, index: index, at: now)
        }
    }

    private mutating func tell(_ relay: ICERelay, index: Int, at now: Instant) {
        let candidate = ICECandidate(
            foundation: foundations.foundation(of: .relayed, base: relay.relayed.ip, server: relay.server),
            priority: ICECandidate.priority(of: .relayed, localPreference: relay.localPreference(index: index)),
            address: .ip(relay.relayed), type: .relayed, relatedAddress: relatedAddress(of: relay),
            usernameFragment: session.local.usernameFragment)
        tell(LocalCandidate(candidate: candidate, address: relay.relayed, base: relay.relayed), at: now)
    }

    /// RFC 8839 §5.1: the mapped address, for diagnosis; unspecified where our addresses are not to be known.
    private func relatedAddress(of relay: ICERelay) -> TransportAddress {
        if tellsOwnAddresses, let mapped = relay.mapped { return mapped }
        return TransportAddress(relay.relayed.ip.isIPv6 ? .v6(0, 0) : .v4(0), port: 9)
    }

    /// RFC 8445 §5.1.1.2: the answer of a TURN server over UDP is also that of a STUN server.
    private mutating func tellReflexive(of relay: ICERelay, at now: Instant) {
        guard let base = relay.base, let mapped = relay.mapped else { return }
        tellReflexive(mapped, base: base, server: relay.server, at: now)
    }
}

extension ICERelay {
    /// RFC 8445 §5.1.2.2 leaves the order among relays to us: the fewer layers below, the better, and then as for
    /// hosts.
    fileprivate func localPreference(index: Int) -> UInt16 {
        let layers: UInt16 =
            switch transport {
            case .udp: 0
            case .tcp: 1
            case .tls: 2
            }
        return (2 - layers) << 14 | relayed.ip.localPreference(index: index) >> 2
    }
}
