import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// Peers that change their mind late, answer twice, or tell too much.
@Suite struct ICEHostileTests {
    @Test(arguments: [ICERole.controlling, .controlled])
    func `values that would end the program are put right`(role: ICERole) {
        var configuration = ICEConfiguration()
        configuration.maximumRemoteCandidates = 0
        configuration.consentInterval = Interval(nanoseconds: .max)
        configuration.maximumSends = .max
        var peer = ScriptedPeer(role: role, configuration: configuration)
        peer.connect()
        #expect(peer.agent.selectedPair != nil)
        peer.wait(.milliseconds(1_000))
    }

    private func candidate(_ foundation: String, _ address: TransportAddress, _ priority: UInt32) -> ICECandidate {
        ICECandidate(foundation: foundation, priority: priority, address: .ip(address), type: .host)
    }

    private let better = endpoint("198.51.100.2", 5_000)

    @Test func `strangers get few answers, whatever they send, and the peer is answered all the same`() {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce()
        _ = peer.takeSent()
        var asked = 0
        for number in 0..<2_000 {
            let stranger = endpoint("203.0.113.\(number % 250 + 1)", 9_000)
            peer.check(from: stranger, password: "a guess")
            asked += 1
            if number % 500 == 0 { peer.wait(.milliseconds(100)) }
        }
        #expect(peer.takeSent().count { $0.kind == .error } <= 2 * 20)
        peer.check([.iceControlling(tieBreaker: 1)])
        #expect(peer.takeSent().contains { $0.kind == .success })
        peer.wait(.seconds(Int64(2)))
        peer.check(from: endpoint("203.0.113.1", 9_000), password: "a guess")
        #expect(peer.takeSent().contains { $0.kind == .error }, "a mistake is told")
    }

    /// RFC 8445 §19.5.1: whoever may name candidates may name somebody else's addresses.
    @Test func `a hundred addresses that never answer get few checks each, and never two at once`() {
        var peer = ScriptedPeer(role: .controlling)
        let strangers = (1...100).map { endpoint("203.0.113.\($0)", 9_000) }
        for (number, stranger) in strangers.enumerated() {
            let named = candidate("\(number)", stranger, 1_000_000 - UInt32(number))
            peer.tell { agent, now in agent.addRemoteCandidate(named, at: now) }
        }
        peer.introduce(withCandidate: false)
        var sent: [TransportAddress: Int] = [:]
        for _ in 0..<6_000 {
            peer.wait(.milliseconds(10))
            let now = peer.takeDestinations()
            #expect(now.count <= 2, "one new check, and perhaps one again")
            for address in now { sent[address, default: 0] += 1 }
        }
        #expect(sent.count == 100)
        #expect(sent.values.allSatisfy { $0 <= 9 })
        #expect(peer.states.last == .failed)
        peer.wait(.seconds(Int64(60)))
        #expect(peer.takeDestinations().isEmpty)
    }

    /// Controlled by a peer of two addresses, both checked; the pair of the worse one is selected.
    private func settledOnTheWorse() -> ScriptedPeer {
        var peer = ScriptedPeer(role: .controlled)
        let (worse, better) = (candidate("1", peer.address, 1_000), candidate("2", better, 2_130_706_431))
        peer.tell { agent, now in
            agent.addRemoteCandidate(worse, at: now)
            agent.addRemoteCandidate(better, at: now)
        }
        peer.introduce(withCandidate: false)
        for _ in 0..<10 {
            peer.confirmAll()
            peer.wait(.milliseconds(25))
        }
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        return peer
    }

