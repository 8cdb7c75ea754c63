import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// New credentials in the middle of a call (RFC 8445 §9, RFC 8839 §4.4.1.1.1).
@Suite struct ICERestartTests {
    private func connected() -> ICEDuet {
        var duet = ICEDuet.open()
        duet.begin()
        #expect(duet.run { $0.bothConnected })
        duet.run(for: .milliseconds(1_000))
        return duet
    }

    /// An offer from the left and its answer, as descriptions carry them.
    private func restartBoth(_ duet: inout ICEDuet) {
        duet.restart(.left)
        duet.run(for: .milliseconds(60))
        duet.restart(.right)
    }

    @Test func `new parameters change nothing until they are applied`() {
        var duet = connected()
        let before = duet[.left].agent.localParameters
        duet.tell(.left) { agent, _ in
            let fresh = agent.makeRestartParameters()
            #expect(fresh.usernameFragment != before.usernameFragment)
            #expect(fresh.password.utf8.count >= 22)
            #expect(fresh.usernameFragment.utf8.count >= 4)
        }
        #expect(duet[.left].agent.localParameters == before)
    }

    @Test func `the old pair carries media until the new one is selected`() {
        var duet = connected()
        let old = duet[.left].agent.selectedPair
        duet.signalingDelay = .milliseconds(10_000)
        duet.restart(.left)
        // The peer does not hear of it for ten seconds: the call goes on, consent included.
        for _ in 0..<10 {
            duet.run(for: .milliseconds(1_000))
            #expect(duet[.left].agent.selectedPair == old)
            duet.sendMedia(.left)
            duet.sendMedia(.right)
        }
        duet.run(for: .milliseconds(100))
        #expect(duet[.right].media.count == 10)
        #expect(duet[.left].media.count == 10)
        #expect(duet[.left].states.last == .connected)
        #expect(duet[.right].agent.hasConsent)
        #expect(duet[.right].states.last == .completed)

        duet.restart(.right)
        #expect(duet.run { $0.bothCompleted })
        #expect(!duet[.left].states.contains(.disconnected))
        #expect(!duet[.right].states.contains(.disconnected))
        duet.run(for: .milliseconds(120_000))
        #expect(duet[.left].agent.hasConsent)
        #expect(duet[.right].agent.hasConsent)
    }

    @Test func `while the peer has not heard of the restart, both keep their consent`() {
        var duet = connected()
        duet.signalingDelay = .milliseconds(1_000_000)
        duet.restart(.left)
        duet.run(for: .milliseconds(120_000))
        // Right does not know of the restart at all, and left still answers under the old name.
        #expect(duet[.left].agent.hasConsent)
        #expect(duet[.right].agent.hasConsent)
        #expect(duet[.right].agent.connectionState == .completed)
    }

    @Test func `candidates are gathered anew, under the new name`() {
        var duet = connected()
        let count = duet[.left].candidates.count
        duet.restart(.left)
        let fresh = duet[.left].candidates.dropFirst(count)
        #expect(fresh.map(\.usernameFragment) == [duet[.left].agent.localParameters.usernameFragment])
        #expect(duet[.left].gathering == [.gathering, .complete, .gathering, .complete])
    }

    @Test func `the answerer's half may come before or after the peer's`() {
        for restartsFirst in [true, false] {
            var duet = connected()
            duet.restart(.left)
            if restartsFirst { duet.restart(.right) }
            duet.run(for: .milliseconds(60))
            if !restartsFirst {
                #expect(duet[.right].agent.connectionState == .completed)
                duet.restart(.right)
            }
            #expect(duet.run { $0.bothCompleted })
        }
    }

    @Test(arguments: ICEDuet.Side.allCases)
    func `a peer that restarts alone is followed, and nothing is gathered for it`(side: ICEDuet.Side) {
        var duet = connected()
        let local = duet[side].agent.localParameters
        let former = duet[side].agent.selectedPair
        let gathered = duet[side].candidates.count
        duet.restart(side.other)
        duet.describe(side)
        duet.run(for: .milliseconds(60))
        duet.tell(side) { agent, now in agent.followRemote(at: now) }
        #expect(duet[side].agent.localParameters == local)
        #expect(duet[side].agent.selectedPair == former)
        #expect(duet[side].agent.statistics.pairBeforeRestart != nil)
        duet.run(for: .milliseconds(60_000))
        #expect(duet[side].candidates.count == gathered)
        for side in ICEDuet.Side.allCases {
            #expect(duet[side].agent.hasConsent)
            #expect(duet[side].agent.statistics.pairBeforeRestart == nil)
            #expect(duet[side].agent.statistics.pairs.contains { $0.isNominated })
            #expect(!duet[side].states.contains(.disconnected) && !duet[side].states.contains(.failed))
        }
    }

