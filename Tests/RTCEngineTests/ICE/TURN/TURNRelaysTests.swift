import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Several servers, streams, redirections and renewals.
@Suite struct TURNRelaysTests {
    private static let base = endpoint("203.0.113.7", 4_000)

    private static func server(_ transport: TURNServer.Transport = .udp, host: UInt32 = 1) -> TURNServer {
        TURNServer(
            address: TransportAddress(.v4(0xc633_6400 + host), port: 3_478), transport: transport, host: "turn",
            username: "user", password: "secret", url: "turn:\(host)")
    }

    /// What has come out, sorted by kind.
    private struct News {
        var datagrams: [(message: STUNMessage, from: TransportAddress, to: TransportAddress)] = []
        var onStreams: [(message: STUNMessage, stream: RelayStreamID)] = []
        var commands: [RelayCommand] = []
        var relayed: [ICERelay] = []
        var lost: [TransportAddress] = []
        var failures: [ICEServerError] = []
    }

    private func news(_ relays: inout TURNRelays) -> News {
        var news = News()
        while let output = relays.pollOutput() {
            switch output {
            case .send(let bytes, let from, let to):
                if let message = try? STUNMessage(parsing: bytes.span.bytes) {
                    news.datagrams.append((message, from, to))
                }
            case .sendOnStream(let bytes, let stream):
                if let message = try? STUNMessage(parsing: bytes.span.bytes) {
                    news.onStreams.append((message, stream))
                }
            case .command(let command): news.commands.append(command)
            case .relayed(let relay): news.relayed.append(relay)
            case .lost(let address): news.lost.append(address)
            case .failed(let error): news.failures.append(error)
            }
        }
        return news
    }

    private func answer(
        _ relays: inout TURNRelays, _ request: STUNMessage, _ kind: STUNClass, _ attributes: [STUNAttribute],
        from server: TransportAddress, to base: TransportAddress = base, at now: Instant = .zero
    ) {
        var bytes = STUNMessage(
            kind, request.method, transactionID: request.transactionID, attributes: attributes
        ).encoded(signedWith: nil, fingerprint: false)
        guard let index = relays.index(ofDatagram: bytes, from: server, to: base) else {
            Issue.record("not recognised as an answer")
            return
        }
        _ = relays.receive(&bytes, by: index, at: now)
    }

    /// One server gives one allocation to one socket.
    private func allocate(on relays: inout TURNRelays, ticket: [UInt8]? = nil) throws {
        relays.add(base: Self.base, at: .zero)
        relays.setServers([Self.server()], at: .zero)
        let asked = try #require(news(&relays).datagrams.first)
        let granted: [STUNAttribute] = [.turn(.xorRelayedAddress(TURNScript.relayed)), .turn(.lifetime(600))]
        answer(
            &relays, asked.message, .success, granted + (ticket.map { [.turn(.mobilityTicket($0))] } ?? []),
            from: asked.to)
        _ = news(&relays)
    }

    private func makeRelays(_ change: (inout TURNConfiguration) -> Void = { _ in }) -> TURNRelays {
        var configuration = TURNConfiguration()
        change(&configuration)
        return TURNRelays(configuration, random: .seeded(3))
    }

    @Test func `each server is asked from each socket that can reach it`() {
        var relays = makeRelays()
        relays.add(base: Self.base, at: .zero)
        relays.add(base: endpoint("203.0.113.8", 5_000), at: .zero)
        relays.add(base: endpoint("2001:db8::7", 5_000), at: .zero)
        relays.setServers([Self.server(), Self.server(host: 2)], at: .zero)
        let asked = news(&relays).datagrams
        #expect(asked.count == 4)
        #expect(asked.allSatisfy { !$0.from.ip.isIPv6 })
        #expect(relays.isGathering)
    }

    @Test func `no more allocations than the limit, whatever is configured`() {
        var relays = makeRelays()
        relays.add(base: Self.base, at: .zero)
        relays.setServers(
            (1...50).map { Self.server(host: $0) } + (1...50).map { Self.server(.tcp, host: $0) }, at: .zero)
        let news = news(&relays)
        #expect(news.datagrams.count + news.commands.count == 8)
    }

