import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// What becomes of a pair after it was selected (RFC 7675).
@Suite struct ICEConsentTests {
    private func connected(seed: UInt64 = 1) -> ICEDuet {
        var duet = ICEDuet.open(seed: seed)
        duet.begin()
        #expect(duet.run { $0.bothConnected })
        return duet
    }

    @Test func `a quiet call stays connected for an hour`() {
        var duet = connected()
        duet.run(for: .milliseconds(3_600_000))
        #expect(duet[.left].states == [.checking, .connected, .completed])
        #expect(duet[.left].agent.hasConsent)
        let checks = duet[.left].agent.statistics.consentRequestsSent
        // One in five seconds on the average.
        #expect((680...760).contains(checks))
    }

    @Test func `consent checks come 4 to 6 seconds apart, never with the same transaction`() {
        var peer = ScriptedPeer(role: .controlling)
        peer.connect()
        _ = peer.takeSent()
        var last = peer.now
        var seen: Set<STUNTransactionID> = []
        for _ in 0..<40 {
            let before = peer.now
            while peer.agent.statistics.consentRequestsSent == seen.count, peer.now - before < .milliseconds(7_000) {
                peer.wait(.milliseconds(10))
            }
            for request in peer.takeRequests() {
                #expect(seen.insert(request.transactionID).inserted)
                if seen.count > 1 {
                    #expect(peer.now - last >= .milliseconds(3_980))
                    #expect(peer.now - last <= .milliseconds(6_020))
                }
                last = peer.now
                peer.confirm(request)
            }
        }
        #expect(seen.count == 40)
    }

    @Test(arguments: [ICERole.controlling, .controlled])
    func `the controlling side's consent checks nominate again, for a peer that forgot`(role: ICERole) {
        var peer = ScriptedPeer(role: role)
        peer.connect()
        _ = peer.takeSent()
        for _ in 0..<3 {
            peer.wait(.milliseconds(6_000))
            let checks = peer.takeRequests()
            #expect(!checks.isEmpty)
            for check in checks {
                #expect(check.usesCandidate == (role == .controlling))
                peer.confirm(check)
            }
        }
        // After a restart the pair before it is only kept.
        peer.tell { agent, now in agent.restart(local: agent.makeRestartParameters(), at: now) }
        peer.wait(.milliseconds(6_000))
        let checks = peer.takeRequests()
        #expect(!checks.isEmpty && checks.allSatisfy { !$0.usesCandidate })
    }

    @Test func `silence: disconnected at first, failed after 30 seconds, and nothing is sent any more`() throws {
        var duet = connected()
        duet.run(for: .milliseconds(1_000))
        duet.network.setUplink(.cut, of: duet[.right].host)
        let cutAt = duet.now
        #expect(duet.run { $0[.left].agent.connectionState == .disconnected })
        #expect(duet.now - cutAt <= .milliseconds(11_500))
        #expect(duet[.left].agent.hasConsent)
        #expect(duet.run { $0[.left].agent.connectionState == .failed })
        #expect(duet.now - cutAt <= .milliseconds(30_500))
        #expect(duet.now - cutAt >= .milliseconds(24_000))
        #expect(!duet[.left].agent.hasConsent)
        #expect(duet[.left].agent.route == nil)
        #expect(duet[.left].agent.selectedPair != nil)
        #expect(duet[.left].agent.wake == nil)
        let sent = duet[.left].agent.statistics.requestsSent
        duet.run(for: .milliseconds(60_000))
        #expect(duet[.left].agent.statistics.requestsSent == sent)
    }

    @Test func `a line that comes back in time recovers by itself`() {
        var duet = connected()
        duet.network.setUplink(.cut, of: duet[.right].host)
        #expect(duet.run { $0[.left].agent.connectionState == .disconnected })
        duet.network.setUplink(.access, of: duet[.right].host)
        let backAt = duet.now
        #expect(duet.run { $0[.left].agent.connectionState == .completed })
        #expect(duet.now - backAt <= .milliseconds(6_100))
        #expect(duet[.left].states.suffix(3) == [.disconnected, .connected, .completed])
    }

    @Test func `one lost check is no disconnection`() {
        var duet = connected()
        for _ in 0..<20 {
            duet.run(for: .milliseconds(9_000))
            duet.network.setUplink(.cut, of: duet[.right].host)
            duet.run(for: .milliseconds(1_000))
            duet.network.setUplink(.access, of: duet[.right].host)
        }
        #expect(!duet[.left].states.contains(.disconnected))
    }

    @Test func `requests and media from the peer are not consent`() {
        var peer = ScriptedPeer(role: .controlling)
        peer.connect()
        for _ in 0..<40 {
            peer.wait(.milliseconds(1_000))
            peer.check([.iceControlled(tieBreaker: 1)])
            let (address, base) = (peer.address, peer.base)
            peer.tell { agent, now in
                agent.mediaReceived(from: address, to: base, at: now)
                agent.mediaAuthenticated(at: now)
            }
        }
        #expect(peer.states.last == .failed)
    }

    @Test func `a consent response is only the peer's, over the same two addresses`() throws {
        var peer = ScriptedPeer(role: .controlling)
        peer.connect()
        _ = peer.takeSent()
        peer.wait(.milliseconds(6_100))
        let request = try #require(peer.takeRequests().first)
        let before = peer.agent.statistics
        peer.confirm(request, password: "guessed")
        peer.confirm(request, from: endpoint("198.51.100.2", 5_000))
        peer.refuse(request, STUNErrorCode(403, reason: "Forbidden"))
        #expect(peer.agent.statistics.datagramsIgnored == before.datagramsIgnored + 3)
        #expect(peer.agent.statistics.responsesReceived == before.responsesReceived)
        peer.confirm(request)
        #expect(peer.agent.statistics.responsesReceived == before.responsesReceived + 1)
    }

    @Test func `the round trip is measured by consent checks`() {
        var duet = connected()
        duet.run(for: .milliseconds(10_000))
        #expect(duet[.left].agent.statistics.currentRoundTripTime == .milliseconds(40))
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a rough line does not end a call`(seed: UInt64) {
        var duet = ICEDuet.open(seed: seed, conditions: .rough)
        duet.begin()
        #expect(duet.run { $0.bothConnected })
        duet.run(for: .milliseconds(300_000))
        #expect(!duet[.left].states.contains(.failed))
        #expect(!duet[.right].states.contains(.failed))
    }
}
