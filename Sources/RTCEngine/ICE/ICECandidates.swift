internal import RTCWire

/// A candidate of ours together with the socket it is reached through (RFC 8445 §4, "base").
struct LocalCandidate: Sendable {
    var candidate: ICECandidate
    let address: TransportAddress
    let base: TransportAddress

    /// Whether pairs are formed with it. A reflexive one is sent from its base and would be pruned (RFC 8445 §6.1.2.4).
    var isBase: Bool {
        switch candidate.type {
        case .host, .relayed: true
        case .serverReflexive, .peerReflexive: false
        }
    }
}

/// A candidate of the peer that can be sent to.
struct RemoteCandidate: Sendable {
    var candidate: ICECandidate
    let address: TransportAddress

    init(candidate: ICECandidate, address: TransportAddress) {
        self.candidate = candidate
        self.address = address
    }

    /// Nil for what this agent cannot or will not use: TCP candidates that are not passive, components other than the
    /// one all is bundled on, and addresses that nobody can be behind.
    ///
    /// - Parameter ip: the candidate's own address, or what its name stands for.
    init?(usable candidate: ICECandidate, at ip: IPAddress?) {
        // RFC 6544 §6.2: an active candidate is met when it connects; its address is unknown before. Browsers have no
        // `so`.
        guard candidate.transport == .udp || candidate.tcpType == .passive, candidate.component == 1,
            candidate.address.port != 0, let ip,
            !ip.isUnspecified, !ip.isMulticast
        else { return nil }
        self.init(candidate: candidate, address: TransportAddress(ip, port: candidate.address.port))
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
        let transport: ICECandidate.Transport
    }

    private var keys: [Key] = []

    mutating func foundation(
        of type: ICECandidate.CandidateType, base: IPAddress, server: TransportAddress? = nil,
        transport: ICECandidate.Transport = .udp
    ) -> String {
        let key = Key(type: type, base: base, server: server, transport: transport)
        if let index = keys.firstIndex(of: key) { return String(index + 1) }
        keys.append(key)
        return String(keys.count)
    }
}
