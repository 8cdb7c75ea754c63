import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Permissions, channels and data of an allocation (RFC 8656 §9 to §12).
@Suite struct TURNPeersTests {
    private static let peer = endpoint("192.0.2.1", 9_000)

    /// An allocation with a permission for `peer`.
    private static func permitted() throws -> TURNScript {
        var script = TURNScript()
        script.allocate()
        _ = script.allocation.carry([1], to: peer, at: script.now)
        let request = try script.request()
        script.succeed(request, [])
        _ = script.sent()
        return script
    }

    private func channel(_ carriage: TURNAllocation.Carriage) -> UInt16? {
        if case .channel(let number) = carriage { number } else { nil }
    }

    private func indication(_ carriage: TURNAllocation.Carriage) -> STUNMessage? {
        guard case .indication(let bytes) = carriage else { return nil }
        return try? STUNMessage(parsing: bytes.span.bytes)
    }

    private func isNothing(_ carriage: TURNAllocation.Carriage) -> Bool {
        if case .none = carriage { true } else { false }
    }

    @Test func `the first datagram asks for permission and leaves when that is given`() throws {
        var script = TURNScript()
        script.allocate()
        #expect(isNothing(script.allocation.carry([1, 2, 3], to: Self.peer, at: script.now)))
        #expect(isNothing(script.allocation.carry([4], to: endpoint("192.0.2.1", 9_001), at: script.now)))
        #expect(isNothing(script.allocation.carry([5], to: endpoint("192.0.2.2", 9_000), at: script.now)))
        let requests = script.sent()
        #expect(requests.map(\.method) == [.createPermission, .createPermission])
        #expect(requests.map { $0.peerAddress?.ip } == [address("192.0.2.1"), address("192.0.2.2")])
        script.succeed(requests[0], [])
        let sent = script.sent()
        #expect(sent.map(\.method) == [.send, .send])
        #expect(sent.allSatisfy { $0.kind == .indication && $0.integrityOffset == nil })
        #expect(sent.map(\.relayedData) == [[1, 2, 3], [4]])
        #expect(sent.map(\.peerAddress) == [Self.peer, endpoint("192.0.2.1", 9_001)])
        #expect(indication(script.allocation.carry([6], to: Self.peer, at: script.now))?.relayedData == [6])
    }

    @Test func `a peer that the server forbids is sent nothing, and asked for again only much later`() throws {
        var script = TURNScript()
        script.allocate()
        _ = script.allocation.carry([1], to: Self.peer, at: script.now)
        let request = try script.request()
        script.refuse(request, .forbidden, key: TURNScript.key)
        #expect(isNothing(script.allocation.carry([2], to: Self.peer, at: script.now)))
        #expect(script.sent().isEmpty && script.ends.isEmpty)
        _ = script.pass(.seconds(Int64(301)))
        #expect(isNothing(script.allocation.carry([3], to: Self.peer, at: script.now)))
        #expect(script.sent().map(\.method).contains(.createPermission))
    }

    @Test func `what a silent server and a chatty application make us keep is bounded`() {
        var script = TURNScript(.udp) {
            $0.maximumPermissions = 5
            $0.maximumHeld = 8
        }
        script.allocate()
        for number in 0..<1_000 {
            let peer = TransportAddress(.v4(0xc000_0200 + UInt32(number % 50)), port: UInt16(number + 1))
            #expect(isNothing(script.allocation.carry([1], to: peer, at: script.now)))
        }
        #expect(script.sent().count == 5)
        #expect(script.allocation.held.count == 8)
        for number in 0..<1_000 {
            script.allocation.use(TransportAddress(.v4(1), port: UInt16(number + 1)), at: script.now)
        }
        #expect(script.sent().count == 64)
    }

    @Test func `a permission that nobody answers about is asked for again, and what there is holds meanwhile`() throws {
        var script = try Self.permitted()
        var asked: Set<STUNTransactionID> = []
        for _ in 0..<28 {
            for message in script.pass(.seconds(Int64(10))) where message.method == .createPermission {
                asked.insert(message.transactionID)
            }
            #expect(indication(script.allocation.carry([1], to: Self.peer, at: script.now)) != nil)
        }
        // From 240 s on, each for some ten seconds.
        #expect((2...6).contains(asked.count))
    }

    @Test func `after a first request that nobody answered the next packet asks again`() throws {
        var script = TURNScript()
        script.allocate()
        #expect(isNothing(script.allocation.carry([1], to: Self.peer, at: script.now)))
        _ = try script.request()
        _ = script.pass(.seconds(Int64(60)))
        #expect(isNothing(script.allocation.carry([2], to: Self.peer, at: script.now)))
        let request = try script.request()
        script.succeed(request, [])
        #expect(script.sent().map(\.relayedData) == [[2]])
    }

    @Test func `a permission is renewed while it is used, and forgotten when it is not`() throws {
        var script = try Self.permitted()
        // In use until 200 s.
        for _ in 0..<20 {
            #expect(script.pass(.seconds(Int64(10))).isEmpty)
            _ = script.allocation.carry([1], to: Self.peer, at: script.now)
        }
        let renewals = script.pass(.seconds(Int64(41)))
        // One request, repeated for as long as nobody answers.
        #expect(renewals.allSatisfy { $0.method == .createPermission })
        #expect(Set(renewals.map(\.transactionID)).count == 1)
        script.succeed(renewals[0], [])
        // Not used any more: the next time it is let go.
        let later = script.pass(.seconds(Int64(280)))
        #expect(!later.contains { $0.method == .createPermission })
        #expect(isNothing(script.allocation.carry([1], to: Self.peer, at: script.now)))
    }

