import RTCEngine
import RTCWire
import Testing

@testable import TURNServer

/// Strangers, and users who mean no good.
@Suite struct HostileTests {
    @Test func `no answer to a stranger is much larger than what was asked`() throws {
        var script = ServerScript()
        var unsigned = ScriptedClient()
        var signed = ScriptedClient("eve", "guess")
        try signed.meetChallenge(&script)
        var requests = [STUNMethod.allocate, .refresh, .createPermission, .channelBind, .binding].flatMap {
            [unsigned.request($0), signed.request($0)]
        }
        let odd = (0..<40).map { STUNAttribute.other(type: 0x7000 + $0, value: []) }
        for method in [STUNMethod.binding, .allocate] {
            requests.append(
                STUNMessage(.request, method, transactionID: .init(high: 1, low: 1), attributes: odd)
                    .encoded(signedWith: nil, fingerprint: true))
        }
        for request in requests {
            script.receive(request, from: unsigned.path)
            for answer in script.takeSent() { #expect(answer.bytes.count <= request.count + 96) }
        }
    }

    @Test func `an address whose owner never asked gets few answers, and others all of theirs`() throws {
        var script = ServerScript { $0.answersToStrangers = 10 }
        let victim = ScriptedClient()
        let request = STUNMessage(.request, transactionID: .init(high: 1, low: 1))
            .encoded(signedWith: nil, fingerprint: false)
        var answers = 0
        for number in 0..<2_000 {
            script.now = script.now + .milliseconds(1)
            // Ports are as easily forged as addresses.
            let path = TURNClientPath(.udp, socket: 1, remote: endpoint("192.0.2.10", UInt16(number)))
            script.receive(request, from: path)
            answers += script.takeSent().count
        }
        #expect((20...41).contains(answers))
        #expect(script.machine.statistics.strangersIgnored == 2_000 - answers)
        for host in 1...50 {
            script.receive(request, from: TURNClientPath(.udp, socket: 1, remote: endpoint("198.51.100.\(host)", 9)))
        }
        // Two of a thousand rows may meet, and the victim's is empty.
        #expect(script.takeSent().count >= 48)
        // Who is connected is there, and is answered.
        script.receive(request, from: TURNClientPath(.tcp, socket: 2, remote: victim.path.remote))
        #expect(script.takeSent().count == 1)
    }

    @Test func `a flood does not hold up those who have a credential`() throws {
        var script = ServerScript { $0.answersToStrangers = 1 }
        var client = ScriptedClient()
        try client.allocate(&script)
        for number in 0..<100 {
            script.receive(
                STUNMessage(.request, transactionID: .init(high: 1, low: UInt64(number)))
                    .encoded(signedWith: nil, fingerprint: false), from: client.path)
        }
        _ = script.takeSent()
        try client.permit(&script, ServerScript.peer)
    }

    /// Bytes that are nearly what the server takes.
    private static func noise(_ random: inout EngineRandom, _ templates: [[UInt8]]) -> [UInt8] {
        var bytes = templates[Int.random(in: templates.indices, using: &random)]
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes = random.bytes(Int.random(in: 0..<80, using: &random))
        case 1: bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
        case 2: bytes += random.bytes(Int.random(in: 0..<8, using: &random))
        case 3:
            for _ in 0..<Int.random(in: 1..<6, using: &random) where !bytes.isEmpty {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8(truncatingIfNeeded: random.next())
            }
        default: break
        }
        return bytes
    }

