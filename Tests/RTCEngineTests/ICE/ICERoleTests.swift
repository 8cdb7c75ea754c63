import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// Who decides, and what happens when both think that they do (RFC 8445 §7.3.1.1, §7.2.5.1).
@Suite struct ICERoleTests {
    @Test(arguments: [ICERole.controlling, .controlled], 0..<20 as Range<UInt64>)
    func `a conflict of roles is settled, and one side controls`(role: ICERole, seed: UInt64) {
        var duet = ICEDuet.open(roles: (role, role), seed: seed)
        duet.begin()
        #expect(duet.run { $0.bothConnected })
        #expect(duet[.left].agent.role != duet[.right].agent.role)
        #expect(duet[.left].roleChanges.count + duet[.right].roleChanges.count == 1)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a conflict is settled in spite of loss`(seed: UInt64) {
        var duet = ICEDuet.open(roles: (.controlling, .controlling), seed: seed, conditions: .rough)
        duet.begin()
        #expect(duet.run(within: .milliseconds(20_000)) { $0.bothConnected })
        #expect(duet[.left].agent.role != duet[.right].agent.role)
    }

    @Test func `the greater tie-breaker keeps control and answers 487`() {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        _ = peer.takeSent()
        peer.check([.iceControlling(tieBreaker: 0)])
        let answer = peer.takeSent().first { $0.kind == .error }
        #expect(answer?.errorCode == .roleConflict)
        #expect(peer.agent.role == .controlling)
    }

    @Test func `the lesser tie-breaker yields and answers`() {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        _ = peer.takeSent()
        peer.check([.iceControlling(tieBreaker: .max)])
        #expect(peer.takeSent().contains { $0.kind == .success })
        #expect(peer.agent.role == .controlled)
        #expect(peer.outputs.contains(.roleChanged(.controlled)))
    }

    @Test func `of two controlled agents the one with the greater tie-breaker takes over`() {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce()
        _ = peer.takeSent()
        peer.check([.iceControlled(tieBreaker: 0)])
        #expect(peer.takeSent().contains { $0.kind == .success })
        #expect(peer.agent.role == .controlling)
    }

    @Test func `of two controlled agents the one with the lesser tie-breaker answers 487`() {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce()
        _ = peer.takeSent()
        peer.check([.iceControlled(tieBreaker: .max)])
        #expect(peer.takeSent().contains { $0.errorCode == .roleConflict })
        #expect(peer.agent.role == .controlled)
    }

    @Test func `a 487 makes the agent change its role and check again`() throws {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        let first = try #require(peer.takeRequests().first)
        peer.refuse(first, .roleConflict)
        #expect(peer.agent.role == .controlled)
        peer.wait(.milliseconds(30))
        let second = try #require(peer.takeRequests().first)
        #expect(second.attributes.contains { if case .iceControlled = $0 { true } else { false } })
        #expect(second.transactionID != first.transactionID)
    }

    @Test func `ignores a 487 older than the role switch`() throws {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        let first = try #require(peer.takeRequests().first)
        // The peer's own check has settled the matter already.
        peer.check([.iceControlling(tieBreaker: .max)])
        #expect(peer.agent.role == .controlled)
        peer.refuse(first, .roleConflict)
        #expect(peer.agent.role == .controlled)
    }

    @Test func `equal tie-breakers do not make both sides yield for ever`() throws {
        func tieBreaker(in request: STUNMessage) -> UInt64? {
            request.controllingTieBreaker ?? request.controlledTieBreaker
        }
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        let first = try #require(peer.takeRequests().first)
        let same = try #require(tieBreaker(in: first))
        // Both refuse, and both yield.
        peer.check([.iceControlling(tieBreaker: same)])
        #expect(peer.takeSent().contains { $0.errorCode == .roleConflict })
        peer.refuse(first, .roleConflict)
        peer.wait(.milliseconds(30))
        let second = try #require(peer.takeRequests().first)
        #expect(second.controlledTieBreaker != nil)
        #expect(tieBreaker(in: second) != same)
    }

    @Test func `a forged 487 changes nothing`() throws {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        let first = try #require(peer.takeRequests().first)
        peer.refuse(first, .roleConflict, password: "guessed")
        #expect(peer.agent.role == .controlling)
        #expect(peer.agent.statistics.datagramsIgnored == 1)
    }

    @Test func `a full agent controls a lite one, which only answers`() throws {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce(isLite: true)
        #expect(peer.agent.role == .controlling)
        #expect(peer.outputs.contains(.roleChanged(.controlling)))
        for _ in 0..<10 where peer.selections.isEmpty {
            for request in peer.takeRequests() { peer.confirm(request) }
            peer.wait(.milliseconds(25))
        }
        #expect(peer.selections.map(\.remote) == [peer.address])
        #expect(peer.agent.connectionState == .connected)
    }

    @Test func `roles may be set until the peer is known to be lite`() {
        var agent = ICEAgent(configuration: ICEConfiguration(), role: .controlled, random: .seeded(1))
        agent.setRole(.controlling)
        #expect(agent.role == .controlling)
        agent.setRemote(ICEParameters(usernameFragment: "a", password: "b"), isLite: true, at: .zero)
        agent.setRole(.controlled)
        #expect(agent.role == .controlling)
    }
}
