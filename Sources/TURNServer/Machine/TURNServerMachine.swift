public import RTCEngine
public import RTCWire

/// A TURN server (RFC 8656) without sockets or clock: what clients and peers send comes in with the time, what is to be
/// sent comes out. Its owner drains `pollOutput` after every call, and calls `tick` when `nextWake` says so.
///
/// Relayed data does not go through outputs: `receive` says where the bytes that it was given belong, so that nothing
/// is copied on the way.
///
/// Who is let in is in `+Authentication`, requests are in `+Allocate` and `+Requests`, data is in `+Relaying`.
public struct TURNServerMachine: Sendable {
    /// What the owner is to do.
    public enum Output: Sendable, Equatable {
        /// To a client: one message, without a stream's padding, of which messages need none.
        case send([UInt8], to: TURNClientPath)
        /// Open a UDP socket there and report `relayOpened` or `relayFailed`.
        case open(TURNRelayID, TransportAddress)
        /// Not needed any more.
        case close(TURNRelayID)
    }

    /// Where the bytes belong that `receive` was given.
    public enum Forwarding: Sendable, Equatable {
        /// Nowhere: they were a request, or are dropped.
        case none
        /// These of them to a peer, from the socket of this relayed address.
        case toPeer(TransportAddress, from: TURNRelayID, Range<Int>)
        /// These of them to a client, behind this header.
        case toClient(TURNClientPath, ChannelDataHeader, Range<Int>)
    }

    struct Slot: Sendable {
        var generation: UInt32 = 0
        var allocation: Allocation?
    }

    struct Reservation: Sendable {
        let port: UInt16
        let family: TURNAddressFamily
        let login: Login
        let until: Instant
    }

    public private(set) var configuration: TURNServerConfiguration
    public private(set) var statistics = TURNServerStatistics()

    var slots: [Slot] = []
    var freeSlots: [Int] = []
    var slotOfClient: [TURNClientPath: Int] = [:]
    /// By the address that peers see, for those who talk to each other through this server.
    var relayOfAddress: [TransportAddress: TURNRelayID] = [:]
    var hostServices = TURNHostServices()
    var allocationsOfUser: [String: Int] = [:]
    /// By token.
    var reservations: [UInt64: Reservation] = [:]
    var ports: [TURNAddressFamily: PortPool]
    var answers: AnswerCache
    var strangers: StrangerLimit
    let nonces: Nonces
    /// Names by their USERHASH, where all names are known beforehand.
    let namesByHash: [[UInt8]: String]
    let hidesNames: Bool
    var random: EngineRandom
    /// Seconds since 1970 at the origin of our time.
    var unixTimeAtOrigin: Int64 = 0
    private var outputs: [Output] = []
    private var nextOutput = 0
    private var sweepAt: Instant?

    public init(configuration: TURNServerConfiguration, random: EngineRandom) {
        var random = random
        self.configuration = configuration
        ports = [:]
        for family in [TURNAddressFamily.ipv4, .ipv6] where configuration.relayAddress(of: family) != nil {
            ports[family] = PortPool(configuration.relayPorts)
        }
        answers = AnswerCache(limit: 2 * configuration.maximumAllocations)
        strangers = StrangerLimit(perSecond: configuration.answersToStrangers, random: &random)
        let accounts = configuration.accounts
        // A time-limited name cannot be told from its hash.
        hidesNames = accounts.secrets.isEmpty && !accounts.users.isEmpty
        namesByHash = Dictionary(
            accounts.users.keys.map { name in
                let credential = STUNLongTermCredential(username: name, realm: configuration.realm, password: "")
                return (credential.userHash, name)
            }, uniquingKeysWith: { first, _ in first })
        var cookie = STUNNonceCookie.passwordAlgorithms
        if hidesNames { cookie.insert(.usernameAnonymity) }
        nonces = Nonces(lifetime: configuration.nonceLifetime, cookie: cookie, random: &random)
        self.random = random
    }

    // MARK: Outputs

