import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// An allocation from its first request to its last (RFC 8656 §7, §8), with each error on the way.
@Suite struct TURNAllocationTests {
    @Test func `the first request is bare; the second has the realm and nonce of the challenge and is signed`() throws {
        var script = TURNScript()
        script.allocation.start(at: script.now)
        let first = try script.request()
        #expect(first.kind == .request && first.method == .allocate)
        #expect(first.attributes == [.turn(.requestedTransport(17))])
        script.challenge(first)
        let second = try script.request()
        #expect(second.transactionID != first.transactionID)
        #expect(
            second.attributes == [
                .turn(.requestedTransport(17)), .username("user"), .realm("roost"), .nonce(TURNScript.nonce),
            ])
        #expect(second.integrityOffset != nil)
        script.succeed(second, TURNScript.granted())
        #expect(script.sent().isEmpty)
        #expect(script.grants == [.init(relayed: [TURNScript.relayed], mapped: TURNScript.mapped)])
    }

    @Test func `a server without users is taken at its word`() throws {
        var script = TURNScript()
        script.allocation.start(at: script.now)
        let first = try script.request()
        script.succeed(first, TURNScript.granted(), key: nil)
        #expect(script.sent().isEmpty)
        #expect(script.grants.count == 1)
    }

    @Test func `a success that is not signed as the request was is no answer`() throws {
        var script = TURNScript()
        script.allocation.start(at: script.now)
        let first = try script.request()
        script.challenge(first)
        let second = try script.request()
        let forger = STUNIntegrityKey.sha1(HMACSHA1(password: "guess"))
        script.succeed(second, TURNScript.granted(), key: nil)
        script.succeed(second, TURNScript.granted(), key: forger)
        script.refuse(second, .forbidden, key: forger)
        #expect(script.sent().isEmpty)
        #expect(script.grants.isEmpty && script.ends.isEmpty)
        script.succeed(second, TURNScript.granted())
        #expect(script.sent().isEmpty)
        #expect(script.grants.count == 1)
    }

    @Test func `a second 401 means that the password is wrong`() throws {
        var script = TURNScript()
        script.allocation.start(at: script.now)
        let first = try script.request()
        script.challenge(first)
        let second = try script.request()
        script.challenge(second)
        #expect(script.sent().isEmpty)
        #expect(script.ends == [.wrongCredentials])
        #expect(script.allocation.nextWake == nil)
    }

    @Test func `a stale nonce is replaced, but not for ever`() throws {
        var script = TURNScript()
        script.allocation.start(at: script.now)
        var request = try script.request()
        script.challenge(request)
        for round in 0..<3 {
            request = try script.request()
            script.challenge(request, .staleNonce, nonce: [UInt8(round)])
        }
        request = try script.request()
        #expect(request.nonces == [[2]])
        script.challenge(request, .staleNonce, nonce: [9])
        #expect(script.sent().isEmpty)
        #expect(script.ends.map(\.code) == [438])
    }

    /// RFC 8656 §7.4: what asking again at once would not change.
    @Test(arguments: [
        STUNErrorCode.forbidden, .wrongCredentials, .unsupportedTransport, .allocationQuotaReached,
        .insufficientCapacity, STUNErrorCode(500, reason: "Server Error"),
    ])
    func `a refusal is told with its number and reason`(error: STUNErrorCode) throws {
        var script = TURNScript()
        script.allocation.start(at: script.now)
        let first = try script.request()
        script.refuse(first, error)
        #expect(script.sent().isEmpty)
        #expect(script.ends == [.refused(code: error.code, reason: error.reason)])
    }

    @Test func `437: another address of ours is wanted`() throws {
        var script = TURNScript(.tcp)
        script.allocation.start(at: script.now)
        let first = try script.request()
        script.refuse(first, .allocationMismatch)
        #expect(script.sent().isEmpty)
        #expect(script.wishesForAnotherPath == 1 && script.ends.isEmpty)
        script.allocation.allocateAfresh(at: script.now)
        let release = try script.request()
        #expect(release.method == .refresh && release.lifetime == 0)
        // A release that is lost, and sent again, must not meet the allocation that is asked for next.
        #expect(script.sent().isEmpty)
        // The server had nothing to give back: no reason to end.
        script.refuse(release, .allocationMismatch)
        #expect(try script.request().method == .allocate)
        #expect(script.sent().isEmpty && script.ends.isEmpty)
    }

    @Test func `440 to a request without a family: IPv6 is tried, once`() throws {
        var script = TURNScript()
        script.allocation.start(at: script.now)
        let first = try script.request()
        script.refuse(first, .addressFamilyNotSupported)
        let second = try script.request()
        #expect(second.attributes.contains(.turn(.requestedAddressFamily(.ipv6))))
        script.refuse(second, .addressFamilyNotSupported)
        #expect(script.sent().isEmpty)
        #expect(script.ends.map(\.code) == [440])
    }

    @Test func `405: no ticket, but an address all the same`() throws {
        var script = TURNScript(.udp) { $0.mobility = true }
        script.allocation.start(at: script.now)
        let first = try script.request()
        #expect(first.mobilityTicket == [])
        script.refuse(first, .mobilityForbidden)
        let second = try script.request()
        #expect(second.mobilityTicket == nil)
    }

    @Test func `300: the allocation ends and names the other server`() throws {
        var script = TURNScript()
        script.allocation.start(at: script.now)
        let first = try script.request()
        let other = endpoint("198.51.100.2", 3479)
        script.refuse(first, .tryAlternate, [.alternateServer(other)])
        #expect(script.sent().isEmpty)
        #expect(script.redirections == [other])
        #expect(script.ends.isEmpty)
        #expect(script.allocation.nextWake == nil)
    }

    @Test func `over UDP a request is repeated at doubling intervals and then given up`() throws {
        var script = TURNScript()
        script.allocation.start(at: script.now)
        _ = try script.request()
        var times: [Double] = []
        while let wake = script.allocation.nextWake {
            script.now = wake
            script.allocation.tick(at: wake)
            if !script.sent().isEmpty { times.append(Interval(nanoseconds: wake.nanoseconds).seconds) }
        }
        #expect(times == [0.25, 0.75, 1.75, 3.75, 5.75, 7.75])
        #expect(script.ends == [.silent])
    }

    @Test func `over TCP nothing is repeated`() throws {
        var script = TURNScript(.tcp)
        script.allocation.start(at: script.now)
        _ = try script.request()
        #expect(script.pass(.seconds(Int64(9))).isEmpty)
        #expect(script.ends.isEmpty)
        #expect(script.pass(.seconds(Int64(2))).isEmpty)
        #expect(script.ends == [.silent])
    }

    @Test func `both families are asked for where IPv6 is at hand, and both are taken`() throws {
        var script = TURNScript(additionalIPv6: true)
        script.allocation.start(at: script.now)
        let first = try script.request()
        #expect(first.attributes.contains(.turn(.additionalAddressFamily(.ipv6))))
        let sixth = endpoint("2001:db8::5", 50_001)
        script.succeed(
            first,
            [
                .turn(.xorRelayedAddress(TURNScript.relayed)), .turn(.xorRelayedAddress(sixth)),
                .turn(.xorRelayedAddress(endpoint("198.51.100.9", 1))), .turn(.xorRelayedAddress(endpoint("::", 5))),
            ], key: nil)
        #expect(script.sent().isEmpty)
        #expect(script.grants.map(\.relayed) == [[TURNScript.relayed, sixth]])
    }

    @Test func `a success without an address that can be used is none`() throws {
        for addresses in [[], [endpoint("0.0.0.0", 9)], [endpoint("198.51.100.9", 0)], [endpoint("224.0.0.1", 9)]] {
            var script = TURNScript()
            script.allocation.start(at: script.now)
            let first = try script.request()
            script.succeed(first, addresses.map { .turn(.xorRelayedAddress($0)) }, key: nil)
            #expect(script.sent().isEmpty)
            #expect(script.ends == [.malformed])
        }
    }
}
