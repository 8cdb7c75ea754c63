import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// What is used between the first pair that works and the nomination of one (RFC 8445 §12.1).
@Suite struct ICEBeforeNominationTests {
    private static let roles: [ICERole] = [.controlling, .controlled]
    /// Better than `other`.
    private static let best = endpoint("198.51.100.1", 5_000)
    private static let other = endpoint("198.51.100.2", 5_002)

    /// An agent whose peer has two addresses, of a kind for which the nomination waits a while.
    private func agent(
        _ role: ICERole, adjust: (inout ICEConfiguration) -> Void = { _ in }
    ) -> ScriptedPeer {
        var configuration = ICEConfiguration()
        adjust(&configuration)
        var peer = ScriptedPeer(role: role, configuration: configuration)
        peer.introduce(withCandidate: false)
        for (address, priority) in zip([Self.best, Self.other], [1_694_498_815, 1_694_498_000] as [UInt32]) {
            peer.tell { agent, now in
                agent.addRemoteCandidate(
                    ICECandidate(
                        foundation: "\(priority)", priority: priority, address: .ip(address), type: .serverReflexive),
                    at: now)
            }
        }
        return peer
    }

    /// Lets time pass with the peer answering from all addresses but the silent ones.
    private func wait(_ interval: Interval, _ peer: inout ScriptedPeer, except silent: Set<TransportAddress> = []) {
        let end = peer.now + interval
        while peer.now < end {
            peer.confirmAll(except: silent)
            peer.wait(.milliseconds(10))
        }
    }

    private func isNominated(_ peer: ScriptedPeer) -> Bool { peer.agent.statistics.pairs.contains { $0.isNominated } }

    @Test(arguments: roles) func `a pair that works carries data, whichever side controls`(role: ICERole) throws {
        var peer = ScriptedPeer(role: role)
        peer.introduce()
        let check = try #require(peer.takeRequests().first)
        #expect(!peer.agent.hasConsent)
        peer.confirm(check)
        #expect(peer.agent.hasConsent)
        #expect(peer.states == [.checking, .connected])
        #expect(peer.selections.map(\.remote) == [Self.best])
        #expect(!isNominated(peer))
    }

    @Test func `both sides are connected one round trip after the first check, before any nomination`() throws {
        var duet = ICEDuet.open()
        duet.begin()
        #expect(duet.run { $0.bothConnected })
        for side in ICEDuet.Side.allCases {
            #expect(!duet[side].agent.statistics.pairs.contains { $0.isNominated })
            #expect(duet[side].agent.hasConsent)
        }
        #expect(duet.run { $0.bothCompleted })
        // The nomination confirms the pair in use: nothing moves.
        #expect(ICEDuet.Side.allCases.allSatisfy { duet[$0].selections.count == 1 })
    }

