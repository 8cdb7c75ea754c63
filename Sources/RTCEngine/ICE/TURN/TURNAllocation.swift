internal import RTCWire

/// One allocation on a TURN server (RFC 8656), from the first request to the last, without sockets or clock. Its owner
/// carries its messages to the server and hands over what comes back; after every call it drains `pollOutput`.
///
/// Answers are in `+Responses`, peers and their data in `+Peers`.
struct TURNAllocation: Sendable {
    enum Phase: Hashable, Sendable {
        /// Waits for a way to the server.
        case idle
        case allocating
        case active(until: Instant)
        /// Our address has changed; the server is asked to follow (RFC 8016 §3.2).
        case moving(until: Instant)
        case ended
    }

    /// What the server has given.
    struct Grant: Hashable, Sendable {
        /// One, or one of each family.
        let relayed: [TransportAddress]
        /// Where the server sees us.
        let mapped: TransportAddress?
    }

    enum Output: Sendable {
        /// To the server.
        case send([UInt8])
        case allocated(Grant)
        /// Ask there instead, by a new allocation (RFC 8489 §10).
        case redirected(TransportAddress, domain: String?)
        /// Ask again from another address of ours (RFC 8656 §7.4, 437).
        case wantsAnotherPath
        /// It is over. The last output.
        case ended(TURNFailure)
    }

    /// What the server may still be asked for besides the address.
    struct Wishes: Sendable {
        var family: TURNAddressFamily?
        var additionalIPv6: Bool
        var ticket: Bool
    }

    let configuration: TURNConfiguration
    var authentication: TURNAuthentication
    var transactions: TURNTransactions
    var permissions: TURNPermissions
    var channels: TURNChannels
    var random: EngineRandom
    var wishes: Wishes
    private(set) var phase = Phase.idle
    /// How often the allocation was begun anew for a reason that the server gave.
    var retries = 0
    var grant: Grant?
    var ticket: [UInt8]?
    var refreshAt: Instant?
    /// Over UDP: when the way to the server is to be kept open.
    private var keepaliveAt: Instant?
    var held: [(bytes: [UInt8], peer: TransportAddress)] = []
    private var outputs = FIFO<Output>()

    /// - Parameter additionalIPv6: ask for an IPv6 address beside the IPv4 one (RFC 8656 §7.1).
    init(_ server: TURNServer, _ configuration: TURNConfiguration, additionalIPv6: Bool, random: EngineRandom) {
        self.configuration = configuration
        self.random = random
        authentication = TURNAuthentication(username: server.username, password: server.password)
        transactions = TURNTransactions(configuration, isReliable: server.transport != .udp)
        permissions = TURNPermissions(configuration)
        channels = TURNChannels(configuration)
        wishes = Wishes(family: nil, additionalIPv6: additionalIPv6, ticket: configuration.mobility)
    }

    mutating func pollOutput() -> Output? { outputs.popFirst() }

    mutating func put(_ output: Output) { outputs.append(output) }

    // MARK: From the owner

    /// There is a way to the server.
    mutating func start(at now: Instant) {
        guard phase == .idle else { return }
        phase = .allocating
        allocate(at: now)
    }

    /// There is another way to the server than before: our own address has changed, or a new stream was opened. False
    /// when the server cannot be asked to follow, and the allocation is over.
    mutating func pathChanged(at now: Instant) -> Bool {
        switch phase {
        case .idle, .ended: return false
        case .allocating:
            transactions.removeAll()
            allocate(at: now)
            return true
        case .active(let until), .moving(let until):
            guard ticket != nil else { return false }
            phase = .moving(until: until)
            transactions.removeAll()
            // Nobody answers these any more. The next datagram for the peer asks again; for channels see `activate`.
            permissions.forgetRequests()
            held = []
            refresh(at: now)
            return true
        }
    }

    /// The server thinks that this socket has an allocation already: it is given back before another is asked for. Not
    /// both at once, or the release, sent again when it is lost, would end the new one.
    mutating func allocateAfresh(at now: Instant) {
        guard phase == .allocating else { return }
        request(.release, .refresh, [.turn(.lifetime(0))], at: now)
    }

    /// Whatever the server said to the release, and if it said nothing.
    mutating func released(at now: Instant) {
        guard phase == .allocating else { return }
        allocate(at: now)
    }

    /// Gives the address back (RFC 8656 §8, a lifetime of 0); the message is among the outputs. Not repeated: the
    /// server forgets by itself.
    mutating func close(at now: Instant) {
        switch phase {
        case .active:
            request(.release, .refresh, [.turn(.lifetime(0))], at: now)
        case .idle, .allocating, .moving, .ended: break
        }
        finish()
    }

    /// The way to the server is gone for good.
    mutating func abandon(_ failure: TURNFailure) { fail(failure) }

    // MARK: Time

