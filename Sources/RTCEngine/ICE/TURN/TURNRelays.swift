internal import RTCWire

/// The TURN servers of one connection: an allocation for each server and each way to it, and the streams that lead to
/// some of them. A relayed address is one more address of ours to ICE; what is sent from it goes through here.
///
/// Without sockets or clock. After every call the owner drains `pollOutput`.
struct TURNRelays: Sendable {
    /// How an allocation's messages reach its server.
    enum Path: Hashable, Sendable {
        case datagrams(base: TransportAddress)
        case connecting(RelayStreamID, until: Instant)
        case stream(RelayStreamID)
    }

    /// One allocation with its way.
    struct Relay: Sendable {
        /// As the application names it.
        var asked: TURNServer
        /// As the allocation is made: another one after a redirection (RFC 8489 §10), and under the credential of then.
        var server: TURNServer
        var path: Path
        var allocation: TURNAllocation
        /// Where we were sent from, this server among them.
        var tried: [TransportAddress]
        /// How often it was replaced because it was lost.
        var renewals = 0
        /// It has been given up.
        var hasEnded = false
        /// Why, for a server that gave no candidate, is told once.
        var hasAnswered = false

        /// There is another credential than the one that the allocation was asked for with.
        var hasNewCredential: Bool { asked.username != server.username || asked.password != server.password }

        /// Under TLS a server is its name, for that is what its certificate shows.
        func isOf(_ other: TURNServer) -> Bool {
            other.transport == asked.transport && (asked.address == other.address || server.address == other.address)
                && (other.transport != .tls || other.host == asked.host)
        }

        /// Whether this is an address that its server has given.
        func gives(_ relayed: TransportAddress?) -> Bool {
            guard let relayed, let grant = allocation.grant else { return false }
            return grant.relayed.contains(relayed)
        }
    }

    enum Output: Sendable {
        case send([UInt8], from: TransportAddress, to: TransportAddress)
        case sendOnStream([UInt8], RelayStreamID)
        case command(RelayCommand)
        /// We can be reached there.
        case relayed(ICERelay)
        case lost(TransportAddress)
        case failed(ICEServerError)
    }

    var servers: [TURNServer] = []
    var bases: [TransportAddress] = []
    var outputs = FIFO<Output>()
    var random: EngineRandom
    let configuration: TURNConfiguration
    var nextStream = 0
    var relays: [Relay] = []
    /// Redirections of one server, and replacements of one lost allocation.
    static let limit = 4

    init(_ configuration: TURNConfiguration, random: EngineRandom) {
        self.configuration = configuration
        self.random = random
    }

    /// Cheap, for every packet.
    var isEmpty: Bool { relays.isEmpty }

    mutating func pollOutput() -> Output? { outputs.popFirst() }

    // MARK: From the owner

    /// A socket of ours is bound there: servers are asked from it over UDP.
    mutating func add(base: TransportAddress, at now: Instant) {
        guard !bases.contains(base) else { return }
        bases.append(base)
        for server in servers where server.transport == .udp { ask(server, from: base, at: now) }
    }

    /// The servers, in place of those before; they may be the same with other credentials. What is asked from now on is
    /// asked of them.
    ///
    /// An allocation that there is goes on under the credential that it was made with, for a server lets nobody change
    /// it (RFC 8656 §5, 441). Once it is lost it is made anew with the new one.
    ///
    /// - Parameter areAsked: those that have not been are, at once and not by the next restart.
    mutating func setServers(_ new: [TURNServer], areAsked: Bool = true, at now: Instant) {
        servers = new
        for index in relays.indices {
            if let server = new.first(where: { relays[index].isOf($0) }) { relays[index].asked = server }
        }
        if areAsked { askNew(at: now) }
    }

    private mutating func askNew(at now: Instant) {
        for server in servers where !relays.contains(where: { $0.isOf(server) }) {
            ask(server, at: now)
        }
    }

    private mutating func ask(_ server: TURNServer, at now: Instant) {
        switch server.transport {
        case .udp: for base in bases { ask(server, from: base, at: now) }
        case .tcp, .tls: connect(server, at: now)
        }
    }

    /// Whether an answer is still awaited.
    var isGathering: Bool { relays.contains { !$0.hasAnswered && !$0.hasEnded && !isRetired($0) } }

    /// Its server is none of ours any more: it lasts until a restart finds it unused, and is not asked for anew.
    func isRetired(_ relay: Relay) -> Bool { !servers.contains { relay.isOf($0) } }