    @Test func `a new half of the peer's that leads nowhere leaves the old pair in use on both sides`() {
        var duet = connected()
        duet.tell(.left) { agent, now in
            agent.setRemote(ICEParameters(usernameFragment: "gone", password: "gone"), isLite: false, at: now)
            agent.endOfRemoteCandidates(at: now)
            agent.followRemote(at: now)
        }
        duet.run(for: .milliseconds(60_000))
        for side in ICEDuet.Side.allCases {
            #expect(duet[side].agent.hasConsent)
            #expect(duet[side].agent.connectionState.isUsable)
        }
    }

    @Test func `a failed connection comes back by a restart`() {
        var duet = connected()
        duet.network.setUplink(.cut, of: duet[.right].host)
        #expect(duet.run { $0[.left].agent.connectionState == .failed && $0[.right].agent.connectionState == .failed })
        duet.network.setUplink(.access, of: duet[.right].host)
        restartBoth(&duet)
        #expect(duet[.left].states.suffix(2) == [.failed, .checking])
        #expect(duet.run { $0.bothConnected })
        duet.sendMedia(.left)
        duet.run(for: .milliseconds(100))
        #expect(duet[.right].media.count == 1)
    }

    /// W3C RTCIceTransportState: `failed` is terminal until ICE is restarted.
    @Test func `neither candidates nor checks of the peer's revive an agent that has failed`() {
        var configuration = ICEConfiguration()
        configuration.patience = .milliseconds(2_000)
        configuration.checksTimeout = .milliseconds(3_000)
        var duet = ICEDuet.open(configuration: configuration)
        duet.signaling = .silent
        duet.tell(.left) { agent, now in
            agent.addLocalHost(ICEDuet.leftBase, at: now)
            agent.localHostsComplete(at: now)
        }
        // The peer answers, and is not reached for now.
        duet.describe(.right)
        #expect(duet.run { $0[.left].agent.connectionState == .failed })
        // It checks, and tells where it is.
        duet.describe(.left)
        duet.tell(.right) { agent, now in
            agent.addLocalHost(ICEDuet.rightBase, at: now)
            agent.localHostsComplete(at: now)
        }
        duet.run(for: .milliseconds(100))
        for (side, other) in [(ICEDuet.Side.left, ICEDuet.Side.right), (.right, .left)] {
            let candidates = duet[other].agent.localCandidates
            duet.tell(side) { agent, now in
                for candidate in candidates { agent.addRemoteCandidate(candidate, at: now) }
            }
        }
        let sent = duet[.left].agent.statistics
        #expect(duet.run { $0[.right].agent.connectionState == .failed })
        #expect(duet[.left].states == [.checking, .failed])
        #expect(duet[.left].agent.wake == nil)
        // It heard the checks, and said nothing.
        #expect(duet[.left].agent.statistics.requestsReceived > sent.requestsReceived)
        #expect(duet[.left].agent.statistics.requestsSent == sent.requestsSent)
        #expect(duet[.left].agent.statistics.responsesSent == sent.responsesSent)

        duet.signaling = .trickle
        restartBoth(&duet)
        #expect(duet.run { $0.bothConnected })
        #expect(duet[.left].states.prefix(4) == [.checking, .failed, .checking, .connected])
    }

    @Test func `a restart that finds nothing leaves the old pair in use`() {
        var duet = connected()
        duet.signaling = .silent
        duet.signalingDelay = .milliseconds(1_000_000)
        duet.restart(.left)
        duet.tell(.left) { agent, now in
            // A peer that is nowhere.
            agent.setRemote(ICEParameters(usernameFragment: "gone", password: "gone"), isLite: false, at: now)
            agent.endOfRemoteCandidates(at: now)
        }
        duet.run(for: .milliseconds(60_000))
        #expect(duet[.left].agent.hasConsent)
        #expect(duet[.left].agent.connectionState == .connected)
    }