    /// What is to be done next; nil when there is nothing.
    public mutating func pollOutput() -> Output? {
        guard nextOutput < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            nextOutput = 0
            return nil
        }
        defer { nextOutput += 1 }
        return outputs[nextOutput]
    }

    mutating func put(_ output: Output) { outputs.append(output) }

    // MARK: Inputs

    /// The wall clock was read: credentials run out by it. Once before anything else, and now and then.
    public mutating func wallClockRead(unixTime seconds: Int64, at now: Instant) {
        unixTimeAtOrigin = seconds - now.nanoseconds / 1_000_000_000
    }

    /// A client's TCP connection is over (RFC 8656 §7.2: its allocation with it).
    public mutating func streamClosed(_ client: TURNClientPath) {
        if let slot = slotOfClient[client] { remove(slot) }
    }

    /// Whether this client has an allocation, or is about to.
    public func hasAllocation(_ client: TURNClientPath) -> Bool { slotOfClient[client] != nil }

    // MARK: Time

    /// When `tick` is to be called at the latest.
    public var nextWake: Instant? { sweepAt }

    /// Time has passed.
    public mutating func tick(at now: Instant) {
        guard let sweepAt, sweepAt <= now else { return }
        for slot in slots.indices {
            if let until = slots[slot].allocation?.until, until <= now { remove(slot) }
        }
        for (token, reservation) in reservations where reservation.until <= now {
            reservations[token] = nil
            ports[reservation.family]?.giveBack(reservation.port)
        }
        let ends = slots.compactMap(\.allocation?.until) + reservations.values.map(\.until)
        self.sweepAt = ends.min()
    }

    mutating func wake(at instant: Instant) { sweepAt = min(sweepAt ?? instant, instant) }

    // MARK: Allocations

    /// The allocation of this client, if its time is not over.
    func slot(of client: TURNClientPath, at now: Instant) -> Int? {
        guard let slot = slotOfClient[client], let until = slots[slot].allocation?.until, now < until else {
            return nil
        }
        return slot
    }

    /// As above, once its addresses are there.
    func activeSlot(of client: TURNClientPath, at now: Instant) -> Int? {
        guard let slot = slot(of: client, at: now), slots[slot].allocation?.isActive == true else { return nil }
        return slot
    }

    /// The slot of a relayed address that is still the one that is meant.
    func slot(of relay: TURNRelayID, at now: Instant) -> Int? {
        guard slots.indices.contains(relay.slot), slots[relay.slot].generation == relay.generation,
            let until = slots[relay.slot].allocation?.until, now < until,
            slots[relay.slot].allocation?.relay(for: relay.family) != nil
        else { return nil }
        return relay.slot
    }

    mutating func add(_ allocation: Allocation) -> Int {
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot()) }
        slots[slot].generation &+= 1
        slots[slot].allocation = allocation
        slotOfClient[allocation.client] = slot
        allocationsOfUser[allocation.login.quotaName, default: 0] += 1
        statistics.allocations += 1
        wake(at: allocation.until)
        return slot
    }

    /// Ends an allocation and closes its sockets.
    mutating func remove(_ slot: Int) {
        guard let allocation = slots[slot].allocation else { return }
        for relay in allocation.relays { close(relay) }
        slots[slot].allocation = nil
        freeSlots.append(slot)
        slotOfClient[allocation.client] = nil
        let name = allocation.login.quotaName
        let left = (allocationsOfUser[name] ?? 1) - 1
        allocationsOfUser[name] = left > 0 ? left : nil
        statistics.allocations -= 1
    }

    mutating func close(_ relay: Allocation.Relay) {
        relayOfAddress[relay.announced] = nil
        ports[relay.id.family]?.giveBack(relay.announced.port)
        put(.close(relay.id))
    }

    // MARK: The host

    /// The host has other addresses now. What was permitted before goes by those of then, until it is permitted anew.
    public mutating func hostChanged(_ addresses: [IPAddress]) {
        configuration.policy.host = addresses + hostServices.hostAddresses
    }

    /// These services of the host are reached, in place of those before, unless the policy denies their addresses.
    public mutating func hostServes(_ services: [TURNHostService]) {
        hostServices = TURNHostServices(services, denied: configuration.policy.denied)
        configuration.policy.host += hostServices.hostAddresses
    }

    // MARK: Counting

    mutating func drop(_ reason: TURNServerStatistics.Drop) { statistics.drops[reason, default: 0] += 1 }

    mutating func count(_ change: (inout TURNServerStatistics) -> Void) { change(&statistics) }
}