    @Test func `who goes from network to network has a relay in each`() throws {
        var relays = makeRelays()
        relays.setServers([Self.server()], at: .zero)
        for number in 0..<30 as Range<UInt16> {
            let base = endpoint("203.0.113.7", 4_000 + number)
            relays.basesChanged(lost: [], found: [base], at: .zero)
            let asked = try #require(news(&relays).datagrams.first)
            let granted: [STUNAttribute] = [.turn(.xorRelayedAddress(TURNScript.relayed)), .turn(.lifetime(600))]
            answer(&relays, asked.message, .success, granted, from: asked.to, to: base)
            #expect(news(&relays).relayed.count == 1)
            relays.basesChanged(lost: [base], found: [], at: .zero)
            #expect(news(&relays).lost == [TURNScript.relayed])
        }
    }

    @Test func `two servers that name each other come to an end`() throws {
        var relays = makeRelays()
        relays.add(base: Self.base, at: .zero)
        relays.setServers([Self.server()], at: .zero)
        var asked = try #require(news(&relays).datagrams.first)
        let (one, two) = (Self.server().address, Self.server(host: 2).address)
        #expect(asked.to == one)
        answer(&relays, asked.message, .error, [.errorCode(.tryAlternate), .alternateServer(two)], from: one)
        asked = try #require(news(&relays).datagrams.first)
        #expect(asked.to == two)
        answer(&relays, asked.message, .error, [.errorCode(.tryAlternate), .alternateServer(one)], from: two)
        let end = news(&relays)
        #expect(end.datagrams.isEmpty)
        #expect(end.failures.map(\.errorCode) == [701])
        #expect(!relays.isGathering)
        #expect(relays.nextWake == nil)
    }

    @Test func `a chain of servers is followed only so far`() throws {
        var relays = makeRelays()
        relays.add(base: Self.base, at: .zero)
        relays.setServers([Self.server()], at: .zero)
        var followed = 0
        while let asked = news(&relays).datagrams.first {
            followed += 1
            let next = Self.server(host: UInt32(followed) + 1).address
            answer(&relays, asked.message, .error, [.errorCode(.tryAlternate), .alternateServer(next)], from: asked.to)
        }
        #expect(followed == 5)
    }

    @Test func `a stream is opened, used and closed`() throws {
        var relays = makeRelays()
        relays.setServers([Self.server(.tls)], at: .zero)
        let command = try #require(news(&relays).commands.first)
        guard case .open(let stream, let server) = command else {
            Issue.record("\(command)")
            return
        }
        #expect(server.transport == .tls)
        relays.opened(stream, at: .zero)
        let asked = try #require(news(&relays).onStreams.first)
        #expect(asked.stream == stream && asked.message.method == .allocate)
        relays.close(at: .zero)
        #expect(news(&relays).commands == [.close(stream)])
    }

    @Test func `a connection that is not made in time is told and nothing else is held up`() throws {
        var relays = makeRelays()
        relays.setServers([Self.server(.tcp)], at: .zero)
        guard case .open(let stream, _) = try #require(news(&relays).commands.first) else { return }
        let wake = try #require(relays.nextWake)
        #expect(wake == .zero + .seconds(Int64(10)))
        relays.tick(at: wake)
        let end = news(&relays)
        #expect(end.commands == [.close(stream)])
        #expect(end.failures.map(\.errorCode) == [701])
        #expect(!relays.isGathering)
        // It comes up all the same: too late.
        relays.opened(stream, at: wake)
        #expect(news(&relays).onStreams.isEmpty)
    }

