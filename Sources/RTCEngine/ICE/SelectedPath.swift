internal import RTCWire

/// The pair that carries media, with the credential of the generation that found it: it outlives that generation
/// during a restart (RFC 8445 §9).
struct SelectedPath: Sendable {
    let generation: Int
    /// False while the pair is used before any was nominated (RFC 8445 §12.1).
    let isNominated: Bool
    let selection: ICESelectedPair
    let pairPriority: UInt64
    let localFragment: String
    let peer: ICERemotePeer
    var consent: ConsentFreshness
    /// When anything authentic, or media, last came over it.
    var heardAt: Instant
    var roundTripTime: Interval?

    var route: ICERoute { selection.route }
}

/// A credential of ours that the peer may still use for a moment after a restart.
struct RetiredCredential: Sendable {
    let fragment: String
    let key: HMACSHA1
}
