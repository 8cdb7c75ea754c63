import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// How an allocation is kept (RFC 8656 §8), moved (RFC 8016) and, with newer servers, protected (RFC 8489 §9.2).
@Suite struct TURNLifetimeTests {
    @Test(arguments: [(600, 540), (3_600, 3_540), (100_000, 3_540), (120, 90), (8, 6), (0, 3)])
    func `it is refreshed before it ends, whatever lifetime the server names`(lifetime: UInt32, after: Int64) throws {
        var script = TURNScript()
        script.allocate(lifetime: lifetime)
        #expect(script.allocation.nextWake == .zero + .seconds(after))
        let refresh = try script.first(within: .seconds(after))
        #expect(refresh.method == .refresh)
        script.succeed(refresh, [.turn(.lifetime(600))])
        #expect(script.allocation.nextWake == script.now + .seconds(Int64(540)))
    }

    @Test func `a stale nonce in the middle of a call costs one request more`() throws {
        var script = TURNScript()
        script.allocate()
        let refresh = try script.first(within: .seconds(Int64(540)))
        script.challenge(refresh, .staleNonce, nonce: [1, 2, 3])
        let again = try script.request()
        #expect(again.method == .refresh && again.nonces == [[1, 2, 3]])
        script.succeed(again, [.turn(.lifetime(600))])
        #expect(script.sent().isEmpty && script.ends.isEmpty)
    }

    @Test func `a server that has gone silent: asked until the lifetime ends, and then it is over`() {
        var script = TURNScript()
        script.allocate()
        let refreshes = script.pass(.seconds(Int64(599)))
        #expect(refreshes.count > 20)
        #expect(script.ends.isEmpty)
        _ = script.pass(.seconds(Int64(2)))
        #expect(script.ends == [.expired])
        let afterwards = script.pass(.seconds(Int64(60)))
        #expect(afterwards.isEmpty)
        #expect(script.allocation.nextWake == nil)
    }

    @Test func `437 to a refresh: the server has forgotten us`() throws {
        var script = TURNScript()
        script.allocate()
        let refresh = try script.first(within: .seconds(Int64(540)))
        script.refuse(refresh, .allocationMismatch, key: TURNScript.key)
        #expect(script.sent().isEmpty)
        #expect(script.ends == [.expired])
    }

    @Test func `508 to a refresh is asked again while there is time`() throws {
        var script = TURNScript()
        script.allocate()
        let refresh = try script.first(within: .seconds(Int64(540)))
        script.refuse(refresh, .insufficientCapacity, key: TURNScript.key)
        #expect(script.sent().isEmpty && script.ends.isEmpty)
        let again = try script.first(within: .seconds(Int64(5)))
        script.succeed(again, [.turn(.lifetime(600))])
        #expect(script.ends.isEmpty)
    }

    @Test func `closing gives the address back, once`() throws {
        var script = TURNScript()
        script.allocate()
        script.allocation.close(at: script.now)
        let release = try script.request()
        #expect(release.method == .refresh && release.lifetime == 0)
        script.allocation.close(at: script.now)
        #expect(script.sent().isEmpty && script.ends.isEmpty)
        #expect(script.allocation.nextWake == nil)
    }

    // MARK: Mobility (RFC 8016)

    @Test func `with a ticket it follows us to another address; without one it cannot`() throws {
        var script = TURNScript(.udp) { $0.mobility = true }
        script.allocation.start(at: script.now)
        let first = try script.request()
        script.succeed(first, TURNScript.granted() + [.turn(.mobilityTicket([1, 2]))], key: nil)
        _ = script.sent()
        let moves = script.allocation.pathChanged(at: script.now)
        #expect(moves)
        let refresh = try script.request()
        #expect(refresh.method == .refresh && refresh.mobilityTicket == [1, 2])
        // Nothing can be sent before the server has agreed.
        guard case .none = script.allocation.carry([1], to: endpoint("192.0.2.1", 9), at: script.now) else {
            Issue.record("sent from an address that the server does not know yet")
            return
        }
        script.succeed(refresh, [.turn(.lifetime(600)), .turn(.mobilityTicket([3]))], key: nil)
        #expect(script.allocation.ticket == [3])
        #expect(script.allocation.phase == .active(until: script.now + .seconds(Int64(600))))

        var immobile = TURNScript()
        immobile.allocate()
        let immobileMoves = immobile.allocation.pathChanged(at: immobile.now)
        #expect(!immobileMoves)
    }