    @Test func `a Binding answer of the same server is not ours`() {
        var relays = makeRelays()
        relays.add(base: Self.base, at: .zero)
        relays.setServers([Self.server()], at: .zero)
        for kind in [STUNClass.request, .indication, .success, .error] {
            let binding = STUNMessage(kind, transactionID: .init(high: 1, low: 1)).encoded()
            #expect(relays.index(ofDatagram: binding, from: Self.server().address, to: Self.base) == nil)
            let allocate = STUNMessage(kind, .allocate, transactionID: .init(high: 1, low: 1)).encoded()
            #expect(relays.index(ofDatagram: allocate, from: Self.server().address, to: Self.base) == 0)
            #expect(relays.index(ofDatagram: allocate, from: Self.base, to: Self.base) == nil)
        }
    }

    @Test func `a lost allocation is told and asked for anew, a few times`() throws {
        var relays = makeRelays()
        relays.add(base: Self.base, at: .zero)
        relays.setServers([Self.server()], at: .zero)
        var now = Instant.zero
        var lost = 0
        var told = 0
        while let asked = news(&relays).datagrams.last, asked.message.method == .allocate, lost < 20 {
            answer(
                &relays, asked.message, .success,
                [.turn(.xorRelayedAddress(TURNScript.relayed)), .turn(.lifetime(600))], from: asked.to, at: now)
            told += news(&relays).relayed.count
            now += .seconds(Int64(540))
            relays.tick(at: now)
            let refresh = try #require(news(&relays).datagrams.first)
            #expect(refresh.message.method == .refresh)
            // As in `news`, but the order matters here: lost first, then asked anew.
            var bytes = STUNMessage(
                .error, .refresh, transactionID: refresh.message.transactionID,
                attributes: [.errorCode(.allocationMismatch)]
            ).encoded(signedWith: nil, fingerprint: false)
            _ = relays.receive(&bytes, by: 0, at: now)
            lost += 1
        }
        #expect(told == 5 && lost == 5)
        // A restart asks again.
        relays.renew(keeping: nil, at: now)
        #expect(news(&relays).datagrams.last?.message.method == .allocate)
    }

    @Test func `other credentials are shown when an allocation has to be made anew, and not before`() throws {
        var relays = makeRelays()
        try allocate(on: &relays)
        var renewed = Self.server()
        renewed.username = "later"
        relays.setServers([renewed], areAsked: false, at: .zero)
        relays.renew(keeping: nil, at: .zero)
        #expect(news(&relays).datagrams.isEmpty, "what there is stays")
        #expect(!relays.isGathering)

        let end = Instant.zero + .seconds(Int64(540))
        relays.tick(at: end)
        let refresh = try #require(news(&relays).datagrams.first)
        answer(&relays, refresh.message, .error, [.errorCode(.allocationMismatch)], from: refresh.to, at: end)
        let told = news(&relays)
        #expect(told.lost == [TURNScript.relayed])
        let anew = try #require(told.datagrams.first)
        #expect(anew.message.method == .allocate)
        answer(
            &relays, anew.message, .error,
            [.errorCode(.unauthenticated), .realm("roost"), .nonce(TURNScript.nonce)], from: anew.to, at: end)
        #expect(news(&relays).datagrams.map(\.message.username) == ["later"])
    }

    @Test func `a new server is asked by the next restart, and one that is left out is not asked again`() throws {
        var relays = makeRelays()
        try allocate(on: &relays)
        let (second, third) = (Self.server(host: 2), Self.server(.tcp, host: 3))
        relays.setServers([second, third], areAsked: false, at: .zero)
        let meanwhile = news(&relays)
        #expect(meanwhile.datagrams.isEmpty && meanwhile.commands.isEmpty && meanwhile.lost.isEmpty)

        relays.renew(keeping: TURNScript.relayed, at: .zero)
        let asked = news(&relays)
        #expect(asked.datagrams.map(\.to) == [second.address])
        #expect(asked.commands.count == 1 && asked.lost.isEmpty)
        #expect(relays.isGathering)
        relays.renew(keeping: TURNScript.relayed, at: .zero)
        #expect(news(&relays).datagrams.isEmpty, "once")

        // The first one's address was in use till now. It is given back, and nobody looks there again.
        relays.renew(keeping: nil, at: .zero)
        let end = news(&relays)
        #expect(end.lost == [TURNScript.relayed])
        #expect(end.datagrams.map(\.message.method) == [.refresh] && end.datagrams.first?.message.lifetime == 0)
        relays.renew(keeping: nil, at: .zero)
        relays.basesChanged(lost: [], found: [endpoint("203.0.113.9", 4_002)], at: .zero)
        #expect(news(&relays).datagrams.map(\.to) == [second.address])
    }

