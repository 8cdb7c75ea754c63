internal import RTCWire

/// The peer's half of one generation.
struct ICERemotePeer: Sendable {
    let parameters: ICEParameters
    let key: HMACSHA1
    /// RFC 8445 §2.5: a lite peer answers checks and sends none.
    var isLite: Bool

    init(_ parameters: ICEParameters, isLite: Bool) {
        self.parameters = parameters
        self.key = HMACSHA1(password: parameters.password)
        self.isLite = isLite
    }
}

/// A check that came before the peer's description (RFC 8445 §7.3): answered at once, acted on later.
struct EarlyCheck: Hashable, Sendable {
    let route: ICERoute
    let priority: UInt32
    let usesCandidate: Bool
    /// Which generation of the peer it claims to be from.
    let remoteFragment: String
}

/// A route that the peer of a lite agent has nominated.
struct LiteNomination: Sendable {
    let route: ICERoute
    let priority: UInt32
    /// What is to be answered from there before media go there; nil while nothing is asked.
    var question: STUNTransactionID?
}

/// What the peer said of its candidates before they could be used.
struct RemoteTrickle: Sendable {
    enum End: Hashable, Sendable {
        case open
        /// RFC 8838 §14.
        case ended
    }

    var candidates: [ICECandidate] = []
    var end = End.open
}

/// Everything that one generation of credentials owns; a restart begins another (RFC 8445 §9).
struct ICESession: Sendable {
    enum Phase: Hashable, Sendable {
        /// The peer's credential is not known yet.
        case awaitingPeer
        /// `lastPairAt`: when a pair was last formed, or else when checks began.
        case checking(since: Instant, lastPairAt: Instant)
        /// A pair was nominated.
        case settled
        case failed
    }

    /// Counts restarts.
    let generation: Int
    let local: ICEParameters
    let credential: LocalCredential
    /// That of the generation before: the peer may go on using it.
    let retired: LocalCredential?
    /// Of its gathering.
    var transportPolicy: ICETransportPolicy
    /// Something of ours was not told, for relays alone were wanted by then.
    var hasWithheld = false
    /// Over which the peer of this generation names us by `retired`, the latest last.
    var retiredRoutes: [ICERoute] = []
    var phase = Phase.awaitingPeer
    /// As a lite agent: how many checks were checked back.
    var checksBack = 0
    /// As a lite agent: what the peer has nominated, the latest last.
    var nominations: [LiteNomination] = []
    /// At how many addresses the peer was found that it had not told.
    var reflexiveRemotes = 0
    /// The selected pair was lost, and another one is looked for.
    var searchesAgain = false
    var peer: ICERemotePeer?
    /// Until the peer's credential comes, candidates wait here; afterwards only its end matters.
    var trickle = RemoteTrickle()
    var locals: [LocalCandidate] = []
    var remotes: [RemoteCandidate] = []
    /// Candidates of the peer's whose names are being looked up.
    var unresolved: [UnresolvedCandidate] = []
    var earlyChecks: [EarlyCheck] = []
    var checklist: Checklist
    var transactions = STUNTransactions()
    var gatherer = Gatherer()
    var nomination = ControllingStrategy()

    init(generation: Int, local: ICEParameters, after retired: LocalCredential?, configuration: ICEConfiguration) {
        self.generation = generation
        self.local = local
        self.credential = LocalCredential(local)
        self.retired = retired
        self.transportPolicy = configuration.transportPolicy
        self.checklist = Checklist(limit: configuration.maximumPairs)
    }

    /// Our half goes on as it was: its candidates, what looks for more of them, and checks that came too early.
    mutating func goOn(from former: ICESession) {
        transportPolicy = former.transportPolicy
        hasWithheld = former.hasWithheld
        locals = former.locals
        earlyChecks = former.earlyChecks
        gatherer = former.gatherer
        transactions = former.transactions
        transactions.removeChecks()
    }

    var isChecking: Bool {
        switch phase {
        case .checking: true
        case .awaitingPeer, .settled, .failed: false
        }
    }

    /// Nothing of this generation is sent any more.
    mutating func giveUp() {
        phase = .failed
        transactions.removeAll()
        gatherer.stopKeepalives()
    }

    /// Host and relayed candidates: the locals that pairs are formed with.
    var hosts: [LocalCandidate] { locals.filter(\.isBase) }
}
