import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// Two agents that meet without difficulties.
@Suite struct ICEConnectTests {
    @Test(arguments: [true, false])
    func `two hosts connect, whichever side controls`(leftControls: Bool) {
        var duet = ICEDuet.open(roles: leftControls ? (.controlling, .controlled) : (.controlled, .controlling))
        duet.begin()
        #expect(duet.run { $0.bothConnected })
        duet.run(for: .milliseconds(500))
        #expect(duet[.left].states == [.checking, .connected, .completed])
        #expect(duet[.right].states == [.checking, .connected, .completed])
        #expect(duet[.left].gathering == [.gathering, .complete])
        #expect(duet[.left].agent.route == ICERoute(base: ICEDuet.leftBase, remote: ICEDuet.rightBase))
        #expect(duet[.right].agent.route == ICERoute(base: ICEDuet.rightBase, remote: ICEDuet.leftBase))
        #expect(duet[.left].agent.selectedPair?.localCandidate.type == .host)
        #expect(duet[.left].roleChanges.isEmpty)
    }

    @Test func `somebody whose answer takes a minute is still found`() {
        var duet = ICEDuet.open()
        for (side, base) in [(ICEDuet.Side.left, ICEDuet.leftBase), (.right, ICEDuet.rightBase)] {
            duet.tell(side) { agent, now in
                agent.addLocalHost(base, at: now)
                agent.localHostsComplete(at: now)
            }
        }
        // The offer; the answer is on its way.
        duet.describe(.left)
        duet.run(for: .seconds(Int64(60)))
        #expect(duet[.right].states == [.checking, .connected])
        duet.describe(.right)
        #expect(duet.run { $0.bothConnected })
        #expect(!duet[.left].states.contains(.failed) && !duet[.right].states.contains(.failed))
    }

    @Test func `a pair of hosts is chosen within three round trips of the descriptions`() throws {
        var duet = ICEDuet.open()
        duet.begin()
        #expect(duet.run { $0.bothConnected })
        // 50 ms of signaling; a round trip is 40 ms here.
        let connected = try #require(duet[.left].connectedAt)
        #expect(connected - .zero <= .milliseconds(50 + 3 * 40))
    }

    @Test func `media flows both ways over the selected pair`() {
        var duet = ICEDuet.open()
        duet.begin()
        #expect(duet.run { $0.bothConnected })
        duet.sendMedia(.left, 0x80)
        duet.sendMedia(.right, 0x90)
        duet.run(for: .milliseconds(100))
        #expect(duet[.right].media == [[0x80, 1, 2, 3]])
        #expect(duet[.left].media == [[0x90, 1, 2, 3]])
    }

    @Test func `candidates that arrive before the description are kept for it`() {
        var duet = ICEDuet.open()
        duet.signaling = .trickle
        for (side, base) in [(ICEDuet.Side.left, ICEDuet.leftBase), (.right, ICEDuet.rightBase)] {
            duet.tell(side) { agent, now in
                agent.addLocalHost(base, at: now)
                agent.localHostsComplete(at: now)
            }
        }
        duet.run(for: .milliseconds(500))
        #expect(duet[.left].states.isEmpty)
        duet.describe(.left)
        duet.describe(.right)
        #expect(duet.run { $0.bothConnected })
    }

    @Test func `checks that arrive before the description are answered at once and acted on later`() {
        var duet = ICEDuet.open()
        // Right knows left, but not the other way round yet, as with an answer that is slower than the media.
        duet.tell(.left) { agent, now in agent.addLocalHost(ICEDuet.leftBase, at: now) }
        duet.tell(.right) { agent, now in agent.addLocalHost(ICEDuet.rightBase, at: now) }
        duet.describe(.left)
        duet.run(for: .milliseconds(300))
        #expect(duet[.left].agent.statistics.responsesSent > 0)
        #expect(duet[.left].agent.connectionState == .new)
        #expect(duet[.right].agent.statistics.pairs.first?.state == .succeeded)

        duet.describe(.right)
        duet.run(for: .milliseconds(50))
        // The triggered check leaves in the instant in which the description arrives.
        #expect(duet[.left].agent.statistics.requestsSent == 1)
        #expect(duet.run { $0.bothConnected })
    }

