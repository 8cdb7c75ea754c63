internal import RTCEngine
internal import RTCWire

/// One allocation (RFC 8656 §3): a client's relayed addresses, and which peers it may hear.
struct Allocation: Sendable {
    enum Phase: Sendable {
        /// Sockets are being opened; the answer waits for them.
        indirect case opening(Opening)
        case active
    }

    /// What the answer needs to know once the sockets are there.
    struct Opening: Sendable {
        let request: STUNMessage
        let session: Session
        /// The addresses that are still hoped for, or there. Where two families were asked for, one alone will do.
        var wishes: [Wish]
        /// Families that were asked for in addition and are not to be had.
        var failures: [(TURNAddressFamily, STUNErrorCode)] = []
        let token: UInt64?
    }

    struct Wish: Sendable {
        let family: TURNAddressFamily
        let needsEvenPort: Bool
        var attemptsLeft: Int
        var isOpen = false
    }

    /// A relayed address.
    struct Relay: Sendable {
        let id: TURNRelayID
        /// What peers see.
        let announced: TransportAddress
    }

    struct Permission: Sendable {
        let ip: IPAddress
        /// Whether the policy lets datagrams go there and come from there; otherwise it is an address of our own, at
        /// which nothing but other relayed addresses and services of the host is reached. Asked once, not for each
        /// datagram.
        let isOutside: Bool
        var until: Instant
    }

    struct Channel: Sendable {
        let number: UInt16
        let peer: TransportAddress
        let isOutside: Bool
        var until: Instant
    }

    let client: TURNClientPath
    /// Of the request that made it: one that comes again is no second one.
    let transactionID: STUNTransactionID
    let login: Login
    /// Kept, so that a credential that runs out in mid-call ends no call.
    let password: String
    var phase: Phase
    var relays: [Relay] = []
    var until: Instant
    var bucket: TokenBucket
    // Short lists, looked through: there are a handful of peers, and hashing an address costs more.
    private(set) var permissions: [Permission] = []
    private(set) var channels: [Channel] = []

    init(
        client: TURNClientPath, transactionID: STUNTransactionID, login: Login, password: String, opening: Opening,
        until: Instant, bucket: TokenBucket
    ) {
        self.client = client
        self.transactionID = transactionID
        self.login = login
        self.password = password
        self.phase = .opening(opening)
        self.until = until
        self.bucket = bucket
    }

    var isActive: Bool {
        switch phase {
        case .active: true
        case .opening: false
        }
    }

    func relay(for family: TURNAddressFamily) -> Relay? { relays.first { $0.id.family == family } }

    // MARK: Permissions (§9)

    func permission(for ip: IPAddress, at now: Instant) -> Permission? {
        for permission in permissions where permission.ip == ip { return now < permission.until ? permission : nil }
        return nil
    }

    /// Whether there is room for these, those that have run out put aside.
    mutating func hasRoom(for ips: [IPAddress], limit: Int, at now: Instant) -> Bool {
        permissions.removeAll { $0.until <= now }
        var new: [IPAddress] = []
        for ip in ips where !new.contains(ip) && !permissions.contains(where: { $0.ip == ip }) { new.append(ip) }
        return permissions.count + new.count <= limit
    }

    /// Gives or renews it.
    mutating func permit(_ ip: IPAddress, isOutside: Bool, until: Instant) {
        if let index = permissions.firstIndex(where: { $0.ip == ip }) {
            // Whose address it is may have changed meanwhile.
            permissions[index] = Permission(ip: ip, isOutside: isOutside, until: until)
        } else {
            permissions.append(Permission(ip: ip, isOutside: isOutside, until: until))
        }
    }

    // MARK: Channels (§12)

    func channel(_ number: UInt16, at now: Instant) -> Channel? {
        for channel in channels where channel.number == number { return now < channel.until ? channel : nil }
        return nil
    }

    func channel(to peer: TransportAddress, at now: Instant) -> Channel? {
        for channel in channels where channel.peer == peer { return now < channel.until ? channel : nil }
        return nil
    }

    /// What a ChannelBind asks for.
    enum Binding: Equatable {
        case bound
        /// The number serves another peer, or the peer has another number.
        case mismatch
        case full
    }

    mutating func bind(_ channel: Channel, limit: Int, at now: Instant) -> Binding {
        channels.removeAll { $0.until <= now }
        if let index = channels.firstIndex(where: { $0.number == channel.number || $0.peer == channel.peer }) {
            guard channels[index].number == channel.number, channels[index].peer == channel.peer else {
                return .mismatch
            }
            channels[index] = channel
            return .bound
        }
        guard channels.count < limit else { return .full }
        channels.append(channel)
        return .bound
    }
}
