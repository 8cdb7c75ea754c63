import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// Agents behind NATs, with a STUN server in the open.
@Suite struct ICENATTests {
    private static let server = endpoint("203.0.113.53", 3_478)

    private func duet(_ left: NATKind?, _ right: NATKind?, seed: UInt64 = 5) -> ICEDuet {
        var network = VirtualNetwork(seed: seed)
        network.addSTUNServer(at: Self.server)
        let hosts = (
            network.addHost(
                [left == nil ? "192.0.2.1" : "10.0.0.2"],
                behind: left.map { network.addNAT($0, publicAddress: "192.0.2.100") }),
            network.addHost(
                [right == nil ? "198.51.100.1" : "10.0.0.3"],
                behind: right.map { network.addNAT($0, publicAddress: "198.51.100.100") })
        )
        var configuration = ICEConfiguration()
        configuration.stunServers = [Self.server]
        return ICEDuet(network: network, hosts: hosts, seed: seed, configuration: configuration)
    }

    private func begin(_ duet: inout ICEDuet, _ left: NATKind?, _ right: NATKind?) {
        duet.begin(
            left: [left == nil ? ICEDuet.leftBase : endpoint("10.0.0.2", 4_000)],
            right: [right == nil ? ICEDuet.rightBase : endpoint("10.0.0.3", 5_000)])
    }

    /// Without a relay these three have no way: each guesses a port that the other never opened.
    private func isHopeless(_ left: NATKind?, _ right: NATKind?) -> Bool {
        switch (left, right) {
        case (.symmetric, .symmetric), (.symmetric, .portRestricted), (.portRestricted, .symmetric): true
        default: false
        }
    }

    @Test(arguments: [nil] + NATKind.allCases.map(Optional.some), [nil] + NATKind.allCases.map(Optional.some))
    func `connects through every pair of NATs that lets anybody through`(left: NATKind?, right: NATKind?) {
        var duet = duet(left, right)
        begin(&duet, left, right)
        let connected = duet.run(within: .milliseconds(50_000)) { $0.bothConnected }
        #expect(connected == !isHopeless(left, right))
        if connected {
            duet.sendMedia(.left, 0x80)
            duet.sendMedia(.right, 0x90)
            duet.run(for: .milliseconds(200))
            #expect(duet[.right].media.count == 1)
            #expect(duet[.left].media.count == 1)
        } else {
            #expect(duet[.left].states == [.checking, .failed])
            #expect(duet[.right].states == [.checking, .failed])
            #expect(duet[.left].agent.wake == nil)
        }
    }

    @Test(arguments: 0..<20)
    func `port-restricted NATs are opened in spite of loss`(seed: UInt64) {
        var duet = duet(.portRestricted, .portRestricted, seed: seed)
        for side in ICEDuet.Side.allCases {
            duet.network.setUplink(.rough, of: duet[side].host)
            duet.network.setDownlink(.rough, of: duet[side].host)
        }
        begin(&duet, .portRestricted, .portRestricted)
        #expect(duet.run(within: .milliseconds(25_000)) { $0.bothConnected })
    }

    @Test func `a server-reflexive candidate names its base and has a lower priority`() throws {
        var duet = duet(.fullCone, nil)
        begin(&duet, .fullCone, nil)
        #expect(duet.run { $0[.left].gathering.last == .complete })
        #expect(duet[.left].gathering == [.gathering, .complete])
        #expect(duet[.left].candidates.map(\.type) == [.host, .serverReflexive])
        let reflexive = try #require(duet[.left].candidates.last)
        #expect(reflexive.address.transportAddress?.ip == address("192.0.2.100"))
        #expect(reflexive.relatedAddress == endpoint("10.0.0.2", 4_000))
        #expect(reflexive.priority < duet[.left].candidates[0].priority)
        #expect(reflexive.foundation != duet[.left].candidates[0].foundation)
    }

    @Test func `without a NAT the server's answer adds nothing`() {
        var duet = duet(nil, nil)
        begin(&duet, nil, nil)
        #expect(duet.run { $0[.left].gathering.last == .complete })
        #expect(duet[.left].candidates.map(\.type) == [.host])
    }