    @Test func `a credential that comes while an allocation is asked for is tried when the one before is refused`()
        throws
    {
        var relays = makeRelays()
        relays.add(base: Self.base, at: .zero)
        relays.setServers([Self.server()], at: .zero)
        func refuse() throws -> STUNMessage {
            let asked = try #require(news(&relays).datagrams.last)
            answer(
                &relays, asked.message, .error,
                [.errorCode(.unauthenticated), .realm("roost"), .nonce(TURNScript.nonce)], from: asked.to)
            return asked.message
        }
        #expect(try refuse().username == nil)
        var renewed = Self.server()
        renewed.password = "another"
        renewed.username = "later"
        relays.setServers([renewed], at: .zero)
        #expect(try refuse().username == "user")
        #expect(relays.isGathering)
        #expect(try refuse().username == nil)
        #expect(try refuse().username == "later")
        let end = news(&relays)
        #expect(end.failures.map(\.errorCode) == [401])
        #expect(!relays.isGathering)
    }

    @Test func `a restart begins with the server that was named, wherever it referred to`() throws {
        var relays = makeRelays()
        relays.add(base: Self.base, at: .zero)
        relays.setServers([Self.server()], at: .zero)
        let other = Self.server(host: 2).address
        let asked = try #require(news(&relays).datagrams.first)
        answer(&relays, asked.message, .error, [.errorCode(.tryAlternate), .alternateServer(other)], from: asked.to)
        let referred = try #require(news(&relays).datagrams.first)
        #expect(referred.to == other)
        answer(&relays, referred.message, .error, [.errorCode(.insufficientCapacity)], from: other)
        #expect(news(&relays).failures.map(\.errorCode) == [508])
        relays.renew(keeping: nil, at: .zero)
        #expect(news(&relays).datagrams.map(\.to) == [Self.server().address])
    }

    @Test func `under TLS another name is another server, at the same address`() throws {
        var relays = makeRelays()
        var renamed = Self.server(.tls)
        renamed.host = "turn.example"
        relays.setServers([Self.server(.tls), renamed], at: .zero)
        #expect(news(&relays).commands.count == 2)
        relays.setServers([renamed], areAsked: false, at: .zero)
        relays.renew(keeping: nil, at: .zero)
        #expect(news(&relays).commands.count == 1, "one is closed")
    }

    @Test func `a socket that is gone: its allocation moves with a ticket`() throws {
        var relays = makeRelays { $0.mobility = true }
        let other = endpoint("203.0.113.99", 4_001)
        try allocate(on: &relays, ticket: [4])
        // It can come there when it has to: nothing else is asked for.
        relays.basesChanged(lost: [], found: [other], at: .zero)
        #expect(news(&relays).datagrams.isEmpty)
        #expect(relays.path(of: TURNScript.relayed) == .datagrams(base: Self.base))
        relays.basesChanged(lost: [Self.base], found: [], at: .zero)
        #expect(relays.path(of: TURNScript.relayed) == .datagrams(base: other))
        #expect(relays.path(of: other) == nil)
        let sent = news(&relays).datagrams
        #expect(sent.map { $0.from } == [other] && sent.map { $0.message.method } == [.refresh])
        #expect(sent.first?.message.mobilityTicket == [4])
    }