    @Test func `a side that signals no candidate is found by its checks`() {
        var duet = ICEDuet.open()
        duet.signaling = .silent
        duet.begin()
        let left = duet[.left].candidates
        duet.tell(.right) { agent, now in for candidate in left { agent.addRemoteCandidate(candidate, at: now) } }
        #expect(duet.run { $0.bothConnected })
        #expect(duet[.left].agent.selectedPair?.remoteCandidate.type == .peerReflexive)
        #expect(duet[.right].agent.selectedPair?.remoteCandidate.type == .host)
    }

    @Test func `a peer-reflexive candidate takes its name when that is signalled`() {
        var duet = ICEDuet.open()
        duet.signaling = .silent
        duet.begin()
        let left = duet[.left].candidates
        duet.tell(.right) { agent, now in for candidate in left { agent.addRemoteCandidate(candidate, at: now) } }
        #expect(duet.run { $0[.left].agent.statistics.pairs.first?.remoteCandidate.type == .peerReflexive })
        let before = duet[.left].agent.statistics.pairs
        let right = duet[.right].candidates
        duet.tell(.left) { agent, now in for candidate in right { agent.addRemoteCandidate(candidate, at: now) } }
        let after = duet[.left].agent.statistics.pairs
        #expect(before.count == 1)
        #expect(after.count == 1)
        #expect(after.first?.remoteCandidate.type == .host)
        #expect((after.first?.priority ?? 0) > (before.first?.priority ?? 0))
    }

    @Test func `the selected pair takes the name too, and is the same pair`() {
        var duet = ICEDuet.open()
        duet.signaling = .silent
        duet.begin()
        let left = duet[.left].candidates
        duet.tell(.right) { agent, now in for candidate in left { agent.addRemoteCandidate(candidate, at: now) } }
        #expect(duet.run { $0.bothConnected })
        let before = duet[.left].agent.selectedPair
        #expect(before?.remoteCandidate.type == .peerReflexive)
        let right = duet[.right].candidates
        duet.tell(.left) { agent, now in for candidate in right { agent.addRemoteCandidate(candidate, at: now) } }
        let after = duet[.left].agent.selectedPair
        #expect(after?.route == before?.route && after?.remoteCandidate.type == .host)
        // Who looks for it among the pairs, as getStats does, finds it.
        #expect(duet[.left].agent.statistics.pairs.contains { $0.remoteCandidate == after?.remoteCandidate })
    }

    @Test func `IPv6 is preferred where both families work`() {
        var network = VirtualNetwork(seed: 3)
        let hosts = (
            network.addHost(["192.0.2.1", "2001:db8:1::1"]), network.addHost(["198.51.100.1", "2001:db8:2::1"])
        )
        var duet = ICEDuet(network: network, hosts: hosts)
        let leftV6 = endpoint("2001:db8:1::1", 4_000)
        let rightV6 = endpoint("2001:db8:2::1", 5_000)
        duet.begin(left: [ICEDuet.leftBase, leftV6], right: [ICEDuet.rightBase, rightV6])
        #expect(duet.run { $0.bothConnected })
        #expect(duet[.left].agent.route == ICERoute(base: leftV6, remote: rightV6))
        #expect(duet[.right].agent.route == ICERoute(base: rightV6, remote: leftV6))
    }

    @Test func `IPv4 serves where IPv6 is broken`() {
        var network = VirtualNetwork(seed: 3)
        // The IPv6 address of the right host is not routed.
        let hosts = (network.addHost(["192.0.2.1", "2001:db8:1::1"]), network.addHost(["198.51.100.1"]))
        var duet = ICEDuet(network: network, hosts: hosts)
        duet.begin(
            left: [ICEDuet.leftBase, endpoint("2001:db8:1::1", 4_000)],
            right: [ICEDuet.rightBase, endpoint("2001:db8:2::1", 5_000)])
        #expect(duet.run(within: .milliseconds(1_000)) { $0.bothConnected })
        #expect(duet[.left].agent.route?.remote == ICEDuet.rightBase)
    }