    @Test func `a restart out of a disconnection that finds nothing goes back to the old pair`() {
        var duet = connected()
        duet.network.setUplink(.cut, of: duet[.right].host)
        #expect(duet.run { $0[.left].agent.connectionState == .disconnected })
        duet.signalingDelay = .milliseconds(1_000_000)
        duet.restart(.left)
        duet.tell(.left) { agent, now in
            agent.setRemote(ICEParameters(usernameFragment: "gone", password: "gone"), isLite: false, at: now)
        }
        #expect(duet[.left].agent.connectionState == .checking)
        duet.network.setUplink(.access, of: duet[.right].host)
        duet.run(for: .milliseconds(35_000))
        #expect(duet[.left].agent.connectionState == .connected)
        #expect(duet[.left].agent.hasConsent)
    }

    @Test func `a restart keeps the role, whatever the owner says`() {
        var duet = connected()
        restartBoth(&duet)
        duet.tell(.left) { agent, _ in agent.setRole(.controlled) }
        #expect(duet[.left].agent.role == .controlling)
        #expect(duet.run { $0.bothCompleted })
    }

    @Test func `the old pair's end during a restart is not the end of the restart`() {
        var duet = connected()
        duet.signalingDelay = .milliseconds(60_000)
        duet.restart(.left)
        duet.network.setUplink(.cut, of: duet[.right].host)
        #expect(duet.run { $0[.left].agent.connectionState == .disconnected })
        #expect(duet.run { $0[.left].agent.connectionState == .checking })
        #expect(!duet[.left].agent.hasConsent)
        duet.run(for: .milliseconds(60_000))
        duet.network.setUplink(.access, of: duet[.right].host)
        duet.signalingDelay = .milliseconds(50)
        duet.restart(.right)
        #expect(duet.run { $0.bothConnected })
    }

    @Test func `candidates of the old generation do not enter the new one`() throws {
        var duet = connected()
        let stale = try #require(duet[.right].candidates.first)
        duet.signaling = .silent
        restartBoth(&duet)
        duet.tell(.left) { agent, now in agent.addRemoteCandidate(stale, at: now) }
        duet.run(for: .milliseconds(60))
        #expect(duet[.left].agent.statistics.remoteCandidatesIgnored == 1)
        #expect(duet[.left].agent.statistics.pairs.isEmpty)
    }

    /// As libwebrtc does that has checked our old credential from a new port before it had our new one: it keeps that
    /// pair, and refuses what names it otherwise there.
    @Test(arguments: [ICERole.controlling, .controlled])
    func `a peer that goes on naming us by the credential before is asked the same way`(role: ICERole) {
        var peer = ScriptedPeer(role: role)
        peer.connect()
        let (former, fresh) = (peer.agent.localParameters, peer.agent.makeRestartParameters())
        peer.parameters = ICEParameters(usernameFragment: "peer2", password: "the peer's second password")
        peer.address = endpoint("198.51.100.7", 7)
        let (parameters, new) = (peer.parameters, peer.address)
        peer.tell { agent, now in agent.restart(local: fresh, at: now) }
        peer.introduce()
        let side = role == .controlling ? STUNAttribute.iceControlled(tieBreaker: 1) : .iceControlling(tieBreaker: 1)
        for _ in 0..<200 where !peer.agent.statistics.pairs.contains(where: \.isNominated) {
            for request in peer.takeRequests() {
                if request.username == "peer2:\(former.usernameFragment)" {
                    peer.confirm(request)
                } else if request.username == "peer2:\(fresh.usernameFragment)" {
                    peer.refuse(request, .unauthenticated, password: parameters.password)
                }
            }
            peer.check(role == .controlled ? [side, .useCandidate] : [side], naming: former)
            peer.wait(.milliseconds(50))
        }
        #expect(peer.agent.selectedPair?.remote == new)
        #expect(peer.agent.statistics.pairs.contains { $0.isNominated })
        // The consent of that pair is asked in the same words.
        _ = peer.takeSent()
        peer.wait(.milliseconds(7_000))
        let consents = peer.takeRequests().compactMap(\.username)
        #expect(!consents.isEmpty && consents.allSatisfy { $0 == "peer2:\(former.usernameFragment)" })
    }
}
