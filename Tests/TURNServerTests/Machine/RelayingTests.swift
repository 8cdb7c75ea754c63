import RTCEngine
import RTCWire
import Testing

@testable import TURNServer

/// RFC 8656 §11 and §12: data.
@Suite struct RelayingTests {
    private static let data: [UInt8] = [1, 2, 3, 4, 5]

    /// What a Data indication says.
    private func indication(_ script: inout ServerScript, to client: ScriptedClient) throws -> (
        TransportAddress?, [UInt8]?
    ) {
        let message = try script.answer(to: client.path).message
        #expect(message.kind == .indication && message.method == .data)
        return (message.peerAddress, message.relayedData)
    }

    @Test func `an indication goes out from the relayed address, and what comes back comes as one`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        let relayed = try client.allocate(&script)[0]
        try client.permit(&script, ServerScript.peer)
        let bytes = ScriptedClient.indication(Self.data, to: ServerScript.peer)
        guard case .toPeer(let peer, let relay, let range) = script.receive(bytes, from: client.path) else {
            Issue.record("not forwarded")
            return
        }
        #expect(peer == ServerScript.peer && script.sockets[relay] == relayed && Array(bytes[range]) == Self.data)

        #expect(try script.receive([9, 8], on: relayed, from: ServerScript.peer) == .none)
        let back = try indication(&script, to: client)
        #expect(back.0 == ServerScript.peer && back.1 == [9, 8])
        // A permission is for an address, whatever the port (§9).
        let neighbour = endpoint("198.51.100.20", 1)
        #expect(try script.receive([7], on: relayed, from: neighbour) == .none)
        #expect(try indication(&script, to: client).0 == neighbour)
        let statistics = script.machine.statistics
        #expect(statistics.bytesToPeers == 5 && statistics.packetsToPeers == 1)
        #expect(statistics.bytesToClients == 3 && statistics.packetsToClients == 2)
    }

    @Test func `without a permission nothing passes, in either direction, and nothing after five minutes`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        let relayed = try client.allocate(&script)[0]
        let bytes = ScriptedClient.indication(Self.data, to: ServerScript.peer)
        #expect(script.receive(bytes, from: client.path) == .none)
        #expect(try script.receive([9], on: relayed, from: ServerScript.peer) == .none)
        #expect(script.takeSent().isEmpty)
        try client.permit(&script, ServerScript.peer)
        script.pass(299)
        #expect(script.receive(bytes, from: client.path) != .none)
        script.pass(1)
        #expect(script.receive(bytes, from: client.path) == .none)
        #expect(try script.receive([9], on: relayed, from: ServerScript.peer) == .none)
        #expect(script.takeSent().isEmpty)
        #expect(script.machine.statistics.drops == [.notPermitted: 4])
    }

    @Test func `an indication that lacks something, or wants what there is not, is dropped`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.allocate(&script)
        try client.permit(&script, ServerScript.peer)
        let fragments = ScriptedClient.indication(Self.data, to: ServerScript.peer, [.dontFragment])
        #expect(script.receive(fragments, from: client.path) == .none)
        for attributes in [[.turn(.data([1]))], [.turn(.xorPeerAddress(ServerScript.peer))]] as [[STUNAttribute]] {
            let message = STUNMessage(
                .indication, .send, transactionID: .init(high: 1, low: 1), attributes: attributes)
            let bytes = message.encoded(signedWith: nil, fingerprint: false)
            #expect(script.receive(bytes, from: client.path) == .none)
        }
        #expect(script.takeSent().isEmpty)
    }

    @Test func `a channel carries data both ways, padded or not`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        let relayed = try client.allocate(&script)[0]
        try client.bind(&script, 0x4001, to: ServerScript.peer)
        for padding in [0, 3] {
            let bytes = ScriptedClient.channelData(Self.data, on: 0x4001) + [UInt8](repeating: 0, count: padding)
            guard case .toPeer(let peer, let relay, let range) = script.receive(bytes, from: client.path) else {
                Issue.record("not forwarded")
                return
            }
            #expect(peer == ServerScript.peer && script.sockets[relay] == relayed && Array(bytes[range]) == Self.data)
        }
        #expect(
            try script.receive([9, 8], on: relayed, from: ServerScript.peer)
                == .toClient(client.path, ChannelDataHeader(number: 0x4001, length: 2), 0..<2))
        // Another port of the peer has no channel, but a permission.
        #expect(try script.receive([9, 8], on: relayed, from: endpoint("198.51.100.20", 1)) == .none)
        #expect(try indication(&script, to: client).1 == [9, 8])
    }

    @Test func `a datagram without data is relayed both ways, in indications and on a channel`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        let relayed = try client.allocate(&script)[0]
        try client.permit(&script, ServerScript.peer)
        #expect(try script.receive([], on: relayed, from: ServerScript.peer) == .none)
        let back = try indication(&script, to: client)
        #expect(back.0 == ServerScript.peer && back.1 == [])
        try client.bind(&script, 0x4001, to: ServerScript.peer)
        #expect(
            try script.receive([], on: relayed, from: ServerScript.peer)
                == .toClient(client.path, ChannelDataHeader(number: 0x4001, length: 0), 0..<0))
        for bytes in [
            ScriptedClient.channelData([], on: 0x4001), ScriptedClient.indication([], to: ServerScript.peer),
        ] {
            guard case .toPeer(let peer, _, let range) = script.receive(bytes, from: client.path) else {
                Issue.record("not forwarded")
                return
            }
            #expect(peer == ServerScript.peer && range.isEmpty)
        }
    }

    @Test func `data on a channel that is not bound, is cut short, or is another client's goes nowhere`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.allocate(&script)
        try client.bind(&script, 0x4001, to: ServerScript.peer)
        let good = ScriptedClient.channelData(Self.data, on: 0x4001)
        #expect(script.receive(ScriptedClient.channelData(Self.data, on: 0x4002), from: client.path) == .none)
        for length in 0..<good.count { #expect(script.receive(Array(good.prefix(length)), from: client.path) == .none) }
        let other = ScriptedClient(at: endpoint("192.0.2.10", 4_001))
        #expect(script.receive(good, from: other.path) == .none)
        #expect(script.receive(good, from: client.path) != .none)
        script.pass(599)
        #expect(try client.ask(&script, .refresh).kind == .success)
        #expect(script.receive(good, from: client.path) != .none)
        script.pass(1)
        #expect(script.receive(good, from: client.path) == .none)
        #expect(script.takeSent().isEmpty)
    }

    @Test func `after its end an allocation relays nothing, also before that was noticed`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        let relayed = try client.allocate(&script)[0]
        try client.bind(&script, 0x4001, to: ServerScript.peer)
        script.now = script.now + .seconds(Int64(300))
        try client.bind(&script, 0x4001, to: ServerScript.peer)
        script.now = script.now + .seconds(Int64(299))
        #expect(script.receive(ScriptedClient.channelData([1], on: 0x4001), from: client.path) != .none)
        script.now = script.now + .seconds(Int64(1))
        #expect(script.receive(ScriptedClient.channelData([1], on: 0x4001), from: client.path) == .none)
        #expect(try script.receive([1], on: relayed, from: ServerScript.peer) == .none)
        #expect(script.takeSent().isEmpty)
    }

    @Test func `a datagram for an address that was lent to somebody else since is not theirs`() throws {
        var script = ServerScript()
        var first = ScriptedClient()
        try first.allocate(&script)
        try first.permit(&script, ServerScript.peer)
        let old = try #require(script.sockets.keys.first)
        #expect(try first.ask(&script, .refresh, [.lifetime(0)]).kind == .success)
        var second = ScriptedClient("bob", "word", at: endpoint("192.0.2.10", 4_001))
        try second.allocate(&script)
        try second.permit(&script, ServerScript.peer)
        let new = try #require(script.sockets.keys.first)
        #expect(old.place == new.place && old != new)
        let bytes: [UInt8] = [1]
        #expect(script.machine.receive(bytes.span.bytes, on: old, from: ServerScript.peer, at: script.now) == .none)
        #expect(script.machine.pollOutput() == nil)
    }

    @Test func `each family has its own relayed address`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        let relayed = try client.allocate(&script, [.additionalAddressFamily(.ipv6)])
        let peer6 = endpoint("2001:db8::77", 9)
        try client.permit(&script, ServerScript.peer, peer6)
        for (peer, index) in [(ServerScript.peer, 0), (peer6, 1)] {
            guard
                case .toPeer(peer, let relay, _) = script.receive(
                    ScriptedClient.indication([1], to: peer), from: client.path)
            else {
                Issue.record("not forwarded")
                continue
            }
            #expect(script.sockets[relay] == relayed[index])
            #expect(try script.receive([2], on: relayed[index], from: peer) == .none)
            #expect(try indication(&script, to: client).0 == peer)
        }
    }

    // MARK: Two clients of one server

    @Test(arguments: ["203.0.113.1", "10.0.0.1"])
    func `two clients reach each other inside the server, on a private network too, and nothing else of its host`(
        relay: String
    ) throws {
        var script = ServerScript(hasIPv6: false, relay: address(relay))
        var ann = ScriptedClient()
        var bob = ScriptedClient("bob", "word", .tcp, at: endpoint("192.0.2.30", 4_000), socket: 5)
        let annRelayed = try ann.allocate(&script)[0]
        let bobRelayed = try bob.allocate(&script)[0]
        try ann.permit(&script, bobRelayed)
        let bytes = ScriptedClient.indication(Self.data, to: bobRelayed)
        #expect(script.receive(bytes, from: ann.path) == .none)
        #expect(script.takeSent().isEmpty)
        try bob.permit(&script, annRelayed)
        #expect(script.receive(bytes, from: ann.path) == .none)
        let back = try indication(&script, to: bob)
        #expect(back.0 == annRelayed && back.1 == Self.data)

        try bob.bind(&script, 0x4abc, to: annRelayed)
        guard case .toClient(bob.path, let header, let range) = script.receive(bytes, from: ann.path) else {
            Issue.record("not delivered")
            return
        }
        #expect(header == ChannelDataHeader(number: 0x4abc, length: 5) && Array(bytes[range]) == Self.data)

        // The same address, a port that is no relayed one: a service of this host.
        let service = ScriptedClient.indication(Self.data, to: TransportAddress(address(relay), port: 22))
        let isPublic = PeerPolicy().permits(address(relay))
        #expect((script.receive(service, from: ann.path) != .none) == isPublic)
        let inward = try script.receive([1], on: annRelayed, from: TransportAddress(address(relay), port: 22))
        #expect(inward == .none)
        #expect(script.takeSent().isEmpty != isPublic)
    }

    // MARK: Rates

    @Test func `an allocation relays so much a second, both directions together, and others are not held up`() throws {
        var script = ServerScript {
            $0.bytesPerSecond = 10_000
            $0.burst = 5_000
        }
        var ann = ScriptedClient()
        var bob = ScriptedClient("bob", "word", at: endpoint("192.0.2.30", 4_000))
        let relayed = try ann.allocate(&script)[0]
        try bob.allocate(&script)
        try ann.bind(&script, 0x4000, to: ServerScript.peer)
        try bob.bind(&script, 0x4000, to: ServerScript.peer)
        let kilobyte = ScriptedClient.channelData([UInt8](repeating: 7, count: 1_000), on: 0x4000)
        func passes(_ client: ScriptedClient) -> Int {
            (0..<20).count { _ in script.receive(kilobyte, from: client.path) != .none }
        }
        #expect(passes(ann) == 5)
        #expect(try script.receive([UInt8](repeating: 1, count: 600), on: relayed, from: ServerScript.peer) == .none)
        #expect(script.machine.statistics.drops[.tooMuch] == 16)
        #expect(passes(bob) == 5)
        script.now = script.now + .milliseconds(250)
        #expect(passes(ann) == 2)
        script.pass(10)
        #expect(passes(ann) == 5)
    }

    @Test func `what nobody permitted takes nothing of an allocation's share`() throws {
        var script = ServerScript { $0.burst = 2_000 }
        var client = ScriptedClient()
        let relayed = try client.allocate(&script)[0]
        try client.bind(&script, 0x4000, to: ServerScript.peer)
        for _ in 0..<50 {
            #expect(
                try script.receive([UInt8](repeating: 1, count: 1_000), on: relayed, from: endpoint("198.51.100.66", 1))
                    == .none)
        }
        #expect(
            try script.receive([UInt8](repeating: 1, count: 1_500), on: relayed, from: ServerScript.peer) != .none)
    }
}