    @Test func `the peer nominates another pair: data moves`() {
        var peer = agent(.controlled)
        wait(.milliseconds(100), &peer, except: [Self.best])
        #expect(peer.agent.route?.remote == Self.other)
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: Self.best)
        wait(.milliseconds(100), &peer)
        #expect(peer.agent.route?.remote == Self.best)
        #expect(peer.selections.map(\.remote) == [Self.other, Self.best])
        #expect(isNominated(peer))
        #expect(peer.states == [.checking, .connected])
    }

    @Test func `we nominate another pair: data moves`() {
        // The better one answers in time to be nominated, and after the other one is in use.
        var peer = agent(.controlling) { $0.nominationDelay = .milliseconds(1_000) }
        wait(.milliseconds(100), &peer, except: [Self.best])
        #expect(peer.agent.route?.remote == Self.other)
        wait(.milliseconds(1_000), &peer)
        #expect(isNominated(peer))
        #expect(peer.selections.map(\.remote) == [Self.other, Self.best])
    }

    @Test func `the controlled side answers on the pair on which the peer sends`() {
        var peer = agent(.controlled)
        wait(.milliseconds(100), &peer, except: [Self.other])
        let base = peer.base
        func data(from remote: TransportAddress) {
            peer.tell { agent, now in agent.mediaReceived(from: remote, to: base, at: now) }
        }
        // Our check of that pair has not come back: it may not work for us.
        data(from: Self.other)
        #expect(peer.agent.route?.remote == Self.best)
        wait(.milliseconds(1_000), &peer)
        #expect(peer.agent.route?.remote == Self.best)
        data(from: Self.other)
        #expect(peer.agent.route?.remote == Self.other)
        // A nomination is binding.
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: Self.best)
        #expect(peer.agent.route?.remote == Self.best)
        data(from: Self.other)
        #expect(peer.agent.route?.remote == Self.best)
    }

    @Test func `the controlling side is led by nobody's data`() {
        var peer = agent(.controlling) { $0.nominationDelay = .milliseconds(5_000) }
        wait(.milliseconds(200), &peer)
        let base = peer.base
        let route = peer.agent.route
        peer.tell { agent, now in
            for remote in [Self.best, Self.other] { agent.mediaReceived(from: remote, to: base, at: now) }
        }
        #expect(peer.agent.route == route)
    }

    @Test func `consent is asked for, and a pair that loses it makes room for one that works`() {
        var peer = agent(.controlled) {
            $0.consentTimeout = .milliseconds(12_000)
            $0.checksTimeout = .milliseconds(60_000)
        }
        wait(.milliseconds(200), &peer)
        #expect(peer.agent.route?.remote == Self.best)
        wait(.milliseconds(10_000), &peer)
        #expect(peer.agent.statistics.consentRequestsSent > 0)
        // The other pair's proof is as old as the connection, so that it is checked again first.
        wait(.milliseconds(18_000), &peer, except: [Self.best])
        #expect(peer.states == [.checking, .connected, .disconnected, .checking, .connected])
        #expect(peer.agent.route?.remote == Self.other)
        #expect(peer.agent.hasConsent)
    }

    @Test func `the pair in use dies before its nomination: the other one takes over and is nominated`() {
        var peer = agent(.controlling) { $0.nominationDelay = .milliseconds(500) }
        wait(.milliseconds(300), &peer)
        #expect(peer.agent.route?.remote == Self.best)
        #expect(!isNominated(peer))
        // Its nomination is asked for many times before it counts as failed.
        wait(.milliseconds(25_000), &peer, except: [Self.best])
        #expect(peer.agent.route?.remote == Self.other)
        #expect(isNominated(peer))
        #expect(peer.agent.hasConsent)
        #expect(peer.selections.map(\.remote) == [Self.best, Self.other])
    }

    @Test func `the only pair dies before its nomination: there is none again, and in the end the search fails`() {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        peer.confirmAll()
        #expect(peer.agent.hasConsent)
        peer.wait(.milliseconds(25_000))
        #expect(peer.states.suffix(2) == [.disconnected, .checking])
        #expect(!peer.agent.hasConsent)
        peer.wait(.milliseconds(10_000))
        #expect(peer.states.last == .failed)
        #expect(peer.agent.wake == nil)
    }

    @Test func `a pair that nobody nominates is used as long as it answers`() {
        var peer = agent(.controlled)
        wait(.milliseconds(70_000), &peer)
        #expect(peer.agent.hasConsent)
        #expect(peer.states == [.checking, .connected])
        // Whose answers stop is given up, and with it the search, whose time is long over.
        peer.wait(.milliseconds(40_000))
        #expect(peer.states.last == .failed)
        #expect(!peer.agent.hasConsent && peer.agent.wake == nil)
    }

    @Test(arguments: roles) func `a conflict of roles leaves the pair in use`(role: ICERole) {
        var peer = agent(role) { $0.nominationDelay = .milliseconds(500) }
        wait(.milliseconds(200), &peer)
        let route = peer.agent.route
        #expect(route != nil)
        switch role {
        case .controlling: peer.check([.iceControlling(tieBreaker: .max)])
        case .controlled: peer.check([.iceControlled(tieBreaker: 0)])
        }
        #expect(peer.agent.role != role)
        #expect(peer.agent.route == route)
        if peer.agent.role == .controlled { peer.check([.iceControlling(tieBreaker: .max), .useCandidate]) }
        wait(.milliseconds(1_000), &peer)
        #expect(isNominated(peer))
        #expect(peer.agent.route == route)
        #expect(peer.states == [.checking, .connected])
    }

    @Test(arguments: ICEDuet.Side.allCases)
    func `the full peer of a lite agent sends before it nominates, the lite agent after that`(liteSide: ICEDuet.Side) {
        var duet = ICEDuet.open(liteSide: liteSide)
        duet.begin()
        #expect(duet.run { $0[liteSide.other].agent.hasConsent })
        #expect(!duet[liteSide].agent.hasConsent)
        #expect(!duet[liteSide.other].agent.statistics.pairs.contains { $0.isNominated })
        #expect(duet.run { $0[liteSide].agent.hasConsent })
        #expect(duet[liteSide].agent.statistics.pairs.map(\.isNominated) == [true])
        #expect(duet.run { $0.bothCompleted })
    }

    @Test func `a NAT that forgets its mappings before the nomination: the nomination finds the new way`() {
        var network = VirtualNetwork(seed: 9)
        let nat = network.addNAT(.portRestricted, publicAddress: "192.0.2.100")
        let hosts = (network.addHost(["10.0.0.2"], behind: nat), network.addHost(["198.51.100.1"]))
        var duet = ICEDuet(network: network, hosts: hosts)
        duet.begin(left: [endpoint("10.0.0.2", 4_000)])
        #expect(duet.run { $0.bothConnected })
        #expect(!duet.bothCompleted)
        let before = duet[.right].agent.route
        duet.network.forgetMappings(of: nat)
        #expect(duet.run(within: .milliseconds(5_000)) { $0.bothCompleted && $0[.right].agent.route != before })
        duet.run(for: .milliseconds(60_000))
        #expect(duet.bothCompleted)
    }

    @Test func `a new address before the nomination is checked too`() {
        var network = VirtualNetwork(seed: 4)
        let hosts = (network.addHost(["192.0.2.1", "192.0.2.9"]), network.addHost(["198.51.100.1"]))
        var configuration = ICEConfiguration()
        configuration.nominationDelay = .milliseconds(2_000)
        var duet = ICEDuet(network: network, hosts: hosts, configuration: configuration)
        duet.begin(left: [ICEDuet.leftBase], right: [ICEDuet.rightBase])
        #expect(duet.run { $0[.left].agent.hasConsent })
        duet.tell(.left) { agent, now in
            _ = agent.interfacesChanged(lost: [], found: [endpoint("192.0.2.9", 4_009)], at: now)
        }
        #expect(duet[.left].agent.statistics.pairs.count == 2)
        #expect(duet.run { $0.bothCompleted })
    }

    @Test func `the address of the pair in use goes before the nomination: the other one takes over`() {
        var network = VirtualNetwork(seed: 4)
        let hosts = (network.addHost(["192.0.2.1", "192.0.2.9"]), network.addHost(["198.51.100.1"]))
        var duet = ICEDuet(network: network, hosts: hosts)
        duet.begin(left: [ICEDuet.leftBase, endpoint("192.0.2.9", 4_009)])
        #expect(duet.run { $0.bothConnected })
        #expect(!duet.bothCompleted)
        let base = duet[.left].agent.route?.base
        duet.tell(.left) { agent, now in
            _ = agent.interfacesChanged(lost: [base].compactMap(\.self), found: [], at: now)
        }
        #expect(!duet[.left].agent.hasConsent)
        #expect(duet.run(within: .milliseconds(10_000)) { $0.bothCompleted })
        #expect(duet[.left].agent.route?.base != base)
        duet.run(for: .milliseconds(60_000))
        #expect(duet[.right].agent.route?.remote == duet[.left].agent.route?.base)
    }

    @Test(arguments: ICEDuet.Side.allCases)
    func `a restart before the nomination keeps the pair in use until the new one works`(side: ICEDuet.Side) {
        var duet = ICEDuet.open()
        duet.begin()
        #expect(duet.run { $0.bothConnected })
        #expect(!duet.bothCompleted)
        duet.restart(side)
        #expect(duet[side].agent.hasConsent)
        duet.run(for: .milliseconds(70))
        duet.restart(side.other)
        #expect(duet.run(within: .milliseconds(10_000)) { $0.bothCompleted })
    }
}