    @Test(arguments: [TURNServer.Transport.udp, .tcp])
    func `the way to the server is kept open where a NAT could forget it`(transport: TURNServer.Transport) throws {
        var script = TURNScript(transport) { $0.keepaliveInterval = .seconds(Int64(15)) }
        script.allocate()
        let sent = script.pass(.seconds(Int64(60)))
        #expect(sent.allSatisfy { $0.kind == .indication && $0.method == .binding })
        #expect(sent.count == (transport == .udp ? 4 : 0))
    }

    @Test func `what was asked for from the address before is asked for again`() throws {
        var script = TURNScript(.udp) { $0.mobility = true }
        script.allocation.start(at: script.now)
        let first = try script.request()
        script.succeed(first, TURNScript.granted() + [.turn(.mobilityTicket([1, 2]))], key: nil)
        let peer = endpoint("192.0.2.1", 9)
        _ = script.allocation.carry([1], to: peer, at: script.now)
        script.allocation.use(peer, at: script.now)
        // Both are lost with the network, or their answers are.
        let asked = script.sent()
        #expect(asked.map(\.method) == [.createPermission, .channelBind])
        _ = script.allocation.pathChanged(at: script.now)
        let refresh = try script.request()
        script.succeed(refresh, [.turn(.lifetime(600)), .turn(.mobilityTicket([3]))], key: nil)
        let again = script.sent()
        #expect(again.map(\.method) == [.channelBind])
        // A server that has bound it refuses any other number for the peer (RFC 8656 §12.2).
        func number(_ message: STUNMessage?) -> UInt16? {
            message?.turnValue { if case .channelNumber(let value) = $0 { value } else { nil } }
        }
        #expect(number(again.first) != nil)
        #expect(number(again.first) == number(asked.last))
        _ = script.allocation.carry([2], to: peer, at: script.now)
        #expect(script.sent().map(\.method) == [.createPermission])
    }

    @Test func `a ticket that the server does not take ends it`() throws {
        var script = TURNScript(.udp) { $0.mobility = true }
        script.allocation.start(at: script.now)
        let first = try script.request()
        script.succeed(first, TURNScript.granted() + [.turn(.mobilityTicket([1, 2]))], key: nil)
        _ = script.sent()
        let moves = script.allocation.pathChanged(at: script.now)
        #expect(moves)
        let refresh = try script.request()
        script.refuse(refresh, STUNErrorCode(400, reason: "Bad Request"))
        #expect(script.sent().isEmpty)
        #expect(script.ends.map(\.code) == [400])
    }

    // MARK: Newer servers (RFC 8489 §9.2)

    @Test func `a server that offers SHA-256 and keeps names secret gets both`() throws {
        var script = TURNScript()
        script.allocation.start(at: script.now)
        let first = try script.request()
        let nonce = Array("obMatJos2AAADrest".utf8)
        script.refuse(first, .unauthenticated, [.realm("roost"), .nonce(nonce), .passwordAlgorithms([9, 2, 1])])
        let second = try script.request()
        let credential = STUNLongTermCredential(username: "user", realm: "roost", password: "secret")
        #expect(
            second.attributes == [
                .turn(.requestedTransport(17)), .userHash(credential.userHash), .realm("roost"), .nonce(nonce),
                .passwordAlgorithms([9, 2, 1]), .passwordAlgorithm(2),
            ])
        #expect(second.integrityOffset == nil && second.sha256Integrity != nil)
        let key = STUNIntegrityKey.sha256(HMACSHA256(key: credential.key(.sha256)))
        script.succeed(second, TURNScript.granted(), key: key)
        #expect(script.sent().isEmpty)
        #expect(script.grants.count == 1)
    }

    @Test(arguments: [nil, [7]] as [[UInt16]?])
    func `a promised list of algorithms that is missing, or holds none of ours, ends it`(list: [UInt16]?) throws {
        var script = TURNScript()
        script.allocation.start(at: script.now)
        let first = try script.request()
        let nonce = Array("obMatJos2AAABrest".utf8)
        script.refuse(
            first, .unauthenticated,
            [.realm("roost"), .nonce(nonce)] + (list.map { [.passwordAlgorithms($0)] } ?? []))
        #expect(script.sent().isEmpty)
        #expect(script.ends.map(\.code) == [401])
    }
}
