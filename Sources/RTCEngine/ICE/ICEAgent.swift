public import RTCWire

/// An ICE agent, full or lite, for one stream and one component (RFC 8445, with trickle of RFC 8838 and consent of
/// RFC 7675).
///
/// It has neither sockets nor a clock. Its owner binds the sockets, reports what arrives and when, calls `tick` when
/// `nextWake` has come, and after every call drains `pollOutput`.
///
/// Where things live: requests from the peer in `+Requests`, responses in `+Responses`, our own checks in `+Checks`,
/// what is used before a pair is chosen in `+BeforeNomination`, the choice in `+Nomination`, what a lite agent does
/// instead in `+Lite`, what follows in `+Consent`, time in `+Timers`, states in `+State`.
public struct ICEAgent: Sendable {
    /// The selected pair's addresses alone: cheap, for every packet. Nil unless sending is allowed.
    public internal(set) var route: ICERoute?

    // MARK: State. Written by the extensions in this folder only.

    /// Fixed but for the STUN servers and the transport policy.
    var configuration: ICEConfiguration
    var random: EngineRandom
    /// Which agent decides (RFC 8445 §6.1.1). Changes by itself when both sides claim the same role.
    public internal(set) var role: ICERole
    var tieBreaker: UInt64
    /// The addresses our sockets are bound to.
    var bases: [TransportAddress] = []
    /// Where TCP connections come from or go to.
    var tcpHosts: [TCPHost] = []
    /// What TURN servers have given us: addresses that are reached through them.
    var relays: [ICERelay] = []
    var basesComplete = false
    var foundations = FoundationTable()
    /// The present generation.
    var session: ICESession
    /// How many have followed the first one; none has the number of one that was given up.
    var generations = 0
    /// The peer's next generation, known before ours (RFC 8839 §4.4.1.1.1): it begins with our own restart, or when it
    /// is known that there is none (`followRemote`).
    var staged: (peer: ICERemotePeer, trickle: RemoteTrickle)?
    /// What carries media; of the present generation or, during a restart, of the one before. Whoever sets it or
    /// changes its consent calls `noteRoute`.
    var path: SelectedPath?
    /// The settled generation that a restart has put aside: a restart that is taken back returns to it.
    var shelved: ICESession?
    var knownRemoteAddresses: KnownRemoteAddresses
    var refusals = RefusalBudget()
    /// RFC 8445 §14.2: no new transaction before this.
    var nextTransactionAt = Instant.zero
    var outputs = FIFO<ICEOutput>()
    var counters = ICEStatistics()
    /// The gathering state that the owner was last told.
    var announcedGathering = ICEGatheringState.new

    public internal(set) var connectionState = ICEConnectionState.new
    public var gatheringState: ICEGatheringState { session.gatherer.state }

    /// An agent that gathers as soon as it is given a base and checks as soon as it knows its peer.
    public init(configuration: ICEConfiguration, role: ICERole, random: EngineRandom) {
        var random = random
        let configuration = configuration.withinReason
        self.configuration = configuration
        // RFC 8445 §6.1.1: a lite agent never controls.
        self.role = configuration.isLite ? .controlled : role
        self.tieBreaker = random.next()
        let local = ICEParameters(using: &random)
        self.session = ICESession(generation: 0, local: local, after: nil, configuration: configuration)
        // Candidates that were told, and as many addresses again that only checks came from.
        self.knownRemoteAddresses = KnownRemoteAddresses(limit: configuration.maximumRemoteCandidates * 2)
        self.random = random
    }

    // MARK: What the owner can see

    /// Our credential of the present generation.
    public var localParameters: ICEParameters { session.local }

    /// Our candidates of the present generation, as they were put out. Peer-reflexive ones are not among them: the
    /// peer knows them already.
    public var localCandidates: [ICECandidate] {
        session.locals.map(\.candidate).filter { $0.type != .peerReflexive }
    }

    /// The pair that carries media; stays for diagnosis when its consent has expired.
    public var selectedPair: ICESelectedPair? { path?.selection }

    /// When the peer was last heard over the selected pair, by anything authentic of ICE or of media; nil without one.
    public var heardAt: Instant? { path?.heardAt }

    /// Whether anything but STUN may be sent (RFC 7675 §5.1).
    public var hasConsent: Bool { route != nil }

