import RTCEngine
import RTCWire
import Testing

@testable import TURNServer

/// Refresh, CreatePermission, ChannelBind and Binding (RFC 8656 §8, §10, §12; RFC 8489 §12).
@Suite struct RequestTests {
    @Test func `anybody may ask where they are seen`() throws {
        var script = ServerScript()
        for transport in [TURNClientPath.Transport.udp, .tcp, .tls] {
            let client = ScriptedClient("", "", transport, at: endpoint("2001:db8::99", 9))
            for fingerprint in [false, true] {
                let request = STUNMessage(.request, transactionID: .init(high: 1, low: 1))
                script.receive(request.encoded(signedWith: nil, fingerprint: fingerprint), from: client.path)
                let answer = try script.answer(to: client.path).message
                #expect(answer.kind == .success && answer.reflexiveAddress == client.path.remote)
                #expect(answer.hasFingerprint == fingerprint)
            }
        }
        let odd = STUNMessage(
            .request, transactionID: .init(high: 1, low: 1), attributes: [.other(type: 0x7fff, value: [])])
        let client = ScriptedClient()
        script.receive(odd.encoded(signedWith: nil, fingerprint: false), from: client.path)
        let answer = try script.answer(to: client.path).message
        #expect(answer.errorCode?.code == 420 && answer.unknownTypes == [0x7fff])
    }

    @Test func `what is no request of ours is not answered`() {
        var script = ServerScript()
        let client = ScriptedClient()
        for message in [
            STUNMessage(.indication, transactionID: .init(high: 1, low: 1)),
            STUNMessage(.success, .allocate, transactionID: .init(high: 1, low: 1)),
            STUNMessage(.error, .refresh, transactionID: .init(high: 1, low: 1)),
            STUNMessage(.request, .init(rawValue: 0x00a), transactionID: .init(high: 1, low: 1)),
            STUNMessage(.request, .send, transactionID: .init(high: 1, low: 1)),
            STUNMessage(.request, .data, transactionID: .init(high: 1, low: 1)),
        ] {
            script.receive(message.encoded(signedWith: nil, fingerprint: false), from: client.path)
        }
        script.receive([], from: client.path)
        script.receive([22, 3, 1, 0, 5], from: client.path)
        #expect(script.takeSent().isEmpty)
    }

    /// RFC 8656 §7.2, §8.2, §10.2, §12.2.
    @Test(
        arguments: [
            (.allocate, [.other(type: 0x0019, value: [17])]),
            (.allocate, [.other(type: 0x0019, value: [17, 0, 0, 0, 0, 0, 0, 0])]),
            (.allocate, [.turn(.requestedTransport(17)), .other(type: 0x0018, value: [])]),
            (.allocate, [.turn(.requestedTransport(17)), .other(type: 0x0022, value: [1, 2, 3])]),
            (.allocate, [.turn(.requestedTransport(17)), .other(type: 0x0017, value: [1])]),
            (.refresh, [.other(type: 0x000d, value: [0, 1])]),
            (.createPermission, [.other(type: 0x0012, value: [0, 3, 0, 0, 0, 0, 0, 0])]),
            (.createPermission, [.turn(.xorPeerAddress(ServerScript.peer)), .other(type: 0x0012, value: [0, 1, 0])]),
            (.channelBind, [.other(type: 0x000c, value: [0x40, 0]), .turn(.xorPeerAddress(ServerScript.peer))]),
            (.channelBind, [.turn(.channelNumber(0x4000)), .other(type: 0x0012, value: [0, 3, 0, 0, 0, 0, 0, 0])]),
        ] as [(STUNMethod, [STUNAttribute])])
    func `an attribute of impossible form is 400, once it is known who asks, and does nothing`(
        method: STUNMethod, attributes: [STUNAttribute]
    ) throws {
        var script = ServerScript()
        var client = ScriptedClient()
        script.receive(client.encode(method, attributes, 1), from: client.path)
        #expect(try script.answer(to: client.path).message.errorCode?.code == 401)
        if method == .allocate { try client.meetChallenge(&script) } else { try client.allocate(&script) }
        client.password = "guess"
        script.receive(client.encode(method, attributes, 2), from: client.path)
        #expect(try script.answer(to: client.path).message.errorCode?.code == 401)
        client.password = "secret"
        script.receive(client.encode(method, attributes, 3), from: client.path)
        let answer = try script.answer(to: client.path)
        #expect(answer.message.errorCode?.code == 400 && answer.message.method == method)
        #expect(answer.message.isSigned(in: answer.bytes, with: client.key))
        #expect(script.sockets.count == (method == .allocate ? 0 : 1))
        #expect(script.machine.slots.first?.allocation?.permissions.isEmpty != false)
    }