    @Test func `a chosen peer gets a channel, and then data costs four bytes`() throws {
        var script = try Self.permitted()
        script.allocation.use(Self.peer, at: script.now)
        script.allocation.use(Self.peer, at: script.now)
        let request = try script.request()
        #expect(request.method == .channelBind)
        #expect(
            Array(request.attributes.prefix(2)) == [.turn(.channelNumber(0x4000)), .turn(.xorPeerAddress(Self.peer))])
        #expect(channel(script.allocation.carry([1], to: Self.peer, at: script.now)) == nil)
        script.succeed(request, [])
        #expect(channel(script.allocation.carry([1], to: Self.peer, at: script.now)) == 0x4000)
        // Another port of the same host is another peer.
        #expect(indication(script.allocation.carry([1], to: endpoint("192.0.2.1", 1), at: script.now)) != nil)
    }

    @Test func `a channel is bound again before its ten minutes are over`() throws {
        var script = try Self.permitted()
        script.allocation.use(Self.peer, at: script.now)
        let request = try script.request()
        script.succeed(request, [])
        var binds: [Double] = []
        for _ in 0..<200 {
            for message in script.pass(.seconds(Int64(10))) {
                if message.method == .channelBind {
                    binds.append(Interval(nanoseconds: script.now.nanoseconds).seconds)
                    #expect(message.attributes.contains(.turn(.channelNumber(0x4000))))
                }
                script.succeed(message, message.method == .refresh ? [.turn(.lifetime(600))] : [])
            }
            #expect(channel(script.allocation.carry([1], to: Self.peer, at: script.now)) == 0x4000)
        }
        #expect(binds.count == 3)
        #expect(script.ends.isEmpty)
    }

    @Test func `a channel that is refused leaves indications`() throws {
        var script = try Self.permitted()
        script.allocation.use(Self.peer, at: script.now)
        let request = try script.request()
        script.refuse(request, STUNErrorCode(400, reason: "Bad Request"), key: TURNScript.key)
        #expect(indication(script.allocation.carry([7], to: Self.peer, at: script.now))?.relayedData == [7])
        script.allocation.use(Self.peer, at: script.now)
        #expect(script.sent().isEmpty)
    }

    // MARK: From peers

    @Test func `data of a peer stands alone in the buffer, however it came`() throws {
        var script = try Self.permitted()
        script.allocation.use(Self.peer, at: script.now)
        let request = try script.request()
        script.succeed(request, [])
        let expected = TURNAllocation.Receipt.payload(from: Self.peer, to: TURNScript.relayed)
        for padding in [[], [0], [0, 0, 0]] as [[UInt8]] {
            let (receipt, data) = script.receive([0x40, 0x00, 0, 3, 7, 8, 9] + padding)
            #expect(receipt == expected)
            #expect(data == [7, 8, 9])
        }
        let message = STUNMessage(
            .indication, .data, transactionID: .init(high: 1, low: 1),
            attributes: [.turn(.xorPeerAddress(Self.peer)), .turn(.data([5, 6]))])
        let (receipt, data) = script.receive(message.encoded(signedWith: nil, fingerprint: false))
        #expect(receipt == expected)
        #expect(data == [5, 6])
    }

    @Test func `data that nobody was permitted to send is dropped`() throws {
        var script = try Self.permitted()
        let stranger = STUNMessage(
            .indication, .data, transactionID: .init(high: 1, low: 1),
            attributes: [.turn(.xorPeerAddress(endpoint("192.0.2.66", 9))), .turn(.data([5, 6]))])
        #expect(script.receive(stranger.encoded(signedWith: nil, fingerprint: false)).0 == .consumed)
        // A channel that is not bound, one with less data than it says, and what is no message at all.
        for bytes in [[0x40, 5, 0, 1, 1], [0x40, 0, 0, 9, 1], [0x40], [], [0, 1, 0, 0], [0x80, 1, 2, 3]] as [[UInt8]] {
            #expect(script.receive(bytes).0 == .consumed)
        }
        // RFC 8656 §11.6: one about ICMP holds no data.
        let unreachable = STUNMessage(
            .indication, .data, transactionID: .init(high: 1, low: 1),
            attributes: [.turn(.xorPeerAddress(Self.peer)), .turn(.icmp(type: 3, code: 3, data: 0))])
        #expect(script.receive(unreachable.encoded(signedWith: nil, fingerprint: false)).0 == .consumed)
        #expect(script.sent().isEmpty && script.ends.isEmpty)
    }

    @Test func `nothing is sent before there is an address, and nothing after the end`() {
        var script = TURNScript()
        #expect(isNothing(script.allocation.carry([1], to: Self.peer, at: script.now)))
        script.allocate()
        script.allocation.close(at: script.now)
        _ = script.sent()
        #expect(isNothing(script.allocation.carry([1], to: Self.peer, at: script.now)))
        script.allocation.use(Self.peer, at: script.now)
        #expect(script.sent().isEmpty)
    }
}