    /// The next thing to do, oldest first; nil when there is none.
    public mutating func pollOutput() -> ICEOutput? { outputs.popFirst() }

    // MARK: What the owner reports

    /// Takes the role that the descriptions imply: the offerer of the first offer controls (RFC 8445 §6.1.1). Only
    /// counts until the peer is known: from then on the role stays, through restarts too, unless a conflict changes it.
    public mutating func setRole(_ role: ICERole) {
        guard connectionState == .new, session.peer == nil, !configuration.isLite else { return }
        take(role: role)
    }

    /// A socket of ours is bound at `base`, a concrete address. Puts out its host candidate and asks the STUN
    /// servers from it. A lite agent takes the first address of IPv4 only (RFC 8445 §5.2).
    public mutating func addLocalHost(_ base: TransportAddress, at now: Instant) {
        guard connectionState != .closed, !base.ip.isUnspecified, !bases.contains(base), mayGather(from: base) else {
            return
        }
        bases.append(base)
        gather(from: base, index: bases.count - 1, at: now)
        advance(at: now)
    }

    /// No more bases will come: gathering is complete once the STUN servers have answered or been given up.
    public mutating func localHostsComplete(at now: Instant) {
        guard connectionState != .closed else { return }
        basesComplete = true
        session.gatherer.basesComplete()
        noteGathering()
        advance(at: now)
    }

    /// A datagram whose first byte is 0 to 3 came from `remote` to our socket at `base`. Whatever is wrong with it,
    /// it is counted and dropped, or answered with the error that RFC 8489 asks for.
    public mutating func receive(
        _ datagram: RawSpan, from remote: TransportAddress, to base: TransportAddress, at now: Instant
    ) {
        guard connectionState != .closed else { return }
        guard isHeard(at: base), let message = try? STUNMessage(parsing: datagram), message.method == .binding
        else {
            counters.datagramsIgnored += 1
            return
        }
        let route = ICERoute(base: base, remote: remote)
        switch message.kind {
        case .request: receiveRequest(message, datagram, over: route, at: now)
        case .success, .error: receiveResponse(message, datagram, over: route, at: now)
        // RFC 8445 §11: keepalives of older peers. Nothing to do.
        case .indication: break
        }
        advance(at: now)
    }

    /// Whether a datagram from this address may be the peer's: the address is a candidate of the peer's, or a check
    /// under our credential came from it. What comes from anywhere else is a stranger's, and is to go no further: one
    /// forged alert would end a DTLS handshake. Cheap, for every packet.
    public func knows(_ remote: TransportAddress) -> Bool {
        // Almost always the route in use; a look through the path's optional would copy the path.
        route?.remote == remote || path?.route.remote == remote || knownRemoteAddresses.contains(remote)
    }

    /// A hint that something other than STUN came over a route, whoever sent it (`mediaAuthenticated`).
    ///
    /// - Returns: whether it is the route of the selected pair.
    @discardableResult
    public mutating func mediaReceived(
        from remote: TransportAddress, to base: TransportAddress, at now: Instant
    ) -> Bool {
        guard let route, route.remote == remote, route.base == base else {
            followPeer(to: ICERoute(base: base, remote: remote), at: now)
            return false
        }
        return true
    }

    /// What came over the selected pair was the peer's: nobody else can have protected it. It tells a quiet pair from
    /// a busy one; a lite agent, which makes no checks, takes it for a check of the peer's besides (`consentHeard`). A
    /// full one's consent is not renewed by it.
    ///
    /// - Returns: whether there is something to be told (`pollOutput`).
    @discardableResult
    public mutating func mediaAuthenticated(at now: Instant) -> Bool {
        path?.heardAt = now
        guard configuration.isLite else { return false }
        let former = connectionState
        consentHeard(at: now)
        return connectionState != former
    }

    /// Call when `nextWake` has come; at other times it does nothing.
    public mutating func tick(at now: Instant) {
        guard connectionState != .closed else { return }
        advance(at: now)
    }

    /// Ends everything at once: no timer and no output remains but the change of state.
    public mutating func close() {
        guard connectionState != .closed else { return }
        outputs.removeAll()
        session.giveUp()
        staged = nil
        path = nil
        noteRoute()
        shelved = nil
        move(to: .closed, because: "closed by its owner")
    }
}
