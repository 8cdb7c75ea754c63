import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// Addresses that come and go in the course of a connection.
@Suite struct ICEInterfaceTests {
    private static let first = endpoint("192.0.2.1", 4_000)
    private static let second = endpoint("192.0.2.9", 4_009)
    private static let third = endpoint("192.0.2.17", 4_017)
    private static let onWayOut: [ICERole] = [.controlling, .controlled]

    /// Left has two addresses; its sockets are at the given ones.
    private func connected(_ role: ICERole, left: [TransportAddress], seed: UInt64 = 1) -> ICEDuet {
        var network = VirtualNetwork(seed: seed)
        let hosts = (network.addHost(["192.0.2.1", "192.0.2.9", "192.0.2.17"]), network.addHost(["198.51.100.1"]))
        var duet = ICEDuet(
            network: network, hosts: hosts, roles: (role, role == .controlling ? .controlled : .controlling))
        duet.begin(left: left)
        #expect(duet.run { $0.bothCompleted })
        duet.run(for: .milliseconds(1_000))
        return duet
    }

    private func change(
        _ duet: inout ICEDuet, lost: [TransportAddress] = [], found: [TransportAddress] = []
    ) -> [ICECandidate] {
        var gone: [ICECandidate] = []
        duet.tell(.left) { agent, now in gone = agent.interfacesChanged(lost: lost, found: found, at: now) }
        return gone
    }

    /// Both sides use one pair, and left's end of it is `base`.
    private func expect(_ duet: ICEDuet, at base: TransportAddress, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(duet[.left].agent.route?.base == base, sourceLocation: sourceLocation)
        #expect(duet[.right].agent.route?.remote == base, sourceLocation: sourceLocation)
    }

    @Test(arguments: onWayOut, [Interval.zero, .seconds(Int64(60))])
    func `the pair moves to the address that is left, on both sides, however old the call is`(
        role: ICERole, age: Interval
    ) {
        var duet = connected(role, left: [Self.first, Self.second])
        duet.run(for: age)
        expect(duet, at: Self.first)
        #expect(change(&duet, lost: [Self.first]).map(\.address) == [.ip(Self.first)])
        #expect(duet[.left].agent.connectionState == .disconnected)
        #expect(!duet[.left].agent.hasConsent)
        #expect(duet.run(within: .milliseconds(8_000)) { $0[.right].agent.route?.remote == Self.second })
        #expect(duet.run(within: .milliseconds(1_000)) { $0.bothConnected })
        expect(duet, at: Self.second)
        #expect(duet[.left].restartsWanted == 0)
        duet.run(for: .milliseconds(120_000))
        #expect(duet.bothCompleted)
        expect(duet, at: Self.second)
    }

