import RTCEngine
import RTCWire

@testable import SimulatedCalls

/// Two agents on a virtual network with a virtual signaling channel between them. A test sets it up, lets time pass
/// and reads what happened; nothing in it waits.
struct ICEDuet {
    enum Side: Int, CaseIterable {
        case left, right

        var other: Side { self == .left ? .right : .left }
    }

    /// One agent with its place in the network and everything it has put out.
    struct Peer {
        var agent: ICEAgent
        let host: HostID
        var states: [ICEConnectionState] = []
        var reasons: [String] = []
        var gathering: [ICEGatheringState] = []
        var candidates: [ICECandidate] = []
        var selections: [ICESelectedPair] = []
        var roleChanges: [ICERole] = []
        var restartsWanted = 0
        /// Datagrams that were not STUN, as payload.
        var media: [[UInt8]] = []
        /// When the agent was first connected.
        var connectedAt: Instant?
    }

    private enum Signal {
        case parameters(ICEParameters, isLite: Bool)
        case candidate(ICECandidate)
        case end
    }

    /// Who tells what the other side finds.
    enum Signaling: Equatable {
        /// Candidates and their end travel by themselves.
        case trickle
        case silent
    }

    var network: VirtualNetwork
    private(set) var now = Instant.zero
    private var peers: [Peer] = []
    private let liteSide: Side?
    private var signals = EventQueue<(Side, Signal)>()
    var signaling = Signaling.trickle
    var signalingDelay = Interval.milliseconds(50)

    init(
        network: VirtualNetwork, hosts: (HostID, HostID), roles: (ICERole, ICERole) = (.controlling, .controlled),
        seed: UInt64 = 1, configuration: ICEConfiguration = ICEConfiguration(), liteSide: Side? = nil
    ) {
        self.network = network
        self.liteSide = liteSide
        var random = EngineRandom.seeded(seed)
        for (side, host, role) in [(Side.left, hosts.0, roles.0), (.right, hosts.1, roles.1)] {
            var configuration = configuration
            configuration.isLite = side == liteSide
            let agent = ICEAgent(configuration: configuration, role: role, random: random.split())
            peers.append(Peer(agent: agent, host: host))
        }
    }

    /// Two hosts on one open network.
    static func open(
        roles: (ICERole, ICERole) = (.controlling, .controlled), seed: UInt64 = 1,
        conditions: LinkConditions = .access, configuration: ICEConfiguration = ICEConfiguration(),
        liteSide: Side? = nil
    ) -> ICEDuet {
        var network = VirtualNetwork(seed: seed &+ 77)
        let left = network.addHost(["192.0.2.1"], uplink: conditions, downlink: conditions)
        let right = network.addHost(["198.51.100.1"], uplink: conditions, downlink: conditions)
        return ICEDuet(
            network: network, hosts: (left, right), roles: roles, seed: seed, configuration: configuration,
            liteSide: liteSide)
    }

    static let leftBase = endpoint("192.0.2.1", 4_000)
    static let rightBase = endpoint("198.51.100.1", 5_000)

    subscript(side: Side) -> Peer { peers[side.rawValue] }

    /// Something is reported to one agent; what it wants is then done.
    mutating func tell(_ side: Side, _ fact: (inout ICEAgent, Instant) -> Void) {
        fact(&peers[side.rawValue].agent, now)
        drain(side)
    }

    /// Binds one socket a side, tells that there are no more, and exchanges the credentials.
    mutating func begin(left: [TransportAddress] = [leftBase], right: [TransportAddress] = [rightBase]) {
        for (side, bases) in [(Side.left, left), (.right, right)] {
            tell(side) { agent, now in
                for base in bases { agent.addLocalHost(base, at: now) }
                agent.localHostsComplete(at: now)
            }
        }
        describe(.left)
        describe(.right)
    }

    /// Sends one side's credential to the other.
    mutating func describe(_ side: Side) {
        signal(.parameters(self[side].agent.localParameters, isLite: side == liteSide), to: side.other)
    }

    /// Restarts one side at once, and sends its new description ahead of its new candidates.
    mutating func restart(_ side: Side) {
        let parameters = peers[side.rawValue].agent.makeRestartParameters()
        signal(.parameters(parameters, isLite: side == liteSide), to: side.other)
        tell(side) { agent, now in agent.restart(local: parameters, at: now) }
    }

