internal import RTCWire

/// A candidate of ours together with the socket it is reached through (RFC 8445 §4, "base").
struct LocalCandidate: Sendable {
    var candidate: ICECandidate
    let address: TransportAddress
    let base: TransportAddress
}

/// A candidate of the peer that can be sent to.
struct RemoteCandidate: Sendable {
    var candidate: ICECandidate
    let address: TransportAddress

    init(candidate: ICECandidate, address: TransportAddress) {
        self.candidate = candidate
        self.address = address
    }

    /// Nil for what this agent cannot or will not use: names, TCP, components other than the one all is bundled
    /// on, and addresses that nobody can be behind.
    init?(usable candidate: ICECandidate) {
        guard candidate.transport == .udp, candidate.component == 1,
            let address = candidate.address.transportAddress, address.port != 0,
            !address.ip.isUnspecified, !address.ip.isMulticast
        else { return nil }
        self.init(candidate: candidate, address: address)
    }
}

extension IPAddress {
    /// Whether a packet from this address has a chance to reach `other`.
    /// RFC 8445 §6.1.2.2: one family, and IPv6 link-local only with its like. Loopback likewise: a peer's loopback
    /// is not ours, unless we are on loopback too.
    func canPair(with other: IPAddress) -> Bool {
        isIPv6 == other.isIPv6 && isLoopback == other.isLoopback && (!isIPv6 || isLinkLocal == other.isLinkLocal)
    }

    /// RFC 8445 §5.1.2.2 with RFC 8421: global IPv6 a little before IPv4, then link-local, then loopback.
    func localPreference(index: Int) -> UInt16 {
        let tier: Int
        if isLoopback {
            tier = 0x1fff
        } else if isLinkLocal {
            tier = 0x3fff
        } else {
            tier = isIPv6 ? 0xffff : 0xfeff
        }
        return UInt16(tier - min(index, 0xff))
    }
}

/// Gives equal foundations to candidates that are alike (RFC 8445 §5.1.1.3).
struct FoundationTable: Sendable {
    private struct Key: Equatable, Sendable {
        let type: ICECandidate.CandidateType
        let base: IPAddress
        let server: TransportAddress?
    }

    private var keys: [Key] = []

    mutating func foundation(
        of type: ICECandidate.CandidateType, base: IPAddress, server: TransportAddress? = nil
    ) -> String {
        let key = Key(type: type, base: base, server: server)
        if let index = keys.firstIndex(of: key) { return String(index + 1) }
        keys.append(key)
        return String(keys.count)
    }
}
