import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// What an agent says to requests and responses, honest, stale and forged.
@Suite struct ICEWireTests {
    @Test func `a check carries what RFC 8445 §7.1 asks for`() throws {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        let check = try #require(peer.takeRequests().first)
        #expect(check.username == "peer:\(peer.agent.localParameters.usernameFragment)")
        #expect(check.hasFingerprint)
        #expect(check.integrityOffset != nil)
        // As a peer-reflexive candidate of the same local preference (RFC 8445 §7.1.1).
        #expect(check.priority == 110 << 24 | (peer.agent.localCandidates[0].priority & 0xff_ffff))
        #expect(!check.usesCandidate)
        #expect(check.attributes.contains { if case .iceControlling = $0 { true } else { false } })
    }

    @Test func `the first check nominates nothing, the second one does`() throws {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        let first = try #require(peer.takeRequests().first)
        #expect(!first.usesCandidate)
        peer.confirm(first)
        #expect(!peer.agent.statistics.pairs.contains { $0.isNominated })
        peer.wait(.milliseconds(30))
        let second = try #require(peer.takeRequests().first)
        #expect(second.usesCandidate)
        peer.confirm(second)
        #expect(peer.agent.statistics.pairs.map(\.isNominated) == [true])
        #expect(peer.selections.count == 1)
        #expect(peer.agent.hasConsent)
    }

    @Test func `a success response says where the request came from`() throws {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce(withCandidate: false)
        let elsewhere = endpoint("198.51.100.9", 999)
        peer.check([.iceControlling(tieBreaker: 1)], from: elsewhere)
        let answer = try #require(peer.takeSent().first { $0.kind == .success })
        #expect(answer.reflexiveAddress == elsewhere)
        #expect(answer.hasFingerprint)
    }

    @Test func `without a credential: 400; with a wrong one: 401; neither leads to a check`() {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce(withCandidate: false)
        peer.send(STUNMessage(.request, transactionID: .init(high: 1, low: 1)).encoded())
        #expect(peer.takeSent().map(\.errorCode) == [.badRequest])
        peer.check(password: "guessed")
        #expect(peer.takeSent().map(\.errorCode) == [.unauthenticated])
        peer.check(username: "nobody:peer")
        #expect(peer.takeSent().map(\.errorCode) == [.unauthenticated])
        peer.check(username: "nocolon")
        #expect(peer.takeSent().map(\.errorCode) == [.unauthenticated])
        peer.wait(.milliseconds(100))
        #expect(peer.takeSent().isEmpty)
        #expect(peer.agent.statistics.pairs.isEmpty)
        #expect(peer.agent.statistics.datagramsIgnored == 4)
    }

    @Test func `an unknown comprehension-required attribute: 420, and it is named`() throws {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce()
        _ = peer.takeSent()
        peer.check([.other(type: 0x7abc, value: []), .other(type: 0xc057, value: [])])
        let answer = try #require(peer.takeSent().first)
        #expect(answer.errorCode == .unknownAttribute)
        #expect(answer.attributes.contains(.unknownAttributes([0x7abc])))
        #expect(answer.integrityOffset != nil)
    }

    @Test func `what has no fingerprint, or comes to a socket that is not ours, is not answered`() {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce()
        _ = peer.takeSent()
        let key = HMACSHA1(password: peer.agent.localParameters.password)
        let name = "\(peer.agent.localParameters.usernameFragment):peer"
        let request = STUNMessage(
            .request, transactionID: .init(high: 1, low: 1), attributes: [.username(name), .priority(1)])
        peer.send(request.encoded(key: key, fingerprint: false))
        peer.send(request.encoded(key: key), to: endpoint("192.0.2.77", 1))
        peer.send([0, 1, 2, 3])
        #expect(peer.takeSent().isEmpty)
        #expect(peer.agent.statistics.datagramsIgnored == 3)
    }

    @Test func `a response that nobody asked for, or that is not the peer's, is ignored`() throws {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        let check = try #require(peer.takeRequests().first)
        peer.confirm(check, password: "guessed")
        peer.confirm(STUNMessage(.request, transactionID: .init(high: 5, low: 5)))
        #expect(peer.agent.statistics.pairs.first?.state == .inProgress)
        #expect(peer.agent.statistics.datagramsIgnored == 2)
        // The request still waits for the honest answer.
        peer.confirm(check)
        #expect(peer.agent.statistics.pairs.first?.state == .succeeded)
        // Which counts once.
        peer.confirm(check)
        #expect(peer.agent.statistics.datagramsIgnored == 3)
    }

    @Test func `a response from another address than was asked fails the pair`() throws {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        let check = try #require(peer.takeRequests().first)
        peer.confirm(check, from: endpoint("198.51.100.2", 5_000))
        #expect(peer.agent.statistics.pairs.first?.state == .failed)
    }

    @Test func `a mapped address that is not ours reveals a peer-reflexive candidate`() throws {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        let mapped = endpoint("203.0.113.9", 40_000)
        let check = try #require(peer.takeRequests().first)
        peer.confirm(check, mapped: mapped)
        let local = try #require(peer.agent.statistics.pairs.first?.localCandidate)
        #expect(local.type == .peerReflexive)
        #expect(local.address == .ip(mapped))
        #expect(local.priority == check.priority)
        #expect(local.relatedAddress == peer.base)
    }

    @Test func `requests are sent again at doubling intervals, with the same transaction`() throws {
        var peer = ScriptedPeer(role: .controlling)
        peer.introduce()
        let first = try #require(peer.takeRequests().first)
        var counts: [Int] = []
        for interval in [240, 20, 480, 20, 980, 20] as [Int64] {
            peer.wait(.milliseconds(interval))
            let again = peer.takeRequests()
            #expect(again.allSatisfy { $0 == first })
            counts.append(again.count)
        }
        #expect(counts == [0, 1, 0, 1, 0, 1])
    }

