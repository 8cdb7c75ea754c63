import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// Names instead of addresses (draft-ietf-mmusic-mdns-ice-candidates).
@Suite struct MDNSQuerierTests {
    private static let name = "1f4712db-ea17-4bcf-a596-105139dfd8bf.local"
    private static let address = IPAddress.v4(0xc633_6401)

    private static func name(_ number: Int) -> String {
        "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - "\(number)".count) + "\(number).local"
    }

    private func outputs(_ querier: inout MDNSQuerier) -> [MDNSQuerier.Output] {
        var all: [MDNSQuerier.Output] = []
        while let output = querier.pollOutput() { all.append(output) }
        return all
    }

    private func answer(
        _ querier: inout MDNSQuerier, _ name: String = name, id: UInt16 = 0, timeToLive: UInt32 = 120,
        address: IPAddress = address
    ) {
        let message = DNSMessage(id: id, addresses: [.init(name: name, address: address, timeToLive: timeToLive)])
        let bytes = message.encoded() ?? []
        querier.receive(bytes.span.bytes)
    }

    @Test func `asks for both families at once, after one second and after three, and gives up after five`() {
        var querier = MDNSQuerier(limit: 4, random: .seeded(1))
        querier.ask(Self.name, at: .zero)
        var sent: [Instant: Int] = [:]
        var now = Instant.zero
        var last: [MDNSQuerier.Output] = []
        while true {
            last = outputs(&querier)
            sent[now] = last.count
            guard let wake = querier.nextWake else { break }
            now = wake
            querier.tick(at: now)
        }
        let second = Interval.milliseconds(1_000)
        let expected: [Instant: Int] = [.zero: 2, .zero + second: 2, .zero + second * 3: 2, .zero + second * 5: 1]
        #expect(sent == expected)
        #expect(last == [.unknown(Self.name)])
        #expect(querier.isIdle)
    }

