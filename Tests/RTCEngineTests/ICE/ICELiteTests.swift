import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// The lite role (RFC 8445 §2.5): answers, and no checks of its own.
@Suite struct ICELiteTests {
    private static let aDay = Interval.milliseconds(24 * 3_600_000)

    private func lite(_ adjust: (inout ICEConfiguration) -> Void = { _ in }) -> ScriptedPeer {
        var configuration = ICEConfiguration()
        configuration.isLite = true
        adjust(&configuration)
        return ScriptedPeer(role: .controlling, configuration: configuration)
    }

    @Test(arguments: ICEDuet.Side.allCases, [ICERole.controlling, .controlled])
    func `a full and a lite agent connect, whoever began, and only the full one asks`(
        liteSide: ICEDuet.Side, role: ICERole
    ) {
        var duet = ICEDuet.open(roles: (role, role == .controlling ? .controlled : .controlling), liteSide: liteSide)
        duet.begin()
        #expect(duet.run { $0.bothCompleted })
        #expect(duet[liteSide].agent.role == .controlled)
        #expect(duet[liteSide.other].agent.role == .controlling)
        duet.run(for: Self.aDay / 24)
        #expect(duet.bothCompleted)
        #expect(duet[liteSide].states == [.checking, .connected, .completed])
        #expect(duet[liteSide].agent.statistics.requestsSent == 0)
        #expect(duet[liteSide.other].agent.statistics.consentRequestsSent > 600)
    }

    @Test(arguments: NATKind.allCases)
    func `a full agent behind any NAT reaches a lite one`(kind: NATKind) {
        var network = VirtualNetwork(seed: 5)
        let nat = network.addNAT(kind, publicAddress: "203.0.113.1")
        let left = network.addHost(["10.0.0.2"], behind: nat)
        let right = network.addHost(["198.51.100.1"])
        var duet = ICEDuet(network: network, hosts: (left, right), liteSide: .right)
        duet.begin(left: [endpoint("10.0.0.2", 4_000)])
        #expect(duet.run { $0.bothConnected })
        #expect(duet[.right].selections.map(\.remoteCandidate.type) == [.peerReflexive])
        #expect(duet[.right].agent.statistics.requestsSent == 0)
    }

    @Test(arguments: ICEDuet.Side.allCases)
    func `either side restarts, and the old pair carries media until the new one is nominated`(side: ICEDuet.Side) {
        var duet = ICEDuet.open(liteSide: .right)
        duet.begin()
        #expect(duet.run { $0.bothCompleted })
        duet.restart(side)
        duet.run(for: .milliseconds(20))
        #expect(duet[.right].agent.hasConsent)
        duet.run(for: .milliseconds(100))
        duet.restart(side.other)
        #expect(duet.run { $0.bothCompleted })
        #expect(duet[.right].agent.statistics.requestsSent == 0)
        #expect(duet[.left].agent.role == .controlling)
    }