    @Test func `a check from the peer makes ours leave at once`() throws {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce()
        let first = try #require(peer.takeRequests().first)
        peer.wait(.milliseconds(30))
        peer.check([.iceControlling(tieBreaker: 1)])
        let second = try #require(peer.takeRequests().first)
        #expect(second.transactionID != first.transactionID)
        // The superseded one still counts.
        peer.confirm(first)
        #expect(peer.agent.statistics.pairs.first?.state == .succeeded)
    }

    @Test func `a nomination that comes before our own check waits for it`() throws {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce()
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        #expect(peer.selections.isEmpty)
        peer.wait(.milliseconds(30))
        for request in peer.takeRequests() { peer.confirm(request) }
        #expect(peer.selections.count == 1)
    }

    @Test func `aggressive nomination: the best of the nominated pairs is used`() throws {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce(withCandidate: false)
        let better = endpoint("198.51.100.2", 5_000)
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], priority: 100)
        for request in peer.takeRequests() { peer.confirm(request) }
        #expect(peer.selections.map(\.remote) == [peer.address])
        peer.wait(.milliseconds(30))
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: better, priority: 200)
        for request in peer.takeRequests() { peer.confirm(request, from: better) }
        #expect(peer.selections.map(\.remote) == [peer.address, better])
        // The lesser one again: no change while the better one is alive.
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], priority: 100)
        for request in peer.takeRequests() { peer.confirm(request) }
        #expect(peer.selections.count == 2)
    }

    @Test func `a better pair that was nominated before and is answered after is used all the same`() throws {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce(withCandidate: false)
        let better = endpoint("198.51.100.2", 5_000)
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: better, priority: 200)
        let first = try #require(peer.takeRequests().first)
        peer.wait(.milliseconds(30))
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], priority: 100)
        let second = try #require(peer.takeRequests().last)
        peer.confirm(second)
        #expect(peer.selections.map(\.remote) == [peer.address])
        peer.confirm(first, from: better)
        #expect(peer.selections.map(\.remote) == [peer.address, better])
    }

    @Test func `once a pair is nominated, lesser ones that were nominated before are not checked any more`() throws {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce(withCandidate: false)
        let lesser = endpoint("198.51.100.2", 5_000)
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: lesser, priority: 100)
        let first = try #require(peer.takeRequests().first)
        peer.wait(.milliseconds(30))
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], priority: 200)
        let second = try #require(peer.takeRequests().last)
        peer.confirm(second)
        peer.confirm(first, from: lesser)
        peer.wait(.milliseconds(2_000))
        #expect(peer.selections.map(\.remote) == [peer.address])
        #expect(peer.agent.statistics.pairs.count == 1)
    }

    @Test func `a peer may leave a pair that has gone quiet for a lesser one`() {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce()
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate])
        for request in peer.takeRequests() { peer.confirm(request) }
        #expect(peer.selections.map(\.remote) == [peer.address])
        peer.wait(.milliseconds(3_500))
        let other = endpoint("198.51.100.2", 5_000)
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], from: other, priority: 1)
        for request in peer.takeRequests() { peer.confirm(request, from: other) }
        #expect(peer.selections.map(\.remote) == [peer.address, other])
    }

    @Test func `early checks are remembered up to a limit, and only those of the peer's generation count`() {
        var configuration = ICEConfiguration()
        configuration.maximumEarlyChecks = 3
        var peer = ScriptedPeer(role: .controlled, configuration: configuration)
        for index in 1...10 as ClosedRange<UInt16> {
            peer.check([.iceControlling(tieBreaker: 1)], from: endpoint("198.51.100.1", index))
        }
        let stranger = "\(peer.agent.localParameters.usernameFragment):other"
        #expect(peer.takeSent().count { $0.kind == .success } == 10)
        peer.check([.iceControlling(tieBreaker: 1)], from: endpoint("198.51.100.1", 99), username: stranger)
        peer.introduce(withCandidate: false)
        #expect(peer.agent.statistics.pairs.count == 3)
    }

    @Test func `peer-reflexive candidates do not grow without end`() {
        var peer = ScriptedPeer(role: .controlled)
        peer.introduce(withCandidate: false)
        for port in 1...500 as ClosedRange<UInt16> {
            peer.check([.iceControlling(tieBreaker: 1)], from: endpoint("198.51.100.1", port))
        }
        #expect(peer.agent.statistics.pairs.count == 100)
    }

    @Test func `one pair of a foundation is checked first, the others after it has succeeded`() throws {
        var peer = ScriptedPeer(role: .controlled)
        peer.tell { agent, now in
            for port in 5_000..<5_003 as Range<UInt16> {
                agent.addRemoteCandidate(
                    ICECandidate(
                        foundation: "same", priority: 2_000_000_000 - UInt32(port),
                        address: .ip(endpoint("198.51.100.1", port)), type: .host), at: now)
            }
        }
        peer.introduce(withCandidate: false)
        #expect(peer.agent.statistics.pairs.map(\.state) == [.inProgress, .frozen, .frozen])
        peer.wait(.milliseconds(100))
        #expect(peer.agent.statistics.pairs.map(\.state) == [.inProgress, .frozen, .frozen])
        peer.confirm(try #require(peer.takeRequests().first))
        #expect(peer.agent.statistics.pairs.map(\.state) == [.succeeded, .inProgress, .waiting])
    }
}
