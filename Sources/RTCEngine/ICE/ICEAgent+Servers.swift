public import RTCWire

extension ICEAgent {
    /// STUN servers in place of those that were known, as names are looked up after the sockets are bound, or the
    /// application has others. To be called before gathering has completed: afterwards they wait for the next restart,
    /// since the peer has been told that no candidate follows.
    public mutating func setSTUNServers(_ servers: [TransportAddress], at now: Instant) {
        guard connectionState != .closed else { return }
        configuration.stunServers = servers
        guard session.gatherer.state != .complete else { return }
        for base in bases { askServers(from: base, at: now) }
        advance(at: now)
    }

    /// Every server that `base` can reach is to be asked, once.
    mutating func askServers(from base: TransportAddress, at now: Instant) {
        guard mayTellOwnAddress() else { return }
        let servers = configuration.isLite ? [] : configuration.stunServers
        session.gatherer.add(base: base, servers: servers, timeout: configuration.gatheringTimeout, at: now)
    }
}