    @Test func `a silent server holds up the end of gathering only so long`() {
        var network = VirtualNetwork(seed: 1)
        let hosts = (network.addHost(["192.0.2.1"]), network.addHost(["198.51.100.1"]))
        var configuration = ICEConfiguration()
        configuration.stunServers = [Self.server, endpoint("2001:db8::53", 3_478)]
        var duet = ICEDuet(network: network, hosts: hosts, configuration: configuration)
        duet.begin()
        duet.run(for: .milliseconds(4_900))
        #expect(duet[.left].gathering == [.gathering])
        #expect(duet.bothConnected)
        duet.run(for: .milliseconds(200))
        #expect(duet[.left].gathering == [.gathering, .complete])
    }

    @Test func `a server that is added later is asked from every base`() {
        var network = VirtualNetwork(seed: 1)
        network.addSTUNServer(at: Self.server)
        let nat = network.addNAT(.fullCone, publicAddress: "192.0.2.100")
        let hosts = (network.addHost(["10.0.0.2"], behind: nat), network.addHost(["198.51.100.1"]))
        var duet = ICEDuet(network: network, hosts: hosts)
        duet.tell(.left) { agent, now in
            agent.addLocalHost(endpoint("10.0.0.2", 4_000), at: now)
            agent.setSTUNServers([Self.server, Self.server], at: now)
            agent.localHostsComplete(at: now)
        }
        #expect(duet.run { $0[.left].gathering.last == .complete })
        #expect(duet[.left].candidates.map(\.type) == [.host, .serverReflexive])
    }

    @Test func `two hosts behind one NAT meet on their own network`() {
        var network = VirtualNetwork(seed: 8)
        network.addSTUNServer(at: Self.server)
        let nat = network.addNAT(.symmetric, publicAddress: "192.0.2.100")
        let hosts = (network.addHost(["10.0.0.2"], behind: nat), network.addHost(["10.0.0.3"], behind: nat))
        var configuration = ICEConfiguration()
        configuration.stunServers = [Self.server]
        var duet = ICEDuet(network: network, hosts: hosts, configuration: configuration)
        duet.begin(left: [endpoint("10.0.0.2", 4_000)], right: [endpoint("10.0.0.3", 5_000)])
        #expect(duet.run { $0.bothConnected })
        #expect(duet[.left].agent.route?.remote == endpoint("10.0.0.3", 5_000))
    }

    @Test func `bindings are kept open while the peer is awaited`() {
        var duet = duet(.portRestricted, .portRestricted)
        duet.signaling = .silent
        duet.tell(.left) { agent, now in
            agent.addLocalHost(endpoint("10.0.0.2", 4_000), at: now)
            agent.localHostsComplete(at: now)
        }
        duet.run(for: .milliseconds(1_000))
        let sent = duet.network.tally.sent
        duet.run(for: .milliseconds(45_000))
        #expect(duet.network.tally.sent == sent + 3)
    }

    /// Left is behind it, and controlling.
    @Test(arguments: [true, false])
    func `a NAT that forgets its mappings: the next check nominates the new way, and so does a restart`(
        restarts: Bool
    ) {
        var network = VirtualNetwork(seed: 9)
        network.addSTUNServer(at: Self.server)
        let nat = network.addNAT(.portRestricted, publicAddress: "192.0.2.100")
        let hosts = (network.addHost(["10.0.0.2"], behind: nat), network.addHost(["198.51.100.1"]))
        var configuration = ICEConfiguration()
        configuration.stunServers = [Self.server]
        var duet = ICEDuet(network: network, hosts: hosts, configuration: configuration)
        duet.begin(left: [endpoint("10.0.0.2", 4_000)])
        #expect(duet.run { $0.bothCompleted })
        let before = duet[.right].agent.route
        let states = duet[.right].states
        duet.network.forgetMappings(of: nat)
        if restarts {
            duet.restart(.left)
            duet.run(for: .milliseconds(60))
            duet.restart(.right)
        }
        #expect(duet.run(within: .milliseconds(7_000)) { $0[.right].agent.route != before })
        #expect(duet.run { $0.bothCompleted })
        if !restarts { #expect(duet[.right].states == states) }
    }
}
