import Foundation
import RTCEngine
import Testing

@testable import RTCSecurity

/// What the network does to a handshake. OpenSSL's timer reads the real clock, so where a flight is lost these tests
/// take real time: a twentieth of a second each.
struct LossTests {
    @Test func `the first flight is due again after 50 ms`() throws {
        let pair = try DTLSPair()
        pair.start(at: .zero + .milliseconds(1_000))
        let wake = try #require(pair.client.nextWake)
        #expect(wake > .zero + .milliseconds(1_030))
        #expect(wake <= .zero + .milliseconds(1_050))
    }

    @Test func `a handshake that nobody answers is given up after 30 s`() throws {
        let pair = try DTLSPair()
        pair.start()
        let end = Instant.zero + DTLSAssociation.handshakeTimeout
        #expect(pair.server.nextWake == end)
        for side in [DTLSPair.Side.client, .server] {
            pair.port(side).tick(at: end - .milliseconds(1))
            _ = pair.drain(side)
            #expect(pair.closeReason(side) == nil)
            pair.port(side).tick(at: end)
            _ = pair.drain(side)
            #expect(pair.events[side] == [.closed(.timedOut)])
            #expect(pair.port(side).nextWake == nil)
        }
    }

    @Test func `a handshake has its whole time anew on a path that comes late`() throws {
        let pair = try DTLSPair()
        pair.start()
        let found = Instant.zero + DTLSAssociation.handshakeTimeout * 3
        let end = found + DTLSAssociation.handshakeTimeout
        for side in [DTLSPair.Side.client, .server] {
            pair.port(side).pathFound(at: found)
            pair.port(side).tick(at: end - .milliseconds(1))
            _ = pair.drain(side)
            #expect(pair.closeReason(side) == nil)
            pair.port(side).tick(at: end)
            _ = pair.drain(side)
            #expect(pair.closeReason(side) == .timedOut)
            // And nothing brings it back.
            pair.port(side).pathFound(at: end)
            #expect(pair.port(side).nextWake == nil)
        }
    }

    /// Which flight is lost, the first time that it is sent.
    struct Row: Sendable, CustomTestStringConvertible {
        let side: DTLSPair.Side
        let flight: Int
        var testDescription: String { "\(side)'s flight \(flight)" }
    }

    @Test(arguments: [
        Row(side: .client, flight: 0), Row(side: .client, flight: 1), Row(side: .server, flight: 0),
        Row(side: .server, flight: 1),
    ])
    func `a lost flight is sent again`(lost: Row) throws {
        let pair = try DTLSPair()
        var flights: [DTLSPair.Side: Int] = [:]
        pair.wire = { side, datagrams in
            guard !datagrams.isEmpty else { return [] }
            defer { flights[side, default: 0] += 1 }
            return side == lost.side && flights[side, default: 0] == lost.flight ? [] : datagrams
        }
        pair.runInRealTime()
        #expect(pair.isConnected)
        #expect(pair.keys(.client)?.mirrored == pair.keys(.server))
    }

    @Test func `a flight is put together from what arrived of two sendings`() throws {
        let pair = try DTLSPair(mtu: 300)
        var sendings: [DTLSPair.Side: Int] = [:]
        pair.wire = { side, datagrams in
            guard !datagrams.isEmpty else { return [] }
            let sending = sendings[side, default: 0]
            sendings[side] = sending + 1
            // Every other datagram is lost, by turns the even and the odd ones.
            return datagrams.enumerated().filter { $0.offset % 2 != sending % 2 }.map(\.element)
        }
        pair.runInRealTime()
        #expect(pair.isConnected)
    }

    @Test(arguments: [256, 300, 1_200])
    func `no datagram of a handshake is larger than the limit`(mtu: Int) throws {
        let pair = try DTLSPair(mtu: mtu)
        pair.start()
        pair.run()
        #expect(pair.isConnected)
        let sizes = DTLSPair.Side.allCases.flatMap { pair.datagramsSent[$0, default: []].map(\.count) }
        #expect(sizes.allSatisfy { $0 <= mtu })
    }

    @Test func `fragments may arrive in the wrong order`() throws {
        let pair = try DTLSPair(mtu: 256)
        var reversed = 0
        pair.wire = { side, datagrams in
            // The server's certificate flight; the client's ends with records under new keys.
            guard side == .server, reversed == 0, datagrams.count > 2 else { return datagrams }
            reversed = datagrams.count
            return datagrams.reversed()
        }
        pair.start()
        pair.run()
        #expect(reversed > 2)
        #expect(pair.isConnected)
    }

    @Test func `datagrams that arrive twice change nothing`() throws {
        let pair = try DTLSPair()
        pair.wire = { _, datagrams in datagrams.flatMap { [$0, $0] } }
        pair.start()
        pair.run()
        #expect(pair.isConnected)
        pair.send([1, 2, 3], from: .client)
        pair.run()
        #expect(pair.messages(.server) == [[1, 2, 3]])
    }