    @Test(arguments: onWayOut)
    func `an address that comes after the only one went carries the call on, and a restart is asked for`(role: ICERole)
    {
        var duet = connected(role, left: [Self.first])
        _ = change(&duet, lost: [Self.first])
        #expect(duet[.left].restartsWanted == 1)
        #expect(duet[.left].states.last == .disconnected)
        duet.run(for: .milliseconds(2_000))
        #expect(change(&duet, found: [Self.second]) == [])
        #expect(duet[.left].candidates.last?.address == .ip(Self.second))
        #expect(
            duet.run(within: .milliseconds(8_000)) { $0.bothConnected && $0[.right].agent.route?.remote == Self.second }
        )
        expect(duet, at: Self.second)
        duet.run(for: .milliseconds(120_000))
        #expect(duet.bothCompleted)
    }

    @Test(arguments: [false, true])
    func `once relays alone are wanted, an address that comes is neither told nor checked from`(isLost: Bool) {
        var duet = connected(.controlling, left: [Self.first])
        duet.tell(.left) { agent, _ in agent.setTransportPolicy(.relay) }
        let told = duet[.left].candidates.count
        _ = change(&duet, lost: isLost ? [Self.first] : [], found: [Self.second])
        let host = endpoint("192.0.2.9", ICEAgent.activePort)
        duet.tell(.left) { agent, now in agent.addTCPHost(host, .active, at: now) }
        duet.run(for: .milliseconds(5_000))
        #expect(duet[.left].candidates.count == told)
        #expect(!duet[.right].agent.knows(Self.second))
        // There is no address left that may be used.
        #expect(duet[.left].restartsWanted == (isLost ? 1 : 0))
        // All of them are wanted again: what was held back is told by a restart.
        duet.tell(.left) { agent, _ in agent.setTransportPolicy(.all) }
        #expect(duet[.left].agent.awaitsRestart)
    }

    @Test(arguments: onWayOut)
    func `a peer that leaves all the addresses that once worked is followed to a new one`(role: ICERole) {
        var duet = connected(role, left: [Self.first, Self.second])
        duet.run(for: .seconds(Int64(60)))
        _ = change(&duet, lost: [Self.first, Self.second], found: [Self.third])
        // The other side has a pair of each old address, which worked a minute ago.
        #expect(duet.run(within: .milliseconds(12_000)) { $0[.right].agent.route?.remote == Self.third })
        #expect(duet.run(within: .milliseconds(1_000)) { $0.bothConnected })
        expect(duet, at: Self.third)
        duet.run(for: .milliseconds(120_000))
        #expect(duet.bothCompleted)
    }

    @Test func `a peer that comes from new addresses again and again is always followed`() {
        var configuration = ICEConfiguration()
        configuration.maximumRemoteCandidates = 5
        configuration.isLite = true
        var peer = ScriptedPeer(role: .controlled, configuration: configuration)
        peer.introduce()
        for number in 0..<20 {
            let address = endpoint("198.51.100.\(100 + number)", 9)
            peer.move(to: address)
            #expect(peer.agent.selectedPair?.remote == address)
            peer.wait(.milliseconds(1_000))
        }
    }

    @Test func `a full agent follows its peer however often it moves, and keeps few of the pairs that worked`() {
        var configuration = ICEConfiguration()
        configuration.maximumPairs = 5
        var peer = ScriptedPeer(role: .controlled, configuration: configuration)
        peer.connect()
        var former: Set<TransportAddress> = [peer.address]
        for number in 0..<12 {
            let address = endpoint("198.51.100.\(100 + number)", 9)
            peer.move(to: address)
            peer.live(for: .milliseconds(12_000), silent: former)
            former.insert(address)
            #expect(peer.agent.selectedPair?.remote == address)
            #expect(peer.agent.connectionState != .failed)
        }
    }

    @Test func `without any address the agent fails in the end, and a restart with a new one connects`() {
        var duet = connected(.controlling, left: [Self.first])
        _ = change(&duet, lost: [Self.first])
        duet.run(for: .milliseconds(40_000))
        #expect(duet[.left].states.suffix(2) == [.disconnected, .failed])
        _ = change(&duet, found: [Self.second])
        #expect(duet[.left].agent.connectionState == .failed)
        duet.restart(.left)
        duet.restart(.right)
        #expect(duet.run { $0.bothConnected })
        expect(duet, at: Self.second)
    }

    @Test func `a restart is asked for when the last address goes after that of the pair`() {
        var duet = connected(.controlling, left: [Self.first, Self.second])
        _ = change(&duet, lost: [Self.first])
        #expect(duet[.left].restartsWanted == 0)
        _ = change(&duet, lost: [Self.second])
        #expect(duet[.left].restartsWanted == 1)
    }

    @Test func `a restart that is taken back has the addresses that are there by then`() {
        var duet = connected(.controlling, left: [Self.first, Self.second])
        var candidates: [ICECandidate] = []
        var told: [ICECandidate.Address] = []
        var states: [ICEGatheringState] = []
        duet.tell(.left) { agent, now in
            let former = agent.localParameters
            agent.restart(local: agent.makeRestartParameters(), at: now)
            _ = agent.interfacesChanged(lost: [Self.second], found: [Self.third], at: now)
            while agent.pollOutput() != nil {}
            agent.restart(local: former, at: now)
            candidates = agent.localCandidates
            while let output = agent.pollOutput() {
                if case .localCandidate(let candidate) = output { told.append(candidate.address) }
                if case .gatheringStateChanged(let state) = output {
                    states.append(state)
                    told = told.filter { _ in state == .complete }
                }
            }
        }
        #expect(candidates.map(\.address) == [.ip(Self.first), .ip(Self.third)])
        // Each once, and all before the end is told.
        #expect(told == candidates.map(\.address))
        #expect(states == [.complete])
    }

    @Test func `an address that carries nothing goes without a word, and a new one is told`() {
        var duet = connected(.controlling, left: [Self.first, Self.second])
        let states = duet[.left].states
        #expect(change(&duet, lost: [Self.second]).count == 1)
        #expect(duet[.left].agent.localCandidates.map(\.address) == [.ip(Self.first)])
        _ = change(&duet, found: [Self.second])
        #expect(duet[.left].candidates.map(\.address) == [Self.first, Self.second, Self.second].map { .ip($0) })
        duet.run(for: .milliseconds(60_000))
        #expect(duet[.left].states == states)
        expect(duet, at: Self.first)
    }

    @Test func `what comes to a socket that is gone is dropped, and nothing is sent from it`() {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce()
        _ = peer.takeSent()
        let base = peer.base
        peer.tell { agent, now in _ = agent.interfacesChanged(lost: [base], found: [], at: now) }
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        peer.wait(.milliseconds(20_000))
        #expect(peer.takeSent() == [])
        #expect(peer.agent.statistics.pairs.isEmpty)
    }

    @Test func `gathering does not wait for servers that were asked from an address that is gone`() {
        var configuration = ICEConfiguration()
        configuration.stunServers = [endpoint("203.0.113.200", 3_478)]
        var peer = ScriptedPeer(role: .controlled, configuration: configuration)
        let base = peer.base
        peer.tell { agent, now in
            agent.localHostsComplete(at: now)
            #expect(agent.gatheringState == .gathering)
            _ = agent.interfacesChanged(lost: [base], found: [], at: now)
        }
        #expect(peer.agent.gatheringState == .complete)
    }

    @Test func `a peer that checks another pair moves nothing as long as the selected one is heard`() {
        var peer = ScriptedPeer(role: .controlling)
        peer.connect()
        let other = endpoint("198.51.100.9", 9)
        peer.check([.iceControlled(tieBreaker: 1)], from: other)
        peer.wait(.milliseconds(100))
        #expect(peer.agent.selectedPair?.remote == peer.address)
        #expect(peer.agent.statistics.pairs.count == 1)
    }

    private static let spare = endpoint("198.51.100.9", 9)

    /// Connected at its address for a minute, with a spare one at which it was reached only in the beginning.
    private func peerWithSpare(_ role: ICERole) -> ScriptedPeer {
        var configuration = ICEConfiguration()
        configuration.nominationDelay = .seconds(Int64(2))
        var peer = ScriptedPeer(role: role, configuration: configuration)
        peer.introduce()
        let their = STUNAttribute.iceControlled(tieBreaker: 1)
        peer.check(role == .controlling ? [their] : [.iceControlling(tieBreaker: 1)], from: Self.spare)
        peer.live(for: .milliseconds(80), silent: [peer.address])
        if role == .controlled { peer.check([.iceControlling(tieBreaker: 1), .useCandidate]) }
        peer.live(for: .seconds(Int64(3)))
        #expect(peer.agent.selectedPair?.remote == peer.address)
        #expect(peer.agent.statistics.pairs.count == 2)
        for _ in 0..<60 {
            peer.check(role == .controlling ? [their] : [.iceControlling(tieBreaker: 1)])
            peer.live(for: .seconds(Int64(1)))
        }
        return peer
    }

    @Test func `a pair that worked a minute ago is asked again before it carries media`() {
        var peer = peerWithSpare(.controlled)
        // The peer moves at once, and the agent follows when the old pair is silent.
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: Self.spare)
        peer.live(for: .seconds(Int64(4)), silent: [peer.address])
        #expect(peer.agent.selectedPair?.remote == Self.spare)
        #expect(peer.agent.hasConsent)
        peer.live(for: .seconds(Int64(60)), silent: [peer.address])
        #expect(peer.agent.connectionState == .completed || peer.agent.connectionState == .connected)
    }

    @Test func `a pair that worked a minute ago is not nominated in place of one that works now`() {
        var peer = peerWithSpare(.controlling)
        let gone: Set<TransportAddress> = [peer.address, Self.spare]
        peer.live(for: .milliseconds(3_100), silent: gone)
        let new = endpoint("198.51.100.10", 10)
        for _ in 0..<5 where peer.agent.selectedPair?.remote != new {
            peer.check([.iceControlled(tieBreaker: 1)], from: new)
            peer.live(for: .seconds(Int64(1)), silent: gone)
        }
        #expect(peer.agent.selectedPair?.remote == new)
        #expect(peer.agent.hasConsent)
    }

    @Test func `a search for another pair that finds none leaves the one that there is`() {
        var peer = ScriptedPeer(role: .controlling)
        peer.connect()
        let other = endpoint("198.51.100.9", 9)
        // Silence, and then a check from where nothing ever answers ours.
        for _ in 0..<10 where peer.now < .zero + .milliseconds(3_500) { peer.wait(.milliseconds(500)) }
        peer.check([.iceControlled(tieBreaker: 1)], from: other)
        #expect(peer.agent.statistics.pairs.count == 2)
        for _ in 0..<500 {
            peer.wait(.milliseconds(100))
            for case .send(let bytes, _, let to) in peer.outputs where to == peer.address {
                guard let message = try? STUNMessage(parsing: bytes.span.bytes), message.kind == .request else {
                    continue
                }
                peer.confirm(message)
            }
            _ = peer.takeSent()
        }
        #expect(peer.agent.hasConsent)
        #expect(peer.agent.selectedPair?.remote == peer.address)
        peer.check([.iceControlled(tieBreaker: 1)])
        #expect(peer.takeSent().contains { $0.kind == .success })
    }
}
