public import RTCWire

extension ICEAgent {
    /// STUN servers that became known after the sockets were bound, as their names had to be looked up first. To be
    /// called before gathering has completed: afterwards they wait for the next restart, since the peer has been
    /// told that no candidate follows.
    public mutating func addSTUNServers(_ servers: [TransportAddress], at now: Instant) {
        guard connectionState != .closed else { return }
        setSTUNServers(
            configuration.stunServers + servers.filter { !configuration.stunServers.contains($0) }, at: now)
    }

    /// STUN servers in place of those that were known; likewise.
    public mutating func setSTUNServers(_ servers: [TransportAddress], at now: Instant) {
        guard connectionState != .closed else { return }
        configuration.stunServers = servers
        guard session.gatherer.state != .complete else { return }
        for base in bases { askServers(from: base, at: now) }
        advance(at: now)
    }

    /// Every server that `base` can reach is to be asked, once.
    mutating func askServers(from base: TransportAddress, at now: Instant) {
        let servers = configuration.isLite ? [] : configuration.stunServers
        session.gatherer.add(base: base, servers: servers, timeout: configuration.gatheringTimeout, at: now)
    }
}