    @Test func `a malformed question where one is seen is passed over`() {
        var script = ServerScript()
        let client = ScriptedClient()
        script.receive(client.encode(.binding, [.other(type: 0x0024, value: [1])], 1), from: client.path)
        #expect(script.takeSent().isEmpty)
    }

    // MARK: Refresh

    @Test func `a refresh prolongs, and does not add up`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.allocate(&script)
        for _ in 0..<5 {
            script.pass(590)
            #expect(try client.ask(&script, .refresh).lifetime == 600)
        }
        #expect(try client.ask(&script, .refresh, [.lifetime(5_000)]).lifetime == 3_600)
        #expect(try client.ask(&script, .refresh, [.lifetime(700)]).lifetime == 700)
        script.pass(701)
        #expect(script.sockets.isEmpty)
        let late = try client.ask(&script, .refresh)
        #expect([437, 438].contains(late.errorCode?.code))
    }

    @Test func `a lifetime of nothing ends it; said again it has the same answer`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.allocate(&script)
        let request = client.request(.refresh, [.lifetime(0)])
        script.receive(request, from: client.path)
        let first = try script.answer(to: client.path)
        #expect(first.message.kind == .success && first.message.lifetime == 0)
        #expect(script.sockets.isEmpty && script.machine.ports[.ipv4]?.count == 0)
        script.receive(request, from: client.path)
        #expect(try script.answer(to: client.path).bytes == first.bytes)
        #expect(try client.ask(&script, .refresh, [.lifetime(0)]).errorCode?.code == 437)
        #expect(try client.ask(&script, .createPermission).errorCode?.code == 437)
        #expect(try client.ask(&script, .channelBind).errorCode?.code == 437)
        try client.allocate(&script)
    }

    @Test func `one of two addresses is given back, then the other`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.allocate(&script, [.additionalAddressFamily(.ipv6)])
        #expect(try client.ask(&script, .refresh, [.requestedAddressFamily(.ipv6)]).kind == .success)
        let unheardOf = try client.ask(&script, .refresh, [.requestedAddressFamily(.unheardOf)])
        #expect(unheardOf.errorCode?.code == 443)
        #expect(try client.ask(&script, .refresh, [.requestedAddressFamily(.ipv4), .lifetime(0)]).lifetime == 0)
        #expect(script.sockets.values.map(\.ip) == [ServerScript.relay6])
        let gone = try client.ask(&script, .refresh, [.requestedAddressFamily(.ipv4)])
        #expect(gone.errorCode?.code == 443)
        let refused = try client.ask(&script, .createPermission, [.xorPeerAddress(ServerScript.peer)])
        #expect(refused.errorCode?.code == 443)
        #expect(try client.ask(&script, .refresh, [.requestedAddressFamily(.ipv6), .lifetime(0)]).lifetime == 0)
        #expect(script.sockets.isEmpty && script.machine.statistics.allocations == 0)
    }

    // MARK: Permissions

    @Test(
        arguments: [
            ([], 400), (["127.0.0.1"], 403), (["10.1.2.3"], 403), (["198.51.100.1", "169.254.169.254"], 403),
            (["2001:db8::5"], 443), (["198.51.100.1", "2001:db8::5"], 443),
        ] as [([String], UInt16)])
    func `a permission that is not given is refused by number, and none beside it is given`(
        peers: [String], code: UInt16
    ) throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.allocate(&script)
        let answer = try client.ask(
            &script, .createPermission, peers.map { .xorPeerAddress(endpoint($0, 9)) })
        #expect(answer.errorCode?.code == code)
        #expect(script.machine.slots[0].allocation?.permissions.isEmpty == true)
    }

    @Test func `one request permits several, each once, up to a limit`() throws {
        var script = ServerScript { $0.maximumPermissions = 3 }
        var client = ScriptedClient()
        try client.allocate(&script)
        let peers = (1...4).map { endpoint("198.51.100.\($0)", 7_000) }
        try client.permit(&script, peers[0], peers[1], peers[0])
        try client.permit(&script, peers[1], peers[2])
        let full = try client.ask(&script, .createPermission, [.xorPeerAddress(peers[3])])
        #expect(full.errorCode?.code == 508)
        let channel = try client.ask(&script, .channelBind, [.channelNumber(0x4000), .xorPeerAddress(peers[3])])
        #expect(channel.errorCode?.code == 508)
        // What has run out makes room.
        script.pass(200)
        try client.permit(&script, peers[0])
        script.pass(200)
        try client.permit(&script, peers[3])
        #expect(script.machine.slots[0].allocation?.permissions.map(\.ip) == [peers[0].ip, peers[3].ip])
    }

    // MARK: Channels

    @Test(arguments: [0x3fff, 0x8000, 0, 0xffff] as [UInt16])
    func `a number outside of the channels' is 400`(number: UInt16) throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.allocate(&script)
        let answer = try client.ask(
            &script, .channelBind, [.channelNumber(number), .xorPeerAddress(ServerScript.peer)])
        #expect(answer.errorCode?.code == 400)
    }

    @Test func `a number is one peer's, and a peer has one number`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.allocate(&script)
        let other = endpoint("198.51.100.20", 7_001)
        try client.bind(&script, 0x4000, to: ServerScript.peer)
        try client.bind(&script, 0x4000, to: ServerScript.peer)
        try client.bind(&script, 0x7fff, to: other)
        for (number, peer) in [(0x4000, other), (0x4001, other), (0x4001, ServerScript.peer)]
            as [(UInt16, TransportAddress)]
        {
            let answer = try client.ask(&script, .channelBind, [.channelNumber(number), .xorPeerAddress(peer)])
            #expect(answer.errorCode?.code == 400)
        }
        script.pass(590)
        #expect(try client.ask(&script, .refresh).kind == .success)
        try client.bind(&script, 0x4000, to: ServerScript.peer)
        script.pass(20)
        // The other one has run out.
        try client.bind(&script, 0x4001, to: other)
    }

    @Test func `what a channel lacks, or may not reach, is told`() throws {
        var script = ServerScript { $0.maximumChannels = 1 }
        var client = ScriptedClient()
        try client.allocate(&script)
        let cases: [([TURNAttribute], UInt16)] = [
            ([.channelNumber(0x4000)], 400), ([.xorPeerAddress(ServerScript.peer)], 400),
            ([.channelNumber(0x4000), .xorPeerAddress(endpoint("198.51.100.20", 0))], 400),
            ([.channelNumber(0x4000), .xorPeerAddress(endpoint("127.0.0.1", 80))], 403),
            ([.channelNumber(0x4000), .xorPeerAddress(endpoint("2001:db8::5", 80))], 443),
        ]
        for (attributes, code) in cases {
            #expect(try client.ask(&script, .channelBind, attributes).errorCode?.code == code)
        }
        try client.bind(&script, 0x4000, to: ServerScript.peer)
        let full = try client.ask(
            &script, .channelBind, [.channelNumber(0x4001), .xorPeerAddress(endpoint("198.51.100.21", 1))])
        #expect(full.errorCode?.code == 508)
    }
}