    @Test func `a pair nominated a minute after its check is checked again, and the call goes on over it`() {
        var peer = settledOnTheWorse()
        #expect(peer.agent.selectedPair?.remote == peer.address)
        for _ in 0..<120 {
            peer.wait(.milliseconds(500))
            peer.confirmAll()
        }
        #expect(peer.agent.connectionState == .connected)
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: better)
        peer.wait(.milliseconds(25))
        // Until the check is answered nothing has been proven of the pair.
        #expect(peer.agent.selectedPair?.remote == peer.address)
        #expect(peer.agent.hasConsent)
        peer.confirmAll()
        #expect(peer.agent.selectedPair?.remote == better)
        for _ in 0..<80 {
            peer.wait(.milliseconds(500))
            peer.confirmAll()
        }
        #expect(peer.agent.hasConsent)
        #expect(!peer.states.contains(.failed))
    }

    /// Controlling; one pair, whose first check was superseded by a second one when the peer's own came.
    private func checkedTwice(
        _ type: ICECandidate.CandidateType
    ) throws -> (peer: ScriptedPeer, first: STUNMessage, second: STUNMessage) {
        var peer = ScriptedPeer(role: .controlling)
        let remote = ICECandidate(foundation: "1", priority: 1_000_000, address: .ip(peer.address), type: type)
        peer.tell { agent, now in agent.addRemoteCandidate(remote, at: now) }
        peer.introduce(withCandidate: false)
        let first = try #require(peer.takeRequests().first)
        peer.check([.iceControlled(tieBreaker: 1)])
        peer.wait(.milliseconds(25))
        let second = try #require(peer.takeRequests().first)
        return (peer, first, second)
    }

    @Test func `a pair that fails while a better one is awaited leaves no timer that is always due`() throws {
        var (peer, first, second) = try checkedTwice(.serverReflexive)
        peer.confirm(second)
        peer.refuse(first, .badRequest)
        let start = peer.now
        var ticks = 0
        while let wake = peer.agent.nextWake, wake <= start + .milliseconds(5_000), ticks < 1_000 {
            peer.tick(at: wake)
            ticks += 1
        }
        #expect(ticks < 100)
    }

    @Test func `a pair that fails before its nomination is sent is nominated when it works again`() throws {
        var (peer, first, second) = try checkedTwice(.host)
        peer.confirm(second)
        peer.refuse(first, .badRequest)
        peer.wait(.milliseconds(30))
        peer.check([.iceControlled(tieBreaker: 1)])
        for _ in 0..<20 {
            peer.wait(.milliseconds(25))
            peer.confirmAll()
        }
        #expect(peer.agent.statistics.pairs.map(\.isNominated) == [true])
        #expect(peer.agent.hasConsent)
    }

    @Test func `pairs that have failed give way to a new candidate`() {
        var configuration = ICEConfiguration()
        configuration.maximumPairs = 5
        var peer = ScriptedPeer(role: .controlling, configuration: configuration)
        for number in 0..<5 as Range<UInt8> {
            let dead = candidate("d\(number)", endpoint("203.0.113.\(number + 1)", 9), 2_000_000_000)
            peer.tell { agent, now in agent.addRemoteCandidate(dead, at: now) }
        }
        peer.introduce(withCandidate: false)
        peer.wait(.milliseconds(25_000))
        _ = peer.takeSent()
        let late = candidate("l", peer.address, 1_000)
        peer.tell { agent, now in agent.addRemoteCandidate(late, at: now) }
        for _ in 0..<20 {
            peer.wait(.milliseconds(25))
            peer.confirmAll()
        }
        #expect(peer.selections.map(\.remote) == [peer.address])
    }

    @Test
    func `where the list is full of pairs that nobody answers on, one that the peer's check came over has a place`() {
        var configuration = ICEConfiguration()
        configuration.maximumPairs = 5
        var peer = ScriptedPeer(role: .controlled, configuration: configuration)
        var dead: Set<TransportAddress> = []
        for number in 0..<5 as Range<UInt8> {
            let address = endpoint("203.0.113.\(number + 1)", 9)
            dead.insert(address)
            let candidate = candidate("d\(number)", address, 2_000_000_000)
            peer.tell { agent, now in agent.addRemoteCandidate(candidate, at: now) }
        }
        peer.introduce(withCandidate: false)
        peer.wait(.milliseconds(200))
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], priority: 1_000)
        for _ in 0..<20 {
            peer.confirmAll(except: dead)
            peer.wait(.milliseconds(25))
        }
        #expect(peer.selections.map(\.remote) == [peer.address])
    }

    @Test func `a candidate after the end of candidates is ignored`() {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce()
        let ignored = peer.agent.statistics.remoteCandidatesIgnored
        peer.tell { agent, now in agent.endOfRemoteCandidates(at: now) }
        let late = candidate("9", better, 2_000)
        peer.tell { agent, now in agent.addRemoteCandidate(late, at: now) }
        #expect(peer.agent.statistics.pairs.count == 1)
        #expect(peer.agent.statistics.remoteCandidatesIgnored == ignored + 1)
        // A check from there is another matter (RFC 8445 §7.3.1.3).
        peer.check([.iceControlling(tieBreaker: 1)], from: better)
        #expect(peer.agent.statistics.pairs.count == 2)
    }

    @Test func `candidates and checks without end fill no memory`() {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce()
        for number in 0..<1_000 as Range<UInt16> {
            let flood = candidate("f\(number)", endpoint("203.0.113.1", 1_000 + number), UInt32(number))
            peer.tell { agent, now in agent.addRemoteCandidate(flood, at: now) }
            peer.check([.iceControlling(tieBreaker: 1)], from: endpoint("203.0.113.2", 1_000 + number))
        }
        peer.wait(.milliseconds(20_000))
        #expect(peer.agent.statistics.pairs.count <= 100)
        // One check every 20 ms and their repetitions: not one for each that came.
        #expect(peer.agent.statistics.requestsSent < 3_000)
    }
}
