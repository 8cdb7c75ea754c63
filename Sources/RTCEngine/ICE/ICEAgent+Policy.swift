internal import RTCWire

/// Which candidates are used (W3C: RTCIceTransportPolicy).
public enum ICETransportPolicy: String, Hashable, Sendable {
    case all
    /// Only relayed ones: the peer learns none of our own addresses.
    case relay
}

/// Each generation has the policy with which its gathering began. Our own addresses are known under both, so that the
/// next one may have the other.
extension ICEAgent {
    /// Uses these candidates from the next gathering on, the first one or that of a restart (RFC 8829 §4.1.18).
    public mutating func setTransportPolicy(_ policy: ICETransportPolicy) {
        configuration.transportPolicy = policy
        if session.gatherer.state == .new, bases.isEmpty { session.transportPolicy = policy }
    }

    /// The policy has changed since the candidates of this generation were gathered (RFC 8829 §5.2.2: the next offer is
    /// a restart), or had meanwhile, and not all of them were told.
    public var awaitsRestart: Bool {
        configuration.transportPolicy != session.transportPolicy || session.hasWithheld
    }

    /// Whether addresses of ours are told that have not been yet. Once relays alone are wanted no more are, also before
    /// the restart that leaves those behind that were.
    var tellsOwnAddresses: Bool { session.transportPolicy == .all && configuration.transportPolicy == .all }

    /// As above, of one that there is to tell.
    mutating func mayTellOwnAddress() -> Bool {
        if session.transportPolicy == .all, !tellsOwnAddresses { session.hasWithheld = true }
        return tellsOwnAddresses
    }

    /// W3C RTCIceTransportPolicy: under `.relay` an address of ours is told to nobody, used for nothing, and deaf to
    /// checks that come all the same.
    func mayUse(_ base: TransportAddress) -> Bool {
        session.transportPolicy == .all || relays.contains { $0.relayed == base }
    }

    /// As above; and the pair that carries media while a restart looks for another one keeps its consent.
    func isHeard(at base: TransportAddress) -> Bool {
        guard isOurs(base) else { return false }
        return mayUse(base) || path.map { $0.route.base == base && $0.generation != session.generation } ?? false
    }
}
