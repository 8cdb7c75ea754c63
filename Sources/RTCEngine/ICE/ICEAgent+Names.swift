public import RTCWire

/// Candidates that show a name instead of an address (draft-ietf-mmusic-mdns-ice-candidates §3.2). The owner looks
/// names up; until it has, and if it never does, the peer's own checks may reveal the address (RFC 8445 §7.3.1.3).
extension ICEAgent {
    /// The owner has looked a name up for `ICEOutput.resolveName`; nil when nobody knows it.
    public mutating func nameResolved(_ name: String, to address: IPAddress?, at now: Instant) {
        guard connectionState != .closed else { return }
        let name = name.lowercased()
        let waiting = session.unresolved.filter { $0.name == name }
        session.unresolved.removeAll { $0.name == name }
        for item in waiting {
            guard let address, let remote = RemoteCandidate(usable: item.candidate, at: address) else {
                counters.remoteCandidatesIgnored += 1
                continue
            }
            use(remote, at: now)
        }
        advance(at: now)
    }

    /// Keeps a candidate until its name is looked up. False when it cannot be used anyhow.
    mutating func awaitName(of candidate: ICECandidate, _ name: String) -> Bool {
        // A lite agent sends to nobody who has not asked, and learns then where from. W3C WebRTC, addIceCandidate:
        // where only relays are used nothing is looked up, for the query alone tells the network who is called.
        guard !configuration.isLite, session.transportPolicy == .all, MDNSQuerier.isCandidateName(name),
            session.unresolved.count < configuration.maximumNames
        else { return false }
        let name = name.lowercased()
        let isNews = !session.unresolved.contains { $0.name == name }
        session.unresolved.append(UnresolvedCandidate(candidate: candidate, name: name))
        if isNews { outputs.append(.resolveName(name)) }
        return true
    }
}

/// A candidate whose address is being looked up.
struct UnresolvedCandidate: Sendable {
    let candidate: ICECandidate
    /// Lower case.
    let name: String
}