    @Test func `the only socket is gone: its allocation waits with a ticket for the next one`() throws {
        var relays = makeRelays { $0.mobility = true }
        let other = endpoint("203.0.113.99", 4_001)
        try allocate(on: &relays, ticket: [4])
        relays.basesChanged(lost: [Self.base], found: [], at: .zero)
        let meanwhile = news(&relays)
        #expect(meanwhile.datagrams.isEmpty && meanwhile.lost == [])
        relays.basesChanged(lost: [], found: [other], at: .zero + .seconds(Int64(2)))
        let sent = news(&relays).datagrams
        #expect(sent.map { $0.from } == [other] && sent.map { $0.message.method } == [.refresh])
        #expect(sent.first?.message.mobilityTicket == [4])
    }

    @Test func `a socket that is gone while another comes: without a ticket it is asked for anew there, once`() throws {
        var relays = makeRelays()
        let other = endpoint("203.0.113.99", 4_001)
        try allocate(on: &relays)
        relays.basesChanged(lost: [Self.base], found: [other], at: .zero)
        let told = news(&relays)
        #expect(told.lost == [TURNScript.relayed])
        #expect(told.datagrams.map { $0.from } == [other] && told.datagrams.map { $0.message.method } == [.allocate])
    }

    @Test(arguments: [false, true])
    func `a socket that is gone leaves the allocation of another one alone`(mobility: Bool) throws {
        var relays = makeRelays { $0.mobility = mobility }
        let other = endpoint("203.0.113.99", 4_001)
        let relayed = [TURNScript.relayed, endpoint("198.51.100.1", 50_001)]
        relays.add(base: Self.base, at: .zero)
        relays.add(base: other, at: .zero)
        relays.setServers([Self.server()], at: .zero)
        let asked = news(&relays).datagrams
        #expect(asked.map { $0.from } == [Self.base, other])
        for (request, address) in zip(asked, relayed) {
            let ticket: [STUNAttribute] = mobility ? [.turn(.mobilityTicket([4]))] : []
            answer(
                &relays, request.message, .success,
                [.turn(.xorRelayedAddress(address)), .turn(.lifetime(600))] + ticket, from: request.to,
                to: request.from)
        }
        #expect(news(&relays).relayed.map(\.relayed) == relayed)
        relays.basesChanged(lost: [Self.base], found: [], at: .zero)
        let told = news(&relays)
        #expect(told.datagrams.isEmpty && told.lost == [relayed[0]])
        #expect(relays.index(of: relayed[0]) == nil && relays.index(of: relayed[1]) != nil)
        // Neither does a restart ask from there, nor from the socket that is gone.
        relays.renew(keeping: nil, at: .zero)
        #expect(news(&relays).datagrams.isEmpty && !relays.isGathering)
        // A socket that comes is one for it.
        let third = endpoint("203.0.113.100", 4_002)
        relays.basesChanged(lost: [], found: [third], at: .zero)
        relays.renew(keeping: nil, at: .zero)
        #expect(news(&relays).datagrams.map { $0.from } == [third])
    }

    @Test func `a stream that breaks: the allocation moves to another with a ticket`() throws {
        var relays = makeRelays { $0.mobility = true }
        relays.setServers([Self.server(.tcp)], at: .zero)
        guard case .open(let first, _) = try #require(news(&relays).commands.first) else { return }
        relays.opened(first, at: .zero)
        let asked = try #require(news(&relays).onStreams.first)
        let granted: [STUNAttribute] = [
            .turn(.xorRelayedAddress(TURNScript.relayed)), .turn(.lifetime(600)), .turn(.mobilityTicket([4])),
        ]
        var bytes = STUNMessage(
            .success, .allocate, transactionID: asked.message.transactionID, attributes: granted
        ).encoded(signedWith: nil, fingerprint: false)
        _ = relays.receive(&bytes, by: try #require(relays.index(of: first)), at: .zero)
        #expect(news(&relays).relayed.map(\.relayed) == [TURNScript.relayed])
        relays.closed(first, because: "reset", at: .zero)
        guard case .open(let second, _) = try #require(news(&relays).commands.last) else { return }
        #expect(second != first)
        relays.opened(second, at: .zero)
        let moved = try #require(news(&relays).onStreams.first)
        #expect(moved.stream == second && moved.message.mobilityTicket == [4])
    }
}