    /// A restart: servers that were lost are asked again, from the one that the application named on, and new ones for
    /// the first time. What is left of others is given back.
    ///
    /// - Parameter used: the address that packets leave from.
    mutating func renew(keeping used: TransportAddress?, at now: Instant) {
        for index in relays.indices {
            if isRetired(relays[index]) {
                if !relays[index].hasEnded, !relays[index].gives(used) { giveBack(index, at: now) }
            } else if relays[index].hasEnded {
                relays[index].renewals = 0
                relays[index].server = relays[index].asked
                relays[index].tried = [relays[index].asked.address]
                relays[index].hasAnswered = false
                begin(anew: index, at: now)
            } else if relays[index].allocation.grant == nil {
                // Asked for anew since it was lost: it is one of this restart's candidates.
                relays[index].hasAnswered = false
            }
        }
        askNew(at: now)
    }

    private mutating func giveBack(_ index: Int, at now: Instant) {
        for relayed in relays[index].allocation.grant?.relayed ?? [] { outputs.append(.lost(relayed)) }
        end(index, at: now)
    }

    private mutating func end(_ index: Int, at now: Instant) {
        relays[index].allocation.close(at: now)
        drain(index, at: now)
        relays[index].hasEnded = true
        closeStream(of: index)
    }

    /// This peer was chosen: its packets are many.
    mutating func use(_ peer: TransportAddress, from relayed: TransportAddress, at now: Instant) {
        guard let index = index(of: relayed) else { return }
        relays[index].allocation.use(peer, at: now)
        drain(index, at: now)
    }

    mutating func close(at now: Instant) {
        for index in relays.indices where !relays[index].hasEnded { end(index, at: now) }
    }

    // MARK: Packets

    /// How what is sent from here gets to its server; nil for an address that no server has given.
    func path(of relayed: TransportAddress) -> Path? { index(of: relayed).map { relays[$0].path } }

    /// What is sent from here goes through an allocation.
    func index(of relayed: TransportAddress) -> Int? {
        relays.firstIndex { $0.gives(relayed) && !$0.hasEnded }
    }

    /// Who gave this address; nil when it is not relayed. An allocation that has ended since is named too, for its
    /// candidate remains.
    func server(of relayed: TransportAddress) -> TURNServer? {
        relays.first { $0.gives(relayed) }?.server
    }

    /// How its messages travel. Without the rest of it: this is for every packet.
    func way(of index: Int) -> (path: Path, server: TransportAddress) {
        (relays[index].path, relays[index].server.address)
    }

    mutating func carry(
        _ bytes: [UInt8], by index: Int, to peer: TransportAddress, at now: Instant
    ) -> TURNAllocation.Carriage {
        let carriage = relays[index].allocation.carry(bytes, to: peer, at: now)
        switch carriage {
        case .channel, .indication: break
        case .none: drain(index, at: now)
        }
        return carriage
    }

    /// Whose datagram this is: an allocation's over UDP. Binding answers of the same server are ICE's.
    func index(ofDatagram datagram: [UInt8], from remote: TransportAddress, to local: TransportAddress) -> Int? {
        guard let first = datagram.first, datagram.count >= 4 else { return nil }
        switch first {
        // RFC 8489 §5, figure 3: the method without its class bits; 1 is Binding.
        case 0...3: guard first & 0x3e != 0 || datagram[1] & 0xef != 1 else { return nil }
        case 0x40...0x4f: break
        default: return nil
        }
        return relays.firstIndex {
            $0.path == .datagrams(base: local) && $0.server.address == remote && !$0.hasEnded
        }
    }

    func index(of stream: RelayStreamID) -> Int? {
        relays.firstIndex { $0.path == .stream(stream) && !$0.hasEnded }
    }

    /// Takes one message of a server; a peer's datagram is left in the buffer.
    mutating func receive(_ message: inout [UInt8], by index: Int, at now: Instant) -> TURNAllocation.Receipt {
        let receipt = relays[index].allocation.receive(&message, at: now)
        if receipt == .consumed { drain(index, at: now) }
        return receipt
    }

    // MARK: Time

    var nextWake: Instant? {
        var wake: Instant?
        for relay in relays where !relay.hasEnded {
            var next = relay.allocation.nextWake
            if case .connecting(_, let until) = relay.path { next = next.map { min($0, until) } ?? until }
            if let next { wake = wake.map { min($0, next) } ?? next }
        }
        return wake
    }

    mutating func tick(at now: Instant) {
        for index in relays.indices where !relays[index].hasEnded {
            if case .connecting(_, let until) = relays[index].path, until <= now {
                relays[index].allocation.abandon(.connection("connecting takes too long"))
            }
            relays[index].allocation.tick(at: now)
            drain(index, at: now)
        }
    }
}