    var nextWake: Instant? {
        guard phase != .ended else { return nil }
        var wake = transactions.nextDeadline
        func consider(_ instant: Instant?) {
            guard let instant else { return }
            wake = wake.map { min($0, instant) } ?? instant
        }
        switch phase {
        case .active(let until):
            consider(until)
            consider(refreshAt)
            consider(keepaliveAt)
            consider(permissions.nextDue)
            consider(channels.nextDue)
        case .moving(let until): consider(until)
        case .idle, .allocating, .ended: break
        }
        return wake
    }

    mutating func tick(at now: Instant) {
        while let due = transactions.popDue(at: now) {
            switch due {
            case .resend(let datagram): put(.send(datagram))
            case .expired(let transaction): unanswered(transaction.purpose, at: now)
            }
        }
        switch phase {
        case .active(let until), .moving(let until):
            if until <= now { return fail(.expired) }
        case .idle, .allocating, .ended: return
        }
        guard case .active = phase else { return }
        if let refreshAt, refreshAt <= now, !transactions.isPending(.refresh) { refresh(at: now) }
        for ip in permissions.takeDue(at: now) where !transactions.isPending(.permission(ip)) {
            askPermission(for: ip, at: now)
        }
        for (number, peer) in channels.takeDue(at: now) where !transactions.isPending(.channel(number)) {
            bind(number, to: peer, at: now)
        }
        if let keepaliveAt, keepaliveAt <= now { keepOpen(at: now) }
    }

    /// RFC 8445 §5.1.1.4, §11: a NAT forgets a way that is idle, and the server knows an allocation by where it sees
    /// us. Also after a pair is selected: the next restart may need it.
    private mutating func keepOpen(at now: Instant) {
        keepaliveAt = now + configuration.keepaliveInterval
        put(.send(STUNMessage(.indication, transactionID: STUNTransactionID(using: &random)).encoded()))
    }

    private mutating func unanswered(_ purpose: TURNTransactions.Purpose, at now: Instant) {
        switch purpose {
        case .allocate: fail(.silent)
        // Once more, as long as there is time.
        case .refresh: refresh(at: now)
        case .permission(let ip): permissionUnanswered(ip, at: now)
        case .channel(let number): channels.refused(number)
        case .release: released(at: now)
        }
    }

    // MARK: Requests

    mutating func allocate(at now: Instant) {
        // RFC 8656 §7.1.
        var attributes: [STUNAttribute] = [.turn(.requestedTransport(TURNAttribute.udp))]
        if let family = wishes.family { attributes.append(.turn(.requestedAddressFamily(family))) }
        if wishes.additionalIPv6, wishes.family == nil { attributes.append(.turn(.additionalAddressFamily(.ipv6))) }
        if wishes.ticket { attributes.append(.turn(.mobilityTicket([]))) }
        request(.allocate, .allocate, attributes, at: now)
    }

    mutating func refresh(at now: Instant) {
        refreshAt = nil
        var attributes: [STUNAttribute] = []
        if case .moving = phase, let ticket { attributes.append(.turn(.mobilityTicket(ticket))) }
        request(.refresh, .refresh, attributes, at: now)
    }

    mutating func askPermission(for ip: IPAddress, at now: Instant) {
        // RFC 8656 §9.1: the port does not matter.
        let peer = TransportAddress(ip, port: 0)
        request(.permission(ip), .createPermission, [.turn(.xorPeerAddress(peer))], at: now)
    }

    mutating func bind(_ number: UInt16, to peer: TransportAddress, at now: Instant) {
        request(
            .channel(number), .channelBind, [.turn(.channelNumber(number)), .turn(.xorPeerAddress(peer))], at: now)
    }

    mutating func request(
        _ purpose: TURNTransactions.Purpose, _ method: STUNMethod, _ attributes: [STUNAttribute], challenges: Int = 0,
        at now: Instant
    ) {
        let message = STUNMessage(
            .request, method, transactionID: STUNTransactionID(using: &random), attributes: attributes)
        let datagram = authentication.encode(message)
        transactions.begin(
            purpose, message, datagram: datagram, isSigned: authentication.key != nil, challenges: challenges, at: now)
        put(.send(datagram))
    }

    // MARK: The phase's doors

    mutating func activate(until: Instant, at now: Instant) {
        phase = .active(until: until)
        // Asked for on a way that is gone. The server may have bound it: asked for again under its number, it is
        // renewed.
        for (number, peer) in channels.requested where !transactions.isPending(.channel(number)) {
            bind(number, to: peer, at: now)
        }
        if keepaliveAt == nil, !transactions.isReliable { keepaliveAt = now + configuration.keepaliveInterval }
    }

    mutating func fail(_ failure: TURNFailure) {
        guard phase != .ended else { return }
        finish()
        put(.ended(failure))
    }

    /// It is over without anybody having to be told why.
    mutating func finish() {
        phase = .ended
        transactions.removeAll()
        held = []
        (refreshAt, keepaliveAt) = (nil, nil)
    }
}