    /// Sends a packet that is not STUN along the selected pair, if that is allowed.
    mutating func sendMedia(_ side: Side, _ byte: UInt8 = 0x80) {
        guard let route = self[side].agent.route else { return }
        network.send([byte, 1, 2, 3], from: route.base, to: route.remote, by: self[side].host, at: now)
    }

    // MARK: Time

    /// Lets `interval` pass.
    mutating func run(for interval: Interval) {
        let end = now + interval
        while step(until: end) {}
        now = end
    }

    /// Lets time pass until `condition` holds; false when it does not within `limit`.
    mutating func run(within limit: Interval = .milliseconds(60_000), until condition: (ICEDuet) -> Bool) -> Bool {
        let end = now + limit
        while !condition(self) {
            guard step(until: end) else { return condition(self) }
        }
        return true
    }

    var bothConnected: Bool {
        Side.allCases.allSatisfy { self[$0].agent.connectionState.isUsable }
    }

    var bothCompleted: Bool {
        Side.allCases.allSatisfy { self[$0].agent.connectionState == .completed }
    }

    /// Goes to the next thing that happens; false when there is none before `end`.
    private mutating func step(until end: Instant) -> Bool {
        var next: Instant?
        for candidate in [network.nextEvent, signals.nextAt] + peers.map(\.agent.wake) {
            guard let candidate else { continue }
            next = min(next ?? candidate, candidate)
        }
        guard let next, next <= end else { return false }
        now = max(now, next)
        while let (host, datagram, _) = network.receive(by: now) { deliver(datagram, to: host) }
        while let (_, (side, signal)) = signals.pop(dueAt: now) { apply(signal, to: side) }
        for side in Side.allCases {
            guard let wake = self[side].agent.wake, wake <= now else { continue }
            tell(side) { agent, now in agent.tick(at: now) }
        }
        return true
    }

    private mutating func deliver(_ datagram: VirtualDatagram, to host: HostID) {
        guard let side = Side.allCases.first(where: { self[$0].host == host }) else { return }
        guard datagram.bytes.first.map({ $0 < 4 }) == true else {
            peers[side.rawValue].media.append(datagram.bytes)
            tell(side) { agent, now in
                agent.mediaReceived(from: datagram.source, to: datagram.destination, at: now)
            }
            return
        }
        tell(side) { agent, now in
            agent.receive(datagram.bytes.span.bytes, from: datagram.source, to: datagram.destination, at: now)
        }
    }

    private mutating func apply(_ signal: Signal, to side: Side) {
        tell(side) { agent, now in
            switch signal {
            case .parameters(let parameters, let isLite): agent.setRemote(parameters, isLite: isLite, at: now)
            case .candidate(let candidate): agent.addRemoteCandidate(candidate, at: now)
            case .end: agent.endOfRemoteCandidates(at: now)
            }
        }
    }

    private mutating func signal(_ signal: Signal, to side: Side) {
        signals.schedule((side, signal), at: now + signalingDelay)
    }

    private mutating func drain(_ side: Side) {
        let index = side.rawValue
        while let output = peers[index].agent.pollOutput() {
            switch output {
            case .send(let bytes, let from, let to):
                network.send(bytes, from: from, to: to, by: peers[index].host, at: now)
            case .localCandidate(let candidate):
                peers[index].candidates.append(candidate)
                if signaling == .trickle { signal(.candidate(candidate), to: side.other) }
            case .gatheringStateChanged(let state):
                peers[index].gathering.append(state)
                if signaling == .trickle, state == .complete { signal(.end, to: side.other) }
            case .connectionStateChanged(let state, let reason):
                peers[index].states.append(state)
                peers[index].reasons.append(reason)
                if state == .connected, peers[index].connectedAt == nil { peers[index].connectedAt = now }
            case .selectedPairChanged(let pair):
                peers[index].selections.append(pair)
            case .roleChanged(let role):
                peers[index].roleChanges.append(role)
            case .restartNeeded:
                peers[index].restartsWanted += 1
            case .resolveName, .serverSilent:
                continue
            }
        }
    }
}

extension ICEConnectionState {
    var isUsable: Bool {
        switch self {
        case .connected, .completed: true
        case .new, .checking, .disconnected, .failed, .closed: false
        }
    }
}

extension ICEAgent {
    /// `nextWake` for an expectation, which can hold nothing that is `mutating`.
    var wake: Instant? {
        var agent = self
        return agent.nextWake
    }
}
