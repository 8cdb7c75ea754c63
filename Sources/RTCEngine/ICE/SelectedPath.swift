internal import RTCWire

/// The pair that carries media, with the credential of the generation that found it: it outlives that generation
/// during a restart (RFC 8445 §9).
struct SelectedPath: Sendable {
    let generation: Int
    /// False while the pair is used before any was nominated (RFC 8445 §12.1).
    let isNominated: Bool
    private(set) var selection: ICESelectedPair
    private(set) var pairPriority: UInt64
    /// What the peer names us by on it.
    var local: LocalCredential
    let peer: ICERemotePeer
    var consent: ConsentFreshness
    /// When anything authentic, or media, last came over it.
    var heardAt: Instant
    var roundTripTime: Interval?

    var route: ICERoute { selection.route }

    init(
        _ pair: CandidatePair, generation: Int, isNominated: Bool, local: LocalCredential, peer: ICERemotePeer,
        consent: ConsentFreshness, heardAt: Instant
    ) {
        selection = pair.selection
        pairPriority = pair.priority
        roundTripTime = pair.roundTripTime
        self.generation = generation
        self.isNominated = isNominated
        self.local = local
        self.peer = peer
        self.consent = consent
        self.heardAt = heardAt
    }

    /// The same two addresses, of which more is known now.
    mutating func rename(as pair: CandidatePair) {
        selection = pair.selection
        pairPriority = pair.priority
    }
}

/// A credential of ours, by which the peer's checks name us. One outlives its generation: the peer may go on using it
/// after a restart (`ICEAgent+Restart`).
struct LocalCredential: Sendable {
    let fragment: String
    let key: HMACSHA1

    init(_ parameters: ICEParameters) {
        fragment = parameters.usernameFragment
        key = HMACSHA1(password: parameters.password)
    }
}