    @Test(arguments: 0..<20)
    func `whatever strangers send, nothing is kept and nothing is relayed`(seed: UInt64) throws {
        var random = EngineRandom.seeded(seed)
        var script = ServerScript()
        var guesser = ScriptedClient("ann", "guess")
        try guesser.meetChallenge(&script)
        var templates = [STUNMethod.allocate, .refresh, .createPermission, .channelBind, .binding].map {
            guesser.request($0, [.requestedTransport(17), .lifetime(5), .xorPeerAddress(ServerScript.peer)])
        }
        templates.append(ScriptedClient.indication([1, 2, 3], to: ServerScript.peer))
        templates.append(ScriptedClient.channelData([1, 2, 3], on: 0x4000))
        for _ in 0..<2_000 {
            let bytes = Self.noise(&random, templates)
            #expect(script.receive(bytes, from: guesser.path) == .none)
            for answer in script.takeSent() { #expect(answer.bytes.count <= 200) }
        }
        #expect(script.machine.slots.isEmpty && script.machine.answers.count == 0 && script.attempts == 0)
        #expect(script.machine.reservations.isEmpty && script.machine.nextWake == nil)
    }

    /// Users with good credentials who send requests of every kind, in any order.
    @Test(arguments: 0..<20)
    func `whatever users do, limits hold, and in the end all is given back`(seed: UInt64) throws {
        var random = EngineRandom.seeded(seed &+ 1_000)
        var script = ServerScript {
            $0.maximumAllocations = 6
            $0.maximumAllocationsPerUser = 4
            $0.maximumPermissions = 5
            $0.maximumChannels = 3
            $0.maximumReservations = 2
            $0.relayPorts = 50_000...50_011
        }
        script.occupied = [50_003, 50_008]
        let service = endpoint("10.0.0.9", 49_999)
        script.machine.hostServes([TURNHostService(local: service, announced: endpoint("203.0.113.1", 49_999))])
        var clients = (0..<10).map { number in
            let name = number % 2 == 0 ? ("ann", "secret") : ("bob", "word")
            return ScriptedClient(
                name.0, name.1, number % 3 == 0 ? .tcp : .udp, at: endpoint("192.0.2.10", UInt16(number)))
        }
        for index in clients.indices { try clients[index].meetChallenge(&script) }
        var tokens: [UInt64] = [0]
        let peers = ["198.51.100.1", "198.51.100.2", "2001:db8::5", "127.0.0.1", "203.0.113.1", "10.0.0.1"]
        for _ in 0..<1_500 {
            let index = Int.random(in: clients.indices, using: &random)
            func peer() -> TransportAddress {
                endpoint(
                    peers[Int.random(in: peers.indices, using: &random)],
                    UInt16.random(in: 49_998...50_012, using: &random))
            }
            var attributes: [TURNAttribute] = []
            let method =
                [STUNMethod.allocate, .refresh, .createPermission, .channelBind]
                .randomElement(using: &random) ?? .allocate
            if method == .allocate { attributes.append(.requestedTransport(17)) }
            let options: [TURNAttribute] = [
                .lifetime([0, 700, 9_000][Int.random(in: 0..<3, using: &random)]), .evenPort(reservesNext: true),
                .evenPort(reservesNext: false),
                .reservationToken(tokens[Int.random(in: tokens.indices, using: &random)]),
                .requestedAddressFamily(.ipv6), .additionalAddressFamily(.ipv6), .xorPeerAddress(peer()),
                .xorPeerAddress(peer()), .channelNumber(0x4000 + UInt16.random(in: 0..<5, using: &random)),
            ]
            for option in options.shuffled(using: &random) where Int.random(in: 0..<3, using: &random) == 0 {
                attributes.append(option)
            }
            script.receive(clients[index].request(method, attributes), from: clients[index].path)
            for answer in script.takeSent() {
                let message = try STUNMessage(parsing: answer.bytes.span.bytes)
                if let token = message.reservationToken { tokens.append(token) }
                if message.errorCode?.code == 438, let nonce = message.nonce { clients[index].nonce = nonce }
            }
            switch script.receive(ScriptedClient.indication([1], to: peer()), from: clients[index].path) {
            case .toPeer(let address, let relay, _):
                #expect(address == service || script.machine.configuration.policy.permits(address.ip))
                #expect(script.sockets[relay] != nil)
            case .toClient, .none: break
            }
            if Int.random(in: 0..<20, using: &random) == 0 { script.pass(Int.random(in: 1..<400, using: &random)) }
            if Int.random(in: 0..<50, using: &random) == 0 {
                script.machine.streamClosed(clients[index].path)
                script.perform()
            }
            _ = script.takeSent()
            check(script)
        }
        script.pass(4_000)
        check(script)
        #expect(script.sockets.isEmpty && script.machine.slotOfClient.isEmpty && script.machine.reservations.isEmpty)
        #expect(script.machine.allocationsOfUser.isEmpty && script.machine.relayOfAddress.isEmpty)
        #expect(script.machine.ports.values.allSatisfy { $0.count == 0 })
        #expect(script.machine.nextWake == nil && script.machine.statistics.allocations == 0)
    }

    private func check(_ script: ServerScript) {
        let machine = script.machine
        let allocations = machine.slots.compactMap(\.allocation)
        #expect(allocations.count <= 6 && machine.reservations.count <= 2)
        #expect(machine.statistics.allocations == allocations.count && machine.slotOfClient.count == allocations.count)
        #expect(machine.allocationsOfUser.values.allSatisfy { (1...4).contains($0) })
        #expect(machine.allocationsOfUser.values.reduce(0, +) == allocations.count)
        for allocation in allocations {
            #expect(allocation.permissions.count <= 5 && allocation.channels.count <= 3)
            #expect(allocation.isActive && !allocation.relays.isEmpty)
        }
        let relays = allocations.flatMap(\.relays)
        #expect(Set(relays.map(\.id)) == Set(script.sockets.keys))
        #expect(Set(machine.relayOfAddress.keys) == Set(relays.map(\.announced)))
        for family in [TURNAddressFamily.ipv4, .ipv6] {
            let held = machine.reservations.values.count { $0.family == family }
            #expect(machine.ports[family]?.count == relays.count { $0.id.family == family } + held)
        }
    }
}