    @Test func `the first usable answer counts, by multicast or to us, and is remembered`() {
        var querier = MDNSQuerier(limit: 4, random: .seeded(1))
        querier.ask(Self.name.uppercased(), at: .zero)
        guard case .send(let query) = outputs(&querier).first, let first = query.first,
            let second = query.dropFirst().first
        else { return #expect(Bool(false), "it does not ask") }
        let id = UInt16(first) << 8 | UInt16(second)
        answer(&querier, Self.name(1))
        answer(&querier, id: id &+ 1)
        answer(&querier, timeToLive: 0)
        answer(&querier, address: .v4(0))
        answer(&querier, address: .v4(0xe000_00fb))
        #expect(outputs(&querier) == [])
        answer(&querier, id: id)
        answer(&querier, id: id)
        #expect(outputs(&querier) == [.resolved(Self.name, Self.address)])
        #expect(querier.nextWake == nil)
        querier.ask(Self.name, at: .zero)
        #expect(outputs(&querier) == [.resolved(Self.name, Self.address)])
        querier.ask(Self.name(2), at: .zero)
        answer(&querier, Self.name(2), id: 0)
        #expect(outputs(&querier).last == .resolved(Self.name(2), Self.address))
    }

    @Test(arguments: [
        "printer.local", "1f4712db-ea17-4bcf-a596-105139dfd8b.local", "1f4712db-ea17-4bcf-a596-105139dfd8bg.local",
        "1f4712dbaea17-4bcf-a596-105139dfd8bf.local", "1f4712db-ea17-4bcf-a596-105139dfd8bf.example", "",
        "x.1f4712db-ea17-4bcf-a596-105139dfd8bf.local", "1f4712db-ea17-4bcf-a596-105139dfd8bf.local.",
    ])
    func `no other names are looked up`(name: String) {
        var querier = MDNSQuerier(limit: 4, random: .seeded(1))
        querier.ask(name, at: .zero)
        #expect(outputs(&querier) == [.unknown(name.lowercased())])
    }

    @Test func `a peer makes us look up so many names and no more`() {
        var querier = MDNSQuerier(limit: 4, random: .seeded(1))
        for number in 0..<10 {
            querier.ask(Self.name(number), at: .zero)
            answer(&querier, Self.name(number))
        }
        let unknown = outputs(&querier).filter { if case .unknown = $0 { true } else { false } }
        #expect(unknown.count == 6)
    }

    // MARK: In the agent

    private func candidate(_ name: String, port: UInt16 = 5_000) -> ICECandidate {
        ICECandidate(foundation: "1", priority: 2_130_706_431, address: .mdns(name, port: port), type: .host)
    }

    private func resolutions(_ peer: ScriptedPeer) -> [String] {
        peer.outputs.compactMap { if case .resolveName(let name) = $0 { name } else { nil } }
    }

    @Test func `a candidate is checked once its name is known, and shows the name`() throws {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce(withCandidate: false)
        let candidate = candidate(Self.name.uppercased())
        peer.tell { agent, now in agent.addRemoteCandidate(candidate, at: now) }
        #expect(resolutions(peer) == [Self.name])
        peer.wait(.milliseconds(1_000))
        #expect(peer.takeRequests() == [])
        peer.tell { [address = peer.address.ip] agent, now in agent.nameResolved(Self.name, to: address, at: now) }
        let request = try #require(peer.takeRequests().first)
        peer.confirm(request)
        peer.wait(.milliseconds(50))
        for request in peer.takeRequests() { peer.confirm(request) }
        #expect(peer.selections.map(\.remote) == [peer.address])
        #expect(peer.selections.first?.remoteCandidate.address == candidate.address)
    }

    @Test func `as long as a name is looked up nothing has failed; afterwards the peer's checks must tell`() {
        var configuration = ICEConfiguration()
        configuration.patience = .milliseconds(2_000)
        var peer = ScriptedPeer(role: .controlling, configuration: configuration)
        peer.introduce(withCandidate: false)
        let candidate = candidate(Self.name)
        peer.tell { agent, now in
            agent.addRemoteCandidate(candidate, at: now)
            agent.endOfRemoteCandidates(at: now)
            agent.localHostsComplete(at: now)
        }
        peer.wait(.milliseconds(4_900))
        #expect(peer.agent.connectionState == .checking)
        peer.check([.iceControlled(tieBreaker: 1)])
        peer.tell { agent, now in agent.nameResolved(Self.name, to: nil, at: now) }
        for _ in 0..<5 {
            for request in peer.takeRequests() { peer.confirm(request) }
            peer.wait(.milliseconds(150))
        }
        #expect(peer.selections.map(\.remoteCandidate.type) == [.peerReflexive])
    }

    @Test func `what the peer's check told first takes the name that comes later`() {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce(withCandidate: false)
        peer.check([.iceControlled(tieBreaker: 1)])
        let candidate = candidate(Self.name)
        peer.tell { agent, now in agent.addRemoteCandidate(candidate, at: now) }
        peer.tell { [address = peer.address.ip] agent, now in agent.nameResolved(Self.name, to: address, at: now) }
        #expect(peer.agent.statistics.pairs.map(\.remoteCandidate) == [candidate])
    }

    @Test func `where only relays are used no name is looked up`() {
        var configuration = ICEConfiguration()
        configuration.transportPolicy = .relay
        var peer = ScriptedPeer(role: .controlling, configuration: configuration)
        peer.introduce(withCandidate: false)
        let candidate = candidate(Self.name)
        peer.tell { agent, now in agent.addRemoteCandidate(candidate, at: now) }
        #expect(resolutions(peer) == [])
        #expect(peer.agent.statistics.remoteCandidatesIgnored == 1)
    }

    @Test func `names wait in a bounded number, each is asked for once, and others are left out`() {
        var configuration = ICEConfiguration()
        configuration.maximumNames = 3
        var peer = ScriptedPeer(role: .controlling, configuration: configuration)
        peer.introduce(withCandidate: false)
        let candidates =
            [
                candidate("printer.local"), candidate(Self.name, port: 0), candidate(Self.name),
                candidate(Self.name, port: 6),
            ]
            + (0..<9).map { candidate(Self.name($0)) }
        peer.tell { agent, now in for candidate in candidates { agent.addRemoteCandidate(candidate, at: now) } }
        #expect(resolutions(peer) == [Self.name, Self.name(0)])
        #expect(peer.agent.statistics.remoteCandidatesIgnored == 10)
        // A name that nobody has asked for.
        peer.tell { [address = peer.address.ip] agent, now in
            agent.nameResolved("printer.local", to: address, at: now)
        }
        #expect(peer.takeRequests() == [])
        peer.tell { [address = peer.address.ip] agent, now in agent.nameResolved(Self.name, to: address, at: now) }
        #expect(peer.agent.statistics.pairs.count == 2)
    }
}