    @Test func `names, TCP, other components and impossible addresses are counted and kept out`() throws {
        var duet = ICEDuet.open()
        duet.begin()
        let texts = [
            "candidate:1 1 udp 2122262783 9c8b7a6d-0000-4000-8000-001122334455.local 51472 typ host",
            "candidate:1 1 tcp 1518280447 198.51.100.1 9 typ host tcptype active",
            "candidate:1 2 udp 1 198.51.100.1 5000 typ host", "candidate:1 1 udp 1 0.0.0.0 5000 typ host",
            "candidate:1 1 udp 1 224.0.0.1 5000 typ host", "candidate:1 1 udp 1 198.51.100.1 0 typ host",
            "candidate:1 1 udp 1 2001:db8::9 5000 typ host", "candidate:1 1 udp 1 127.0.0.1 5000 typ host",
            "candidate:1 1 udp 1 198.51.100.7 5000 typ host ufrag someoneelse",
        ]
        duet.run(for: .milliseconds(55))
        let candidates = try texts.map { try ICECandidate(parsing: $0) }
        duet.tell(.left) { agent, now in for candidate in candidates { agent.addRemoteCandidate(candidate, at: now) } }
        #expect(duet[.left].agent.statistics.remoteCandidatesIgnored == texts.count)
        #expect(duet[.left].agent.statistics.pairs.count == 1)
        #expect(duet.run { $0.bothConnected })
    }

    @Test func `a flood of candidates fills no more than the limits`() {
        var duet = ICEDuet.open()
        duet.begin()
        duet.run(for: .milliseconds(55))
        duet.tell(.left) { agent, now in
            for index in 0..<1_000 {
                let address = TransportAddress(.v4(0xcb00_7100 + UInt32(index % 250)), port: UInt16(1_000 + index))
                agent.addRemoteCandidate(
                    ICECandidate(foundation: "f\(index)", priority: UInt32(index), address: .ip(address), type: .host),
                    at: now)
            }
        }
        #expect(duet[.left].agent.statistics.pairs.count <= 100)
        #expect(duet[.left].agent.statistics.remoteCandidatesIgnored >= 900)
        #expect(duet.run { $0.bothConnected })
    }

