internal import RTCWire

/// The offer/answer machine of a peer connection (JSEP: RFC 8829 and RFC 9429) without I/O: it holds the transceivers
/// and the four descriptions, makes offers and answers, and says what setting a description asks of the transport and
/// of the streams. There is one transport: media is always bundled (max-bundle), RTCP always multiplexed.
///
/// A call either succeeds and returns what is to be done, or throws and has changed nothing.
///
/// ICE credentials are the owner's: it passes the present ones to `createOffer` and `createAnswer`, or fresh ones for
/// a restart. Nothing of a remote offer reaches the transport before our answer is set, so a rollback has nothing to
/// take back there.
public struct Negotiator: Sendable {
    /// What a rollback goes back to (RFC 8829 §4.1.10.2).
    struct StableState: Sendable {
        var associations: [TransceiverID: Transceiver.Association]
        var transport: TransportAgreement
        var payloadTypes: PayloadTypeRegistry
        var extensionIDs: HeaderExtensionRegistry
        var data: DataSection.Association
        var retired: Transceiver?
        var created: CreatedDescription?
    }

    /// The last result of `createOffer` or `createAnswer` (W3C: [[LastCreatedOffer]]).
    struct CreatedDescription: Sendable {
        var typed: TypedDescription
        /// For an offer, whose section is where.
        var plan: [SectionPlan]
    }

    public let configuration: NegotiatorConfiguration
    public internal(set) var signalingState = SignalingState.stable
    /// All transceivers that have not ended, in the order in which they were made.
    public internal(set) var transceivers: [Transceiver] = []

    /// Our description of the last completed negotiation.
    public internal(set) var currentLocalDescription: TypedDescription?
    /// Ours of the negotiation that is going on.
    public internal(set) var pendingLocalDescription: TypedDescription?
    /// The peer's of the last completed negotiation.
    public internal(set) var currentRemoteDescription: TypedDescription?
    /// The peer's of the negotiation that is going on.
    public internal(set) var pendingRemoteDescription: TypedDescription?

    /// Our credentials that `restartICE()` has found in our descriptions (W3C: [[LocalIceCredentialsToReplace]]).
    var credentialsToReplace: Set<ICEParameters> = []

    var random: EngineRandom
    var nextSSRC: UInt32
    let stepOfSSRCs: UInt32
    let cname: String
    let sessionID: String
    var sessionVersion: UInt64 = 1
    var mids = MidGenerator()
    var nextTransceiver: UInt32 = 0
    var created: CreatedDescription?
    /// Nil while stable.
    var stable: StableState?
    var transport = TransportAgreement()
    var payloadTypes = PayloadTypeRegistry()
    var extensionIDs = HeaderExtensionRegistry()
    var localCandidates = LocalCandidates()
    /// The section for data channels.
    var data = DataSection()
    /// A transceiver that has ended while its section goes on, inactive, since the bundle stands on it. Its phase is
    /// that of before: `stopping` where we have ended it, `active` where no codec was common.
    var retired: Transceiver?

    public init(configuration: NegotiatorConfiguration, random: EngineRandom = .system) {
        var random = random
        self.configuration = configuration
        self.cname = configuration.cname ?? random.iceCharacters(16)
        // RFC 8829 §5.2.1: 63 random bits, so that it fits a signed integer.
        self.sessionID = "\(random.next() >> 1)"
        self.nextSSRC = UInt32(truncatingIfNeeded: random.next() >> 16)
        self.stepOfSSRCs = UInt32(truncatingIfNeeded: random.next() >> 16) | 1
        self.random = random
    }

    /// The pending description of ours, or else the current one, with the candidates so far.
    public var localDescription: TypedDescription? { pendingLocalDescription ?? currentLocalDescription }
    /// The pending description of the peer's, or else the current one, with the candidates so far.
    public var remoteDescription: TypedDescription? { pendingRemoteDescription ?? currentRemoteDescription }

    /// Asks for new ICE credentials: `wantsICERestart` and `negotiationNeeded` are true until a negotiation is complete
    /// in which none of ours is one that our descriptions have now (W3C: restartIce). One whose offer is out already
    /// does not count.
    public mutating func restartICE() {
        let descriptions = [currentLocalDescription, pendingLocalDescription]
        credentialsToReplace = Set(descriptions.compactMap { $0?.sdp.iceParameters })
    }

    /// The next offer should have new credentials: `restartICE()` was called, and has not come about yet. The first
    /// offer has none to replace, also where it comes again after a rollback.
    public var wantsICERestart: Bool { transport.localICE != nil && !credentialsToReplace.isEmpty }

    /// The peer's offer restarts ICE, so `createAnswer` needs new credentials of ours too (RFC 8839 §4.4.2.1). After a
    /// provisional answer it has those of that one.
    public var answerNeedsNewICE: Bool {
        guard signalingState == .haveRemoteOffer, let offer = pendingRemoteDescription, offer.type == .offer,
            let known = stable?.transport.remoteICE, let index = offer.sdp.firstUsableSection,
            let peer = try? PeerTransport(reading: offer.sdp, section: index)
        else { return false }
        return peer.ice.parameters != known.parameters
    }

    /// Ends everything; every later call that would change something throws `.closed`.
    public mutating func close() -> [NegotiationAction] {
        let old = self
        for index in transceivers.indices {
            transceivers[index].phase = .stopped
            transceivers[index].endStreams()
        }
        signalingState = .closed
        stable = nil
        created = nil
        return actions(since: old)
    }

    /// Runs a change on a copy, so that one that throws half way leaves nothing behind.
    mutating func change(
        _ body: (inout Negotiator) throws(NegotiationError) -> Void
    ) throws(NegotiationError) -> [NegotiationAction] {
        guard signalingState != .closed else { throw .closed }
        var next = self
        try body(&next)
        let actions = next.actions(since: self)
        self = next
        return actions
    }
}

/// Gives media sections their names: numbers that go up.
struct MidGenerator: Sendable {
    private var next: UInt64 = 0

    /// A name is in use. Only the highest number is remembered: names of other forms are never made here, and a peer
    /// that thinks of new ones in each offer fills no memory.
    mutating func reserve(_ mid: String) {
        guard let number = UInt32(mid), "\(number)" == mid else { return }
        next = max(next, UInt64(number) + 1)
    }

    /// A short name that neither side has used in this session (RFC 8829 §5.2.1).
    mutating func make() -> String {
        defer { next += 1 }
        return "\(next)"
    }
}
