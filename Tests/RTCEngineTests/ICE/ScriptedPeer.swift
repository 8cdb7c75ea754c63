import RTCEngine
import RTCWire

@testable import SimulatedCalls

/// The other end of an agent, played by the test: it says exactly what it is told to, honest or not. Its agent
/// lives without a network, so that a test reads as the dialogue on the wire.
struct ScriptedPeer {
    var agent: ICEAgent
    private(set) var now = Instant.zero
    private(set) var outputs: [ICEOutput] = []
    let base = endpoint("192.0.2.1", 4_000)
    var address = endpoint("198.51.100.1", 5_000)
    var parameters = ICEParameters(usernameFragment: "peer", password: "the peer's long password")
    private var random = EngineRandom.seeded(99)

    init(role: ICERole, configuration: ICEConfiguration = ICEConfiguration(), seed: UInt64 = 2) {
        agent = ICEAgent(configuration: configuration, role: role, random: .seeded(seed))
        tell { agent, now in agent.addLocalHost(endpoint("192.0.2.1", 4_000), at: now) }
    }

    mutating func tell(_ fact: (inout ICEAgent, Instant) -> Void) {
        fact(&agent, now)
        while let output = agent.pollOutput() { outputs.append(output) }
    }

    /// Introduces the peer with one host candidate.
    mutating func introduce(isLite: Bool = false, withCandidate: Bool = true) {
        let (parameters, address) = (parameters, address)
        tell { agent, now in
            if withCandidate {
                agent.addRemoteCandidate(
                    ICECandidate(foundation: "1", priority: 2_130_706_431, address: .ip(address), type: .host), at: now)
            }
            agent.setRemote(parameters, isLite: isLite, at: now)
        }
    }

    /// One tick, at its time.
    mutating func tick(at wake: Instant) {
        now = max(now, wake)
        tell { agent, now in agent.tick(at: now) }
    }

    /// Answers every request of the agent's honestly, from where it was sent to; those to the `silent` addresses are
    /// lost.
    mutating func confirmAll(except silent: Set<TransportAddress> = []) {
        let sent = outputs
        outputs.removeAll { if case .send = $0 { true } else { false } }
        for case .send(let bytes, _, let to) in sent where !silent.contains(to) {
            guard let message = try? STUNMessage(parsing: bytes.span.bytes), message.kind == .request else { continue }
            confirm(message, from: to)
        }
    }

    /// Lets time pass with a peer that answers at once, but not at its `silent` addresses.
    mutating func live(for interval: Interval, silent: Set<TransportAddress> = []) {
        let end = now + interval
        while now < end {
            confirmAll(except: silent)
            wait(.milliseconds(20))
        }
    }

    /// Lets time pass, tick by tick.
    mutating func wait(_ interval: Interval) {
        let end = now + interval
        while let wake = agent.nextWake, wake <= end { tick(at: wake) }
        now = end
    }

    /// What the agent has sent since the last call, parsed.
    mutating func takeSent() -> [STUNMessage] {
        defer { outputs.removeAll { if case .send = $0 { true } else { false } } }
        return outputs.compactMap {
            guard case .send(let bytes, _, _) = $0 else { return nil }
            return try? STUNMessage(parsing: bytes.span.bytes)
        }
    }

    /// Where the agent has sent something to since the last call, once for each datagram.
    mutating func takeDestinations() -> [TransportAddress] {
        defer { outputs.removeAll { if case .send = $0 { true } else { false } } }
        return outputs.compactMap { if case .send(_, _, let to) = $0 { to } else { nil } }
    }

    mutating func takeRequests() -> [STUNMessage] { takeSent().filter { $0.kind == .request } }

    var states: [ICEConnectionState] {
        outputs.compactMap { if case .connectionStateChanged(let state, _) = $0 { state } else { nil } }
    }

    var selections: [ICESelectedPair] {
        outputs.compactMap { if case .selectedPairChanged(let pair) = $0 { pair } else { nil } }
    }

    // MARK: What the peer sends

    mutating func send(_ bytes: [UInt8], from source: TransportAddress? = nil, to base: TransportAddress? = nil) {
        let (source, base) = (source ?? address, base ?? self.base)
        tell { agent, now in agent.receive(bytes.span.bytes, from: source, to: base, at: now) }
    }

    /// A check as an honest peer makes it; `change` makes it less honest.
    mutating func check(
        _ extra: [STUNAttribute] = [], from source: TransportAddress? = nil, password: String? = nil,
        username: String? = nil, naming credential: ICEParameters? = nil, priority: UInt32? = 1_845_501_695
    ) {
        let credential = credential ?? agent.localParameters
        let name = username ?? "\(credential.usernameFragment):\(parameters.usernameFragment)"
        var attributes: [STUNAttribute] = [.username(name)]
        if let priority { attributes.append(.priority(priority)) }
        let request = STUNMessage(
            .request, transactionID: STUNTransactionID(using: &random), attributes: attributes + extra)
        send(request.encoded(key: HMACSHA1(password: password ?? credential.password)), from: source)
    }

    /// The honest answer to a request of the agent's.
    mutating func confirm(
        _ request: STUNMessage, mapped: TransportAddress? = nil, from source: TransportAddress? = nil,
        password: String? = nil
    ) {
        let response = STUNMessage(
            .success, transactionID: request.transactionID, attributes: [.xorMappedAddress(mapped ?? base)])
        send(response.encoded(key: HMACSHA1(password: password ?? parameters.password)), from: source)
    }

    mutating func refuse(_ request: STUNMessage, _ error: STUNErrorCode, password: String? = nil) {
        let response = STUNMessage(.error, transactionID: request.transactionID, attributes: [.errorCode(error)])
        send(response.encoded(key: HMACSHA1(password: password ?? parameters.password)))
    }

    /// Nominates, as the controlling side, the pair from `source` on, and answers what a lite agent asks there.
    mutating func move(to source: TransportAddress) {
        check([.iceControlling(tieBreaker: 1), .useCandidate], from: source)
        for request in takeRequests() { confirm(request, from: source) }
    }

    /// Answers the agent's requests until its pair is nominated, by the agent if it is the controlling one.
    mutating func connect() {
        introduce()
        if agent.role == .controlled { check([.iceControlling(tieBreaker: 1), .useCandidate]) }
        for _ in 0..<20 where !agent.statistics.pairs.contains(where: \.isNominated) {
            for request in takeRequests() { confirm(request) }
            wait(.milliseconds(25))
        }
    }
}