    @Test func `has one candidate of IPv4, one for each address of IPv6, and asks no server`() {
        var peer = lite { $0.stunServers = [endpoint("203.0.113.200", 3_478)] }
        peer.tell { agent, now in
            for base in [
                endpoint("192.0.2.2", 4_001), endpoint("2001:db8::1", 4_002), endpoint("2001:db8::1", 4_003),
                endpoint("2001:db8::2", 4_004),
            ] { agent.addLocalHost(base, at: now) }
            agent.setSTUNServers([endpoint("203.0.113.201", 3_478)], at: now)
            agent.localHostsComplete(at: now)
        }
        #expect(
            peer.agent.localCandidates.compactMap(\.address.transportAddress) == [
                endpoint("192.0.2.1", 4_000), endpoint("2001:db8::1", 4_002), endpoint("2001:db8::2", 4_004),
            ])
        #expect(peer.agent.gatheringState == .complete)
        peer.introduce()
        peer.wait(.milliseconds(20_000))
        #expect(peer.takeSent() == [])
    }

    @Test func `the latest nomination counts, and a check that nominates nothing is only answered`() {
        var peer = lite()
        peer.introduce()
        peer.check([.iceControlling(tieBreaker: 1)])
        #expect(peer.takeSent().map(\.kind) == [.success])
        #expect(peer.selections == [])
        let addresses = [peer.address, endpoint("198.51.100.7", 7), peer.address]
        for address in addresses {
            peer.move(to: address)
            peer.check([.iceControlling(tieBreaker: 1)], from: endpoint("198.51.100.9", 9))
        }
        #expect(peer.selections.map(\.remote) == addresses)
        #expect(peer.agent.selectedPair?.localCandidate.type == .host)
        // A peer that moves for ever is followed.
        for port in 1_000..<1_300 as Range<UInt16> {
            peer.move(to: endpoint("198.51.100.8", port))
            #expect(peer.agent.selectedPair?.remote.port == port)
        }
        peer.move(to: peer.address)
        #expect(peer.agent.selectedPair?.remote == peer.address)
    }

    /// Older WHIP clients of FFmpeg say neither.
    @Test func `a nomination without a priority and without a role is followed, by a lite agent alone`() {
        var peer = lite()
        peer.introduce()
        peer.check([.useCandidate], priority: nil)
        #expect(peer.takeSent().map(\.kind) == [.success])
        #expect(peer.selections.map(\.remote) == [peer.address])
        var full = ScriptedPeer(role: .controlled)
        full.check([.useCandidate], priority: nil)
        #expect(full.takeSent().map(\.errorCode) == [.badRequest])
    }

    @Test func `of several nominations the last that is answered counts, and a lost answer is asked for again`() {
        var peer = lite()
        peer.introduce()
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        _ = peer.takeSent()
        let (second, third) = (endpoint("198.51.100.7", 7), endpoint("198.51.100.8", 8))
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: second)
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: third)
        let questions = peer.takeRequests()
        peer.confirm(questions[0], from: second)
        #expect(peer.agent.selectedPair?.remote == second)
        // The other question was lost. The peer checks there, without a nomination, as Firefox does.
        peer.check([.iceControlling(tieBreaker: 1)], from: third)
        for question in peer.takeRequests() { peer.confirm(question, from: third) }
        #expect(peer.agent.selectedPair?.remote == third)
        // An answer to what was asked before that comes too late.
        peer.confirm(questions[0], from: second)
        #expect(peer.agent.selectedPair?.remote == third)
    }

    @Test func `follows a peer that uses another pair than the last one it nominated`() {
        var peer = lite()
        peer.introduce()
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        peer.move(to: endpoint("198.51.100.7", 7))
        for second in 0..<10 {
            peer.wait(.milliseconds(1_000))
            peer.check([.iceControlling(tieBreaker: 1)])
            for question in peer.takeRequests() { peer.confirm(question) }
            #expect((peer.agent.selectedPair?.remote == peer.address) == (second >= 5))
        }
        // A stranger's address that was never nominated is not asked.
        peer.wait(.milliseconds(7_000))
        peer.check([.iceControlling(tieBreaker: 1)], from: endpoint("198.51.100.9", 9))
        #expect(peer.takeRequests() == [])
    }

    @Test func `moves to another address only when the peer has answered from there`() {
        var peer = lite()
        peer.introduce()
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        _ = peer.takeSent()
        // Somebody else sends a nomination again that he has seen, or the peer writes a stranger's address on one.
        let stranger = endpoint("198.51.100.7", 7)
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: stranger)
        let sent = peer.takeSent()
        #expect(sent.map(\.kind) == [.success, .request])
        #expect(peer.agent.selectedPair?.remote == peer.address)
        // Nobody but the peer can answer, and not from somewhere else.
        peer.confirm(sent[1], from: stranger, password: "a guess of the right length")
        peer.confirm(sent[1])
        #expect(peer.agent.selectedPair?.remote == peer.address)
        peer.confirm(sent[1], from: stranger)
        #expect(peer.agent.selectedPair?.remote == stranger)
        #expect(peer.selections.count == 2)
    }

    /// libwebrtc checks our addresses from its new ports before it has our answer to its restart, and keeps what works.
    @Test func `a peer that restarts is followed though it goes on naming us by the credential before`() {
        var peer = lite()
        peer.introduce()
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        let (former, fresh) = (peer.agent.localParameters, peer.agent.makeRestartParameters())
        let (old, new, newer) = (peer.address, endpoint("198.51.100.7", 7), endpoint("198.51.100.8", 8))
        peer.parameters = ICEParameters(usernameFragment: "peer2", password: "the peer's second password")
        // Before the offer: answered, for the peer is who it says, and not followed, for it cannot be asked.
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: new)
        #expect(peer.takeSent().map(\.kind) == [.success, .success])
        #expect(peer.agent.selectedPair?.remote == old)

        let parameters = peer.parameters
        peer.tell { agent, now in
            agent.restart(local: fresh, at: now)
            agent.setRemote(parameters, isLite: false, at: now)
        }
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: new, naming: former)
        #expect(peer.agent.selectedPair?.remote == new)
        _ = peer.takeSent()
        // Who is asked whether it moves on is asked as it asks itself.
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: newer, naming: former)
        #expect(peer.takeSent().compactMap(\.username) == ["peer2:\(former.usernameFragment)"])
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: newer)
        #expect(peer.takeSent().compactMap(\.username) == ["peer2:\(fresh.usernameFragment)"])
        // What its generation before asks is answered, and no more.
        peer.check(
            [.iceControlling(tieBreaker: 1), .useCandidate], from: old, username: "\(former.usernameFragment):peer",
            naming: former)
        #expect(peer.takeSent().map(\.kind) == [.success])
        #expect(peer.agent.selectedPair?.remote == new)
        // It lives by these checks.
        for _ in 0..<20 {
            peer.wait(.milliseconds(5_000))
            peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: new, naming: former)
        }
        #expect(peer.agent.hasConsent)
    }

    /// A restart is what a peer tries whose connection is lost.
    @Test func `a peer is followed by the credential before though its connection was lost`() {
        var peer = lite()
        peer.introduce()
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        peer.wait(.milliseconds(31_000))
        #expect(peer.agent.connectionState == .failed)
        let (former, fresh) = (peer.agent.localParameters, peer.agent.makeRestartParameters())
        peer.parameters = ICEParameters(usernameFragment: "peer2", password: "the peer's second password")
        let parameters = peer.parameters
        peer.tell { agent, now in
            agent.restart(local: fresh, at: now)
            agent.setRemote(parameters, isLite: false, at: now)
        }
        let new = endpoint("198.51.100.7", 7)
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: new, naming: former)
        #expect(peer.agent.selectedPair?.remote == new)
        #expect(peer.agent.hasConsent)
    }

    @Test func `checks back, if it is to, until a pair is selected, and nothing comes of the answer`() throws {
        var peer = lite { $0.checksBack = true }
        peer.introduce()
        for _ in 0..<2 {
            peer.check([.iceControlling(tieBreaker: 1)])
            let sent = peer.takeSent()
            #expect(sent.map(\.kind) == [.success, .request])
            let request = try #require(sent.last)
            #expect(request.username == "peer:\(peer.agent.localParameters.usernameFragment)")
            #expect(request.controlledTieBreaker != nil && !request.usesCandidate)
            peer.confirm(request)
            #expect(peer.takeSent() == [] && peer.selections == [])
            #expect(peer.states == [.checking])
        }
        // To who checks, wherever that is, and to nobody who has not proven to be the peer.
        peer.check([.iceControlling(tieBreaker: 1)], from: endpoint("198.51.100.9", 9))
        #expect(peer.takeDestinations() == [endpoint("198.51.100.9", 9), endpoint("198.51.100.9", 9)])
        peer.check([.iceControlling(tieBreaker: 1)], password: "a guess of the right length")
        #expect(peer.takeSent().map(\.kind) == [.error])
        // None is repeated by itself.
        peer.wait(.milliseconds(5_000))
        #expect(peer.takeSent() == [])
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        peer.check([.iceControlling(tieBreaker: 1)])
        #expect(peer.takeSent().map(\.kind) == [.success, .success])
        #expect(peer.selections.map(\.remote) == [peer.address])
    }

    @Test func `checks back so many times, whoever the checks seem to be from, and no more`() {
        var peer = lite {
            $0.checksBack = true
            $0.maximumChecksBack = 50
        }
        peer.introduce()
        for port in 1_000..<1_200 as Range<UInt16> {
            peer.check([.iceControlling(tieBreaker: 1)], from: endpoint("198.51.100.8", port))
        }
        let sent = peer.takeSent()
        #expect(sent.count { $0.kind == .success } == 200)
        #expect(sent.count { $0.kind == .request } == 50)
    }

    @Test func `checks back when the description is there what came before`() {
        var peer = lite { $0.checksBack = true }
        peer.check([.iceControlling(tieBreaker: 1)])
        #expect(peer.takeSent().map(\.kind) == [.success])
        peer.introduce()
        #expect(peer.takeSent().map(\.kind) == [.request])
    }

    @Test(arguments: ICEDuet.Side.allCases)
    func `a full agent of ours connects with one that checks back as with one that does not`(liteSide: ICEDuet.Side) {
        var configuration = ICEConfiguration()
        configuration.checksBack = true
        var duet = ICEDuet.open(configuration: configuration, liteSide: liteSide)
        duet.begin()
        #expect(duet.run { $0.bothCompleted })
        #expect(duet[liteSide].agent.role == .controlled)
        #expect(duet[liteSide].states == [.checking, .connected, .completed])
        duet.run(for: Self.aDay / 24)
        #expect(duet.bothCompleted)
        #expect((1...20).contains(duet[liteSide].agent.statistics.requestsSent))
    }

    @Test func `a nomination before the description counts as soon as that is there`() {
        var peer = lite()
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        #expect(peer.takeSent().map(\.kind) == [.success])
        #expect(peer.selections == [])
        peer.introduce()
        #expect(peer.selections.map(\.remote) == [peer.address])
    }

    @Test func `never takes control, whatever the peer's tie-breaker`() {
        for tieBreaker in [0, .max] as [UInt64] {
            var peer = lite()
            peer.introduce()
            peer.check([.iceControlled(tieBreaker: tieBreaker)])
            #expect(peer.takeSent().map(\.errorCode) == [.roleConflict])
            #expect(peer.agent.role == .controlled)
        }
    }

    @Test
    func `lives by the peer's checks: disconnected without them, connected by the next, failed after 30 seconds`() {
        var peer = lite()
        peer.introduce()
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        peer.wait(.milliseconds(10_900))
        #expect(peer.states == [.checking, .connected])
        peer.wait(.milliseconds(200))
        #expect(peer.states.last == .disconnected)
        #expect(peer.agent.hasConsent)
        // Nobody else's check is the peer's, and neither is one on another pair.
        peer.check([.iceControlling(tieBreaker: 1)], password: "a guess of the right length")
        peer.check([.iceControlling(tieBreaker: 1)], from: endpoint("198.51.100.9", 9))
        #expect(peer.states.last == .disconnected)
        peer.check([.iceControlling(tieBreaker: 1)])
        #expect(peer.states.last == .connected)
        peer.wait(.milliseconds(29_900))
        #expect(peer.agent.hasConsent)
        peer.wait(.milliseconds(200))
        #expect(peer.states.last == .failed)
        #expect(!peer.agent.hasConsent)
    }

    @Test func `lives by what only the peer can have protected, too: Pion makes no checks while media flow`() {
        var peer = lite()
        peer.introduce()
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        for _ in 0..<60 {
            peer.wait(.milliseconds(1_000))
            peer.tell { agent, now in agent.mediaAuthenticated(at: now) }
        }
        #expect(peer.states == [.checking, .connected])
        // Anybody can send what looks like media.
        let (address, base) = (peer.address, peer.base)
        for _ in 0..<31 {
            peer.wait(.milliseconds(1_000))
            peer.tell { agent, now in agent.mediaReceived(from: address, to: base, at: now) }
        }
        #expect(peer.states.suffix(2) == [.disconnected, .failed])
        peer.tell { agent, now in agent.mediaAuthenticated(at: now) }
        #expect(!peer.agent.hasConsent)
    }

    @Test func `waits half a minute for a peer that makes no checks`() {
        var peer = lite()
        peer.introduce()
        peer.wait(.milliseconds(29_000))
        #expect(peer.agent.connectionState == .checking)
        peer.wait(.milliseconds(2_000))
        #expect(peer.agent.connectionState == .failed)
        #expect(peer.agent.wake == nil)
    }

    @Test func `two lite agents fail at once and say why`() {
        var peer = lite()
        peer.introduce(isLite: true)
        let reason = "both agents are lite and neither makes checks"
        #expect(peer.outputs.last == .connectionStateChanged(.failed, because: reason))
        #expect(peer.agent.role == .controlled)
    }
}
