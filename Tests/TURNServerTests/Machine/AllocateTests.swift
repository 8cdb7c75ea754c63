import RTCEngine
import RTCWire
import Testing

@testable import TURNServer

/// RFC 8656 §7.
@Suite struct AllocateTests {
    @Test func `an allocation has an address, a lifetime, and tells where the client is seen`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.meetChallenge(&script)
        let answer = try client.ask(&script, .allocate, [.requestedTransport(17)])
        let relayed = try #require(answer.relayedAddresses.first)
        #expect(answer.relayedAddresses.count == 1)
        #expect(relayed.ip == ServerScript.relay && ServerScript.ports.contains(relayed.port))
        #expect(answer.lifetime == 600)
        #expect(answer.reflexiveAddress == client.path.remote)
        #expect(script.sockets.values.map { $0 } == [relayed])
        #expect(script.machine.statistics.allocations == 1 && script.machine.statistics.allocationsMade == 1)
    }

    @Test func `behind a NAT that maps one to one, peers are told the public address`() throws {
        var script = ServerScript {
            $0.relayAddresses = [.init(local: address("10.0.0.5"), announced: address("203.0.113.9"))]
        }
        var client = ScriptedClient()
        let relayed = try client.allocate(&script)
        #expect(relayed.map(\.ip) == [address("203.0.113.9")])
        #expect(script.sockets.values.map(\.ip) == [address("10.0.0.5")])
        #expect(script.sockets.values.map(\.port) == relayed.map(\.port))
    }

    @Test(
        arguments: [
            (nil, 600), (1, 600), (0, 600), (599, 600), (900, 900), (3_600, 3_600), (3_601, 3_600), (.max, 3_600),
        ]
            as [(UInt32?, UInt32)])
    func `the lifetime is what was asked for, within the server's bounds`(asked: UInt32?, given: UInt32) throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.meetChallenge(&script)
        let answer = try client.ask(
            &script, .allocate, [.requestedTransport(17)] + (asked.map { [.lifetime($0)] } ?? []))
        #expect(answer.lifetime == given)
        script.pass(Int(given) - 1)
        #expect(script.sockets.count == 1)
        script.pass(2)
        #expect(script.sockets.isEmpty && script.machine.statistics.allocations == 0)
        #expect(script.machine.nextWake == nil)
    }

    @Test func `the same request again has the same answer and makes no second allocation`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.meetChallenge(&script)
        let request = client.request(.allocate, [.requestedTransport(17)])
        script.receive(request, from: client.path)
        let first = try script.answer(to: client.path)
        script.pass(30)
        script.receive(request, from: client.path)
        #expect(try script.answer(to: client.path).bytes == first.bytes)
        // Also when the answer is no longer kept.
        script.pass(30)
        script.receive(request, from: client.path)
        let third = try script.answer(to: client.path).message
        #expect(third.relayedAddresses == first.message.relayedAddresses && third.lifetime == 540)
        #expect(script.attempts == 1)
        #expect(try client.ask(&script, .allocate, [.requestedTransport(17)]).errorCode?.code == 437)
    }

    @Test(
        arguments: [
            ([], 400), ([.requestedTransport(6)], 442),
            ([.requestedTransport(17), .evenPort(reservesNext: true), .reservationToken(5)], 400),
            ([.requestedTransport(17), .requestedAddressFamily(.ipv4), .reservationToken(5)], 400),
            ([.requestedTransport(17), .additionalAddressFamily(.ipv6), .reservationToken(5)], 400),
            ([.requestedTransport(17), .requestedAddressFamily(.ipv4), .additionalAddressFamily(.ipv6)], 400),
            ([.requestedTransport(17), .additionalAddressFamily(.ipv4)], 400),
            ([.requestedTransport(17), .additionalAddressFamily(.ipv6), .evenPort(reservesNext: true)], 400),
            ([.requestedTransport(17), .reservationToken(5)], 508),
            ([.requestedTransport(17), .requestedAddressFamily(.ipv6)], 440),
            ([.requestedTransport(17), .requestedAddressFamily(.unheardOf)], 440),
            ([.requestedTransport(17), .additionalAddressFamily(.unheardOf)], 400),
            ([.requestedTransport(17), .dontFragment], 420),
        ] as [([TURNAttribute], UInt16)])
    func `what cannot be is refused by number`(attributes: [TURNAttribute], code: UInt16) throws {
        var script = ServerScript(hasIPv6: false)
        var client = ScriptedClient()
        try client.meetChallenge(&script)
        script.receive(client.request(.allocate, attributes), from: client.path)
        let answer = try script.answer(to: client.path)
        #expect(answer.message.errorCode?.code == code)
        #expect(answer.message.isSigned(in: answer.bytes, with: client.key))
        if code == 420 { #expect(answer.message.unknownTypes == [0x001a]) }
        #expect(script.attempts == 0 && script.machine.statistics.errors[code] == 1)
        // The refusal leaves nothing behind.
        try client.allocate(&script)
    }

    @Test func `an attribute that must be understood and is not: 420 names it`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.meetChallenge(&script)
        let request = client.encode(
            .allocate,
            [.turn(.requestedTransport(17)), .other(type: 0x7abc, value: [1]), .other(type: 0x9abc, value: [])],
            99)
        script.receive(request, from: client.path)
        let answer = try script.answer(to: client.path).message
        #expect(answer.errorCode?.code == 420 && answer.unknownTypes == [0x7abc])
    }

    // MARK: Families

    @Test func `an IPv6 address, or one of each`() throws {
        var script = ServerScript()
        var six = ScriptedClient()
        #expect(try six.allocate(&script, [.requestedAddressFamily(.ipv6)]).map(\.ip) == [ServerScript.relay6])
        var both = ScriptedClient(at: endpoint("192.0.2.10", 4_001))
        let relayed = try both.allocate(&script, [.additionalAddressFamily(.ipv6)])
        #expect(relayed.map(\.ip) == [ServerScript.relay, ServerScript.relay6])
        #expect(script.sockets.count == 3)
    }

    @Test func `of two families one is not to be had: the other, and why`() throws {
        var four = ServerScript(hasIPv6: false)
        var client = ScriptedClient()
        try client.meetChallenge(&four)
        let answer = try client.ask(&four, .allocate, [.requestedTransport(17), .additionalAddressFamily(.ipv6)])
        #expect(answer.relayedAddresses.map(\.ip) == [ServerScript.relay])
        #expect(answer.addressError?.0 == .ipv6 && answer.addressError?.1 == 440)

        var six = ServerScript { $0.relayAddresses.removeFirst() }
        var other = ScriptedClient()
        try other.meetChallenge(&six)
        let second = try other.ask(&six, .allocate, [.requestedTransport(17), .additionalAddressFamily(.ipv6)])
        #expect(second.relayedAddresses.map(\.ip) == [ServerScript.relay6])
        #expect(second.addressError?.0 == .ipv4 && second.addressError?.1 == 440)
        #expect(try other.ask(&six, .allocate, [.requestedTransport(17)]).errorCode?.code == 437)
        var third = ScriptedClient(at: endpoint("192.0.2.10", 4_001))
        try third.meetChallenge(&six)
        #expect(try third.ask(&six, .allocate, [.requestedTransport(17)]).errorCode?.code == 440)
    }

    // MARK: Ports

    @Test func `an even port, and the next one for who has the token`() throws {
        var script = ServerScript()
        for number in 0..<10 {
            var even = ScriptedClient(at: endpoint("192.0.2.20", UInt16(number)), socket: 1)
            #expect(try even.allocate(&script, [.evenPort(reservesNext: false)])[0].port % 2 == 0)
            #expect(try even.ask(&script, .refresh, [.lifetime(0)]).kind == .success)
        }
        var first = ScriptedClient()
        try first.meetChallenge(&script)
        let answer = try first.ask(&script, .allocate, [.requestedTransport(17), .evenPort(reservesNext: true)])
        let rtp = try #require(answer.relayedAddresses.first?.port)
        let token = try #require(answer.reservationToken)
        #expect(rtp % 2 == 0)

        var bob = ScriptedClient("bob", "word", at: endpoint("192.0.2.10", 4_002))
        try bob.meetChallenge(&script)
        let thief = try bob.ask(&script, .allocate, [.requestedTransport(17), .reservationToken(token)])
        #expect(thief.errorCode?.code == 508)

        var second = ScriptedClient(at: endpoint("192.0.2.10", 4_001))
        #expect(try second.allocate(&script, [.reservationToken(token)]).map(\.port) == [rtp + 1])
        var third = ScriptedClient(at: endpoint("192.0.2.10", 4_003))
        try third.meetChallenge(&script)
        let again = try third.ask(&script, .allocate, [.requestedTransport(17), .reservationToken(token)])
        #expect(again.errorCode?.code == 508)
    }

    @Test func `a token is good for thirty seconds, and its port goes to nobody else meanwhile`() throws {
        var script = ServerScript { $0.relayPorts = 50_000...50_002 }
        var first = ScriptedClient()
        try first.meetChallenge(&script)
        let answer = try first.ask(&script, .allocate, [.requestedTransport(17), .evenPort(reservesNext: true)])
        let token = try #require(answer.reservationToken)
        #expect(answer.relayedAddresses.map(\.port) == [50_000])
        var second = ScriptedClient(at: endpoint("192.0.2.10", 4_001))
        #expect(try second.allocate(&script).map(\.port) == [50_002])
        var third = ScriptedClient(at: endpoint("192.0.2.10", 4_002))
        try third.meetChallenge(&script)
        #expect(try third.ask(&script, .allocate, [.requestedTransport(17)]).errorCode?.code == 508)
        script.pass(31)
        #expect(try third.allocate(&script).map(\.port) == [50_001])
        var fourth = ScriptedClient(at: endpoint("192.0.2.10", 4_003))
        try fourth.meetChallenge(&script)
        let late = try fourth.ask(&script, .allocate, [.requestedTransport(17), .reservationToken(token)])
        #expect(late.errorCode?.code == 508)
    }

    @Test func `a port that is held for a token is one of its user's places, also without an allocation`() throws {
        var script = ServerScript {
            $0.maximumAllocationsPerUser = 4
            $0.maximumReservations = 5
        }
        func reserve(_ client: inout ScriptedClient, _ script: inout ServerScript) throws -> STUNMessage {
            try client.ask(&script, .allocate, [.requestedTransport(17), .evenPort(reservesNext: true)])
        }
        var tokens: [UInt64] = []
        for number in 0..<3 {
            var client = ScriptedClient(at: endpoint("192.0.2.20", UInt16(number)))
            try client.meetChallenge(&script)
            tokens.append(try #require(try reserve(&client, &script).reservationToken))
            #expect(try client.ask(&script, .refresh, [.lifetime(0)]).kind == .success)
        }
        var fourth = ScriptedClient(at: endpoint("192.0.2.20", 4_000))
        try fourth.meetChallenge(&script)
        #expect(try reserve(&fourth, &script).errorCode?.code == 486)
        #expect(script.machine.reservations.count == 3)
        var bob = ScriptedClient("bob", "word")
        try bob.meetChallenge(&script)
        #expect(try reserve(&bob, &script).kind == .success)
        // Whoever has all places may still use them: the token's place becomes the allocation's.
        try fourth.allocate(&script)
        for (number, token) in tokens.enumerated() {
            var client = ScriptedClient(at: endpoint("192.0.2.20", 5_000 + UInt16(number)))
            try client.allocate(&script, [.reservationToken(token)])
        }
        var last = ScriptedClient(at: endpoint("192.0.2.20", 6_000))
        try last.meetChallenge(&script)
        #expect(try last.ask(&script, .allocate, [.requestedTransport(17)]).errorCode?.code == 486)
        // What is held no longer counts no longer.
        script.pass(601)
        #expect(try reserve(&last, &script).kind == .success)
    }

    @Test func `a port that another program has is passed over`() throws {
        var script = ServerScript { $0.relayPorts = 50_000...50_003 }
        script.occupied = [50_000, 50_001, 50_003]
        var client = ScriptedClient()
        #expect(try client.allocate(&script).map(\.port) == [50_002])
        #expect(script.machine.ports[.ipv4]?.count == 1)
    }

    @Test func `a system without sockets: 508 after some attempts, and no port is lost`() throws {
        var script = ServerScript()
        script.isOutOfSockets = true
        var client = ScriptedClient()
        try client.meetChallenge(&script)
        for attributes in [[], [.additionalAddressFamily(.ipv6)], [.evenPort(reservesNext: true)]] as [[TURNAttribute]]
        {
            let answer = try client.ask(&script, .allocate, [.requestedTransport(17)] + attributes)
            #expect(answer.errorCode?.code == 508)
        }
        #expect((24...40).contains(script.attempts))
        #expect(script.machine.ports.values.allSatisfy { $0.count == 0 } && script.machine.reservations.isEmpty)
        #expect(script.machine.statistics.allocations == 0)
        script.isOutOfSockets = false
        try client.allocate(&script)
    }

    @Test func `ports come in no order that could be guessed`() throws {
        var script = ServerScript { $0.maximumAllocationsPerUser = 100 }
        var ports: [UInt16] = []
        for number in 0..<20 {
            var client = ScriptedClient(at: endpoint("192.0.2.20", UInt16(number)))
            ports += try client.allocate(&script).map(\.port)
        }
        #expect(Set(ports).count == 20)
        #expect(zip(ports, ports.dropFirst()).filter { $1 == $0 + 1 }.count < 5)
    }

    // MARK: Limits

    @Test func `one user has so many allocations: 486; others have theirs`() throws {
        var script = ServerScript { $0.maximumAllocationsPerUser = 3 }
        for number in 0..<3 {
            var client = ScriptedClient(at: endpoint("192.0.2.20", UInt16(number)))
            try client.allocate(&script)
        }
        var fourth = ScriptedClient(at: endpoint("192.0.2.20", 4_000))
        try fourth.meetChallenge(&script)
        #expect(try fourth.ask(&script, .allocate, [.requestedTransport(17)]).errorCode?.code == 486)
        var bob = ScriptedClient("bob", "word")
        try bob.allocate(&script)
        script.pass(601)
        try fourth.allocate(&script)
    }

    @Test func `one address has so many allocations, whatever its users are called: 486; others have theirs`() throws {
        var script = ServerScript(users: [:], secrets: ["north"]) { $0.maximumAllocationsPerAddress = 2 }
        func client(_ number: UInt16, at ip: String) -> ScriptedClient {
            let issued = TimeLimitedCredential(
                name: "guest \(number)", expires: ServerScript.unixTime + 1_000, secret: "north")
            return ScriptedClient(issued.username, issued.password, at: endpoint(ip, number))
        }
        for number in 1...2 as ClosedRange<UInt16> {
            var guest = client(number, at: "192.0.2.20")
            try guest.allocate(&script)
        }
        var third = client(3, at: "192.0.2.20")
        try third.meetChallenge(&script)
        #expect(try third.ask(&script, .allocate, [.requestedTransport(17)]).errorCode?.code == 486)
        var elsewhere = client(4, at: "192.0.2.21")
        try elsewhere.allocate(&script)
    }

    @Test func `an office behind one address is served`() throws {
        let people = Dictionary(uniqueKeysWithValues: (0..<50).map { ("user \($0)", "secret") })
        var script = ServerScript(users: people, hasIPv6: false) { $0.relayPorts = 50_000...50_399 }
        for (number, name) in people.keys.sorted().enumerated() {
            for connection in 0..<4 {
                let port = UInt16(10_000 + number * 4 + connection)
                var client = ScriptedClient(name, "secret", at: endpoint("192.0.2.20", port))
                try client.allocate(&script)
            }
            // So many challenges a second are answered there.
            script.pass(1)
        }
        #expect(script.machine.statistics.allocations == 200)
    }

    @Test func `a user who gets a new credential every hour is still one user`() throws {
        var script = ServerScript(users: [:], secrets: ["north"]) { $0.maximumAllocationsPerUser = 2 }
        var codes: [UInt16?] = []
        for number in 0..<3 {
            let issued = TimeLimitedCredential(
                name: "ann", expires: ServerScript.unixTime + 100 + Int64(number), secret: "north")
            var client = ScriptedClient(
                issued.username, issued.password, at: endpoint("192.0.2.20", UInt16(number)))
            try client.meetChallenge(&script)
            codes.append(try client.ask(&script, .allocate, [.requestedTransport(17)]).errorCode?.code)
        }
        #expect(codes == [nil, nil, 486])
    }

    @Test func `the server has so many allocations, and so many ports: 508`() throws {
        for change in [{ $0.maximumAllocations = 4 }, { $0.relayPorts = 50_000...50_003 }]
            as [(inout TURNServerConfiguration) -> Void]
        {
            var script = ServerScript(hasIPv6: false, change)
            for number in 0..<4 {
                var client = ScriptedClient(at: endpoint("192.0.2.20", UInt16(number)))
                try client.allocate(&script)
            }
            var bob = ScriptedClient("bob", "word")
            try bob.meetChallenge(&script)
            #expect(try bob.ask(&script, .allocate, [.requestedTransport(17)]).errorCode?.code == 508)
        }
    }

    @Test func `the end of a stream ends its allocation`() throws {
        var script = ServerScript()
        var client = ScriptedClient("ann", "secret", .tcp)
        try client.allocate(&script)
        #expect(script.machine.hasAllocation(client.path))
        script.machine.streamClosed(client.path)
        script.perform()
        #expect(script.sockets.isEmpty && !script.machine.hasAllocation(client.path))
        #expect(script.machine.statistics.allocations == 0 && script.machine.ports[.ipv4]?.count == 0)
    }
}