    @Test func `transactions leave no faster than one every Ta`() throws {
        var configuration = ICEConfiguration()
        configuration.checkInterval = .milliseconds(50)
        var agent = ICEAgent(configuration: configuration, role: .controlling, random: .seeded(4))
        agent.addLocalHost(ICEDuet.leftBase, at: .zero)
        for index in 0..<20 {
            let address = TransportAddress(.v4(0xcb00_7100 + UInt32(index)), port: 1_000)
            agent.addRemoteCandidate(
                ICECandidate(foundation: "\(index)", priority: 9, address: .ip(address), type: .host), at: .zero)
        }
        agent.setRemote(ICEParameters(usernameFragment: "peer", password: "x"), isLite: false, at: .zero)
        var fresh: [Instant] = []
        var seen: Set<TransportAddress> = []
        var now = Instant.zero
        while seen.count < 20 {
            agent.tick(at: now)
            while let output = agent.pollOutput() {
                guard case .send(_, _, let destination) = output, seen.insert(destination).inserted else { continue }
                fresh.append(now)
            }
            now = try #require(agent.wake)
        }
        for (earlier, later) in zip(fresh, fresh.dropFirst()) { #expect(later - earlier >= .milliseconds(50)) }
    }

    @Test func `no reason holds an address or a credential`() {
        var duet = ICEDuet.open()
        duet.begin()
        #expect(duet.run { $0.bothConnected })
        duet.restart(.left)
        duet.network.setUplink(.cut, of: duet[.left].host)
        duet.run(for: .milliseconds(90_000))
        duet.tell(.left) { agent, _ in agent.close() }
        let reasons = duet[.left].reasons + duet[.right].reasons
        #expect(reasons.count >= 6)
        for reason in reasons { #expect(!reason.contains { $0.isNumber || $0 == ":" }) }
        #expect("\(duet[.left].agent.localParameters)" == "ICEParameters(hidden)")
    }

    /// W3C webrtc-stats §8.11: `requestsSent`.
    @Test func `checks are counted without their repetitions, and what STUN servers are asked is none`() {
        var configuration = ICEConfiguration()
        configuration.stunServers = [endpoint("203.0.113.200", 3_478)]
        var peer = ScriptedPeer(role: .controlling, configuration: configuration)
        peer.introduce()
        peer.wait(.milliseconds(2_000))
        let sent = peer.takeRequests()
        let checks = sent.filter { $0.username != nil }
        let transactions = Set(checks.map(\.transactionID)).count
        #expect(transactions < checks.count && checks.count < sent.count)
        #expect(peer.agent.statistics.requestsSent == transactions)
    }

    @Test func `close ends every timer and every output`() {
        var duet = ICEDuet.open()
        duet.begin()
        #expect(duet.run { $0.bothConnected })
        duet.tell(.left) { agent, _ in agent.close() }
        #expect(duet[.left].states.last == .closed)
        #expect(duet[.left].agent.wake == nil)
        #expect(duet[.left].agent.route == nil)
        let sent = duet[.left].agent.statistics.requestsSent
        duet.tell(.left) { agent, now in
            agent.tick(at: now + .milliseconds(60_000))
            agent.addLocalHost(endpoint("192.0.2.1", 4_001), at: now)
            agent.setRemote(ICEParameters(usernameFragment: "a", password: "b"), isLite: false, at: now)
            agent.restart(local: ICEParameters(usernameFragment: "c", password: "d"), at: now)
            agent.close()
        }
        #expect(duet[.left].agent.statistics.requestsSent == sent)
        #expect(duet[.left].agent.wake == nil)
        #expect(duet[.left].states.last == .closed)
    }

    @Test func `nobody there: the agent fails after its patience, not before`() throws {
        var duet = ICEDuet.open()
        duet.network.setDownlink(.cut, of: duet[.right].host)
        duet.network.setUplink(.cut, of: duet[.right].host)
        duet.begin()
        duet.run(for: .milliseconds(14_000))
        #expect(duet[.left].agent.connectionState == .checking)
        duet.run(for: .milliseconds(20_000))
        #expect(duet[.left].states == [.checking, .failed])
        #expect(duet[.left].agent.wake == nil)
    }

    @Test func `while candidates may follow, an empty list is no failure`() {
        var configuration = ICEConfiguration()
        configuration.patience = .milliseconds(2_000)
        var open = ICEDuet.open(configuration: configuration)
        open.signaling = .silent
        open.begin()
        open.run(for: .milliseconds(20_000))
        #expect(open[.left].agent.connectionState == .checking)

        var ended = ICEDuet.open(configuration: configuration)
        ended.signaling = .silent
        ended.begin()
        ended.tell(.left) { agent, now in agent.endOfRemoteCandidates(at: now) }
        ended.run(for: .milliseconds(20_000))
        #expect(ended[.left].states == [.checking, .failed])
    }

    @Test(arguments: 0..<200)
    func `connects over a rough network`(seed: UInt64) {
        var duet = ICEDuet.open(seed: seed, conditions: .rough)
        duet.begin()
        #expect(duet.run(within: .milliseconds(20_000)) { $0.bothConnected })
        #expect(duet[.left].agent.route?.remote == ICEDuet.rightBase)
        #expect(duet[.right].agent.route?.remote == ICEDuet.leftBase)
    }

    @Test func `the same seed gives the same run`() {
        func run() -> (VirtualNetwork.Tally, [String]) {
            var duet = ICEDuet.open(seed: 11, conditions: .rough)
            duet.begin()
            duet.run(for: .milliseconds(30_000))
            return (duet.network.tally, duet[.left].reasons)
        }
        let (first, second) = (run(), run())
        #expect(first.0 == second.0)
        #expect(first.1 == second.1)
    }
}