    /// The client stands still for a while: what the server sent, and sent again meanwhile, comes all at once. Whether
    /// its own timer is looked at first or not, it answers once.
    @Test(arguments: [false, true])
    func `a client that stood still answers once to a flight that came twice`(looksAtTimer: Bool) throws {
        let pair = try DTLSPair()
        pair.start()
        pair.deliver(from: .client)
        let now = Instant.zero + .milliseconds(60)
        let flights = pair.drain(.server) + pair.repeated(by: .server, at: now)
        #expect(flights.count == 2)
        if looksAtTimer {
            pair.client.tick(at: now)
            // The hello: its answer had not been read.
            #expect(pair.drain(.client).count == 1)
        }
        for flight in flights { pair.client.receive(flight.span.bytes, at: now) }
        let answers = pair.drain(.client)
        #expect(answers.count == 1)
        for answer in answers { pair.server.receive(answer.span.bytes, at: now) }
        pair.run(at: now)
        #expect(pair.isConnected)
    }

    @Test func `a server that stood still answers to a hello that came twice`() throws {
        let pair = try DTLSPair()
        pair.start()
        let now = Instant.zero + .milliseconds(60)
        let hellos = pair.drain(.client) + pair.repeated(by: .client, at: now)
        #expect(hellos.count == 2)
        for hello in hellos { pair.server.receive(hello.span.bytes, at: now) }
        pair.run(at: now)
        #expect(pair.isConnected)
    }

    /// Only the server, whose flight is the last one, answers to what comes again (RFC 6347 §4.2.4).
    @Test func `a client that is connected does not answer to the server's last flight`() throws {
        let pair = try DTLSPair()
        pair.start()
        pair.deliver(from: .client)
        pair.deliver(from: .server)
        pair.deliver(from: .client)
        let last = pair.drain(.server)
        #expect(!last.isEmpty)
        // It takes too long: the client sends its flight again, and the server that one.
        let repeated = pair.repeated(by: .client, at: .zero + .milliseconds(60))
        // In one datagram, as the first time: Pion's server stops reading for a second at each.
        #expect(repeated.count == 1)
        for datagram in repeated { pair.server.receive(datagram.span.bytes, at: .zero) }
        let again = pair.drain(.server)
        #expect(!again.isEmpty)
        for datagram in last { pair.client.receive(datagram.span.bytes, at: .zero) }
        #expect(pair.drain(.client).isEmpty)
        #expect(pair.isConnected)
        for datagram in again { pair.client.receive(datagram.span.bytes, at: .zero) }
        #expect(pair.drain(.client).isEmpty)
        pair.send([1, 2, 3], from: .server)
        pair.run()
        #expect(pair.messages(.client) == [[1, 2, 3]])
    }

    @Test func `a path that takes its time is waited for twice as long`() throws {
        let pair = try DTLSPair()
        pair.start()
        pair.deliver(from: .client)
        let now = Instant.zero + .milliseconds(120)
        pair.deliver(from: .server, at: now)
        let wake = try #require(pair.client.nextWake)
        // What has passed since the timer began, in real time, is taken off.
        #expect(wake > now + .milliseconds(120))
        #expect(wake <= now + .milliseconds(240))
    }

    @Test func `garbage in between stops neither the handshake nor what follows`() throws {
        let pair = try DTLSPair()
        var random = EngineRandom.seeded(3)
        pair.wire = { _, datagrams in
            datagrams.flatMap { datagram in
                var noise = random.bytes(60)
                noise[0] = 20 + noise[0] % 44
                var broken = datagram
                broken[broken.count / 2] ^= 0x40
                let epoch = datagram[4]
                // Plaintext can be forged before there are keys; a broken copy of a protected record is only noise.
                return [noise, Array(datagram.prefix(datagram.count - 1)), []] + (epoch > 0 ? [broken] : []) + [
                    datagram
                ]
            }
        }
        pair.start()
        pair.run()
        #expect(pair.isConnected)
        pair.send([1], from: .client)
        pair.send([2], from: .server)
        pair.run()
        #expect(pair.messages(.server) == [[1]])
        #expect(pair.messages(.client) == [[2]])
        #expect(pair.closeReason(.client) == nil)
        #expect(pair.closeReason(.server) == nil)
    }

    @Test func `a forged alert does not close what is connected`() throws {
        let pair = try DTLSPair()
        pair.start()
        pair.run()
        for epoch: UInt8 in 0...2 {
            let alert = bytes("15fefd") + [0, epoch] + bytes("0000000000ff 0002 0228")
            pair.client.receive(alert.span.bytes, at: .zero)
            pair.server.receive(alert.span.bytes, at: .zero)
        }
        pair.run()
        #expect(pair.closeReason(.client) == nil)
        #expect(pair.closeReason(.server) == nil)
    }
}

extension DTLSPair.Side: CaseIterable {
    static let allCases: [DTLSPair.Side] = [.client, .server]
}

extension DTLSPair {
    /// Waits until OpenSSL's first timer has run out, which goes by the system's clock and no other, and takes what
    /// `side` then sends again.
    fileprivate func repeated(by side: Side, at now: Instant) -> [[UInt8]] {
        Thread.sleep(forTimeInterval: 0.06)
        port(side).tick(at: now)
        return drain(side)
    }

    /// Starts, delivers and ticks by the system's clock until both ends are connected, or `limit` has passed.
    fileprivate func runInRealTime(within limit: Duration = .seconds(10)) {
        let clock = ContinuousClock()
        let began = clock.now
        start()
        while !isConnected, clock.now - began < limit {
            let now = Instant.zero + Interval(clock.now - began)
            for side in Side.allCases {
                if let wake = port(side).nextWake, wake <= now { port(side).tick(at: now) }
            }
            run(at: now)
            // Not `Task.sleep`: other tests may keep the pool's threads busy for longer than a handshake may last.
            Thread.sleep(forTimeInterval: 0.002)
        }
    }
}
