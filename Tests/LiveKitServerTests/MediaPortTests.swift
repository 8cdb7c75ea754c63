import Foundation
import Logging
import RTCNetwork
import RTCSecurity
import RTCWire
import Testing

@testable import LiveKitServer

/// The ports of media, with strangers at them.
@Suite(.timeLimit(.minutes(2))) struct MediaPortTests {
    private static let loopback = IPAddress.v4(0x7f00_0001)

    fileprivate static func send(_ datagrams: [[UInt8]], to address: TransportAddress) throws -> Int {
        let socket = try UDPSocket(binding: TransportAddress(loopback, port: 0))
        var batch = SendBatch()
        for datagram in datagrams {
            batch.append(datagram.span.bytes, to: address)
            if batch.isFull { batch.flush(on: socket) }
        }
        batch.flush(on: socket)
        return datagrams.count - batch.dropped
    }

    @Test func `datagrams of strangers are counted by reason, and not answered`() async throws {
        try await TestServer.run { server in
            let socket = try UDPSocket(binding: TransportAddress(Self.loopback, port: 0))
            let port = try #require(server.media.first?.port)
            var random = SystemRandomNumberGenerator()
            let check = STUNMessage(
                .request, transactionID: STUNTransactionID(using: &random),
                attributes: [.username("nobody:me"), .priority(1)])
            var batch = SendBatch()
            for datagram in [check.encoded(key: HMACSHA1(password: "guess")), [22, 254, 253, 0], [0x80, 96, 0, 0]] {
                batch.append(datagram.span.bytes, to: TransportAddress(Self.loopback, port: port))
            }
            batch.flush(on: socket)
            try await until("three datagrams are counted") { server.livekit.statistics.datagramsReceived == 3 }
            let drops = server.livekit.statistics.drops
            #expect(drops == MediaWorkerStatistics.Drops(unknownFragments: 1, unknownAddresses: 2))
            #expect(drops.byReason.map(\.reason) == ["unknown_fragment", "unknown_address"])
            #expect(drops.byReason.map(\.count) == [1, 2])
            #expect(server.livekit.statistics.datagramsSent == 0)
        }
    }

    #if os(Linux)
        @Test func `datagrams that a busy worker does not read in time are counted`() async throws {
            let log = Log()
            try await TestServer.run(logger: Logger(label: "test") { _ in log }) { server in
                let worker = server.livekit.workers[0]
                let port = try #require(server.media.first?.port)
                // Twice as much as may wait at most.
                let count = 2 * UDPSocket.sharedBuffer / 1_000
                let address = TransportAddress(Self.loopback, port: port)
                let sent = try await worker.send(count, of: 1_000, to: address)
                try await until("what the system drops is counted") { worker.load.datagramsOverrun > sent / 4 }
                #expect(log.lines.count == 1)
                #expect(log.lines.allSatisfy { $0.hasPrefix("datagrams were lost because") })
                // No other warning in the minute. What is counted late is counted all the same.
                let more = try await worker.send(count, of: 1_000, to: address)
                try await until("all that was sent is counted") {
                    // The count is read with what comes.
                    _ = try? Self.send([[0x80]], to: address)
                    return worker.load.datagramsOverrun + worker.load.datagramsReceived >= sent + more
                }
                #expect(log.lines.count == 1)
            }
        }
    #endif

    @Test func `who is there is told at once, and datagrams a little later, together`() async throws {
        try await TestServer.run { server in
            try await server.livekit.openRoom("kitchen", emptyTimeout: 60, departureTimeout: 20)
            let worker = server.livekit.workers[0]
            let seen = await worker.seen { statistics in
                statistics.datagramsReceived += 1
                statistics.drops[.unknownAddress] += 1
            }
            #expect(seen.rooms == 1 && seen.datagramsReceived == 0)
            try await until("a datagram is counted") { worker.load.datagramsReceived == 1 }
            #expect(worker.load.drops[.unknownAddress] == 1)
            // With who comes, whatever has come till then.
            let next = await worker.seen { statistics in
                statistics.datagramsReceived += 1
                statistics.joins += 1
            }
            #expect(next.datagramsReceived == 2 && next.joins == 1)
            // And at the end all of it.
            _ = await worker.seen { $0.datagramsReceived += 1 }
            await worker.stop()
            #expect(worker.load.datagramsReceived == 3 && worker.load.rooms == 0)
        }
    }

    @Test(arguments: [[0, 3, 22, 254, 253], [0x47, 0x45, 0x54, 0x20]] as [[UInt8]])
    func `whoever begins a TCP connection with anything but a check is sent away`(bytes: [UInt8]) async throws {
        try await TestServer.run { server in
            let port = try #require(server.media.first?.tcpPort)
            let socket = try await RawSocket(port: Int(port))
            // A length, and what it announces.
            socket.send(bytes + [UInt8](repeating: 1, count: 70_000))
            #expect(await socket.readToEnd().isEmpty)
            try await until("there are 0 connections") { server.livekit.statistics.tcpConnections == 0 }
        }
    }

    @Test func `whoever connects and says nothing is sent away after a while`() async throws {
        try await TestServer.run({ $0.media.patience = .milliseconds(100) }) { server in
            let port = try #require(server.media.first?.tcpPort)
            let socket = try await RawSocket(port: Int(port))
            #expect(await socket.readToEnd().isEmpty)
        }
    }

    @Test func `one address has so many TCP connections without a credential and no more`() async throws {
        try await TestServer.run({ $0.media.maximumStrangersPerAddress = 2 }) { server in
            let port = try #require(server.media.first?.tcpPort)
            let sockets = [try await RawSocket(port: Int(port)), try await RawSocket(port: Int(port))]
            try await until("there are 2 connections") { server.livekit.statistics.tcpConnections == 2 }
            let third = try await RawSocket(port: Int(port))
            #expect(await third.readToEnd().isEmpty)
            #expect(server.livekit.statistics.tcpConnections == 2)
            try await until("a connection is refused") { server.livekit.statistics.tcpConnectionsRefused == 1 }
            for socket in sockets { socket.close() }
            try await until("there are 0 connections") { server.livekit.statistics.tcpConnections == 0 }
        }
    }

    @Test func `who has shown a credential takes no stranger's place, and leaves none`() async throws {
        try await TestServer.run({ $0.media.maximumStrangersPerAddress = 1 }) { server in
            let port = Int(try #require(server.media.first?.tcpPort))
            let check = try await Self.check(of: server)
            var members: [RawSocket] = []
            for number in 1...3 {
                let member = try await RawSocket(port: port)
                member.send(try #require(StreamFraming.frame(check)))
                var answers = member.chunks.makeAsyncIterator()
                // RFC 4571 §2: two bytes of length, and a success behind them.
                let answer = await answers.next() ?? []
                #expect(STUNMessage.isBindingSuccess(Array(answer.dropFirst(2))))
                members.append(member)
                try await until("there are \(number) connections") {
                    server.livekit.statistics.tcpConnections == number
                }
            }
            let stranger = try await RawSocket(port: port)
            try await until("there are 4 connections") { server.livekit.statistics.tcpConnections == 4 }
            // One who has gone had no place among the strangers to give back.
            members.removeLast().close()
            try await until("there are 3 connections") { server.livekit.statistics.tcpConnections == 3 }
            let refused = try await RawSocket(port: port)
            #expect(await refused.readToEnd().isEmpty)
            stranger.close()
            try await until("there are 2 connections") { server.livekit.statistics.tcpConnections == 2 }
            let next = try await RawSocket(port: port)
            try await until("there are 3 connections") { server.livekit.statistics.tcpConnections == 3 }
            for socket in members + [next] { socket.close() }
        }
    }

    @Test func `of one peer the connection that was used least lately makes room`() async throws {
        try await TestServer.run({ $0.media.maximumTCPConnectionsOfPeer = 2 }) { server in
            let port = Int(try #require(server.media.first?.tcpPort))
            let check = try #require(StreamFraming.frame(try await Self.check(of: server)))
            var sockets: [RawSocket] = []
            func answered(_ socket: RawSocket) async throws { try await Self.answered(socket, check) }
            for _ in 0..<2 {
                sockets.append(try await RawSocket(port: port))
                try await answered(sockets[sockets.count - 1])
            }
            try await answered(sockets[0])
            let third = try await RawSocket(port: port)
            try await answered(third)
            // Closed: it would be waited for in vain.
            _ = await sockets[1].readToEnd()
            try await answered(sockets[0])
            try await until("there are 2 connections") { server.livekit.statistics.tcpConnections == 2 }
            for socket in [sockets[0], third] { socket.close() }
        }
    }

    @Test func `connections that only name a peer take no place of those over which it was found`() async throws {
        try await TestServer.run({ $0.media.maximumTCPConnectionsOfPeer = 2 }) { server in
            let port = Int(try #require(server.media.first?.tcpPort))
            let signed = try await Self.check(of: server)
            let check = try #require(StreamFraming.frame(signed))
            let members = [try await RawSocket(port: port), try await RawSocket(port: port)]
            for member in members { try await Self.answered(member, check) }
            // The same with another signature: it names whom it is for, and proves nothing.
            var forged = signed
            forged[forged.count - 20] ^= 1
            let nameless = try #require(StreamFraming.frame(forged))
            var strangers: [RawSocket] = []
            for number in 0..<5 {
                strangers.append(try await RawSocket(port: port))
                strangers[number].send(nameless)
                try await until("there are as many connections as may be") {
                    server.livekit.statistics.tcpConnections == 2 + min(number + 1, 2)
                }
                // The oldest of them makes room.
                if number >= 2 { _ = await strangers[number - 2].readToEnd() }
            }
            for member in members { try await Self.answered(member, check) }
            for socket in members + strangers { socket.close() }
        }
    }

    @Test func `a connection that goes over to another peer takes no place of those over which that one was found`()
        async throws
    {
        try await TestServer.run({ $0.media.maximumTCPConnectionsOfPeer = 2 }) { server in
            let port = Int(try #require(server.media.first?.tcpPort))
            let signed = try await Self.check(of: server)
            let check = try #require(StreamFraming.frame(signed))
            let members = [try await RawSocket(port: port), try await RawSocket(port: port)]
            for member in members { try await Self.answered(member, check) }
            // Somebody with a session of their own, who names another one's over what was found for theirs.
            let own = try #require(StreamFraming.frame(try await Self.check(of: server, identity: "eve")))
            var forged = signed
            forged[forged.count - 20] ^= 1
            let nameless = try #require(StreamFraming.frame(forged))
            var others: [RawSocket] = []
            for number in 0..<5 {
                others.append(try await RawSocket(port: port))
                try await Self.answered(others[number], own)
                others[number].send(nameless)
                // The oldest of those that went over makes room.
                if number >= 2 { _ = await others[number - 2].readToEnd() }
                try await until("there are as many connections as may be") {
                    server.livekit.statistics.tcpConnections == 2 + min(number + 1, 2)
                }
            }
            for member in members { try await Self.answered(member, check) }
            for socket in members + others { socket.close() }
        }
    }

    /// Sends it, and reads until it is answered; the server may check back besides.
    private static func answered(_ socket: RawSocket, _ check: [UInt8]) async throws {
        socket.send(check)
        var framing = StreamFraming()
        for await chunk in socket.chunks {
            framing.append(chunk)
            while let datagram = framing.next() { if STUNMessage.isBindingSuccess(datagram) { return } }
        }
        throw TestServer.Unusable()
    }

    /// A check (RFC 8445 §7.2) of somebody who publishes by WHIP.
    private static func check(of server: TestServer, identity: String = "obs") async throws -> [UInt8] {
        let answer = try await WHIPTests.post(server, identity: identity).body
        func value(_ name: String) throws -> String {
            let line = answer.split(separator: "\r\n").first { $0.hasPrefix("a=\(name):") }
            return String(try #require(line).dropFirst(name.count + 3))
        }
        let (fragment, password) = (try value("ice-ufrag"), try value("ice-pwd"))
        var random = SystemRandomNumberGenerator()
        let check = STUNMessage(
            .request, transactionID: STUNTransactionID(using: &random),
            attributes: [
                .username("\(fragment):\(WHIPTests.fragment)"), .priority(1), .iceControlling(tieBreaker: 1),
            ])
        return check.encoded(key: HMACSHA1(password: password))
    }

    @Test func `a port that is taken is named, and after the end it is free`() async throws {
        var taken: MediaWorker.Ports?
        try await TestServer.run { server in
            let ports = try #require(server.media.first)
            taken = ports
            await #expect(throws: MediaWorkerError.self) {
                try await TestServer.run({ $0.media.port = ports.port }) { _ in }
            }
            do {
                try await TestServer.run({ $0.media.tcpPort = ports.tcpPort }) { _ in }
                Issue.record("the port is taken")
            } catch let error as MediaWorkerError {
                #expect(error.description.contains("TCP on 127.0.0.1:\(ports.tcpPort ?? 0)"))
            }
        }
        let ports = try #require(taken)
        try await TestServer.run({
            $0.media.port = ports.port
            $0.media.tcpPort = ports.tcpPort
        }) { server in
            #expect(server.media == [ports])
        }
    }

    @Test func `each worker has ports of its own, and a room is on one of them`() async throws {
        try await TestServer.run({ $0.workers = 3 }) { server in
            #expect(Set(server.media.map(\.port)).count == 3)
            let token = try TestServer.token()
            let first = try await server.openWebSocket("/rtc?protocol=16&access_token=\(token)")
            _ = try await first.next()
            let other = try TestServer.token(identity: "bob")
            let second = try await server.openWebSocket("/rtc?protocol=16&access_token=\(other)")
            _ = try await second.next()
            #expect(server.livekit.workers.map(\.load.rooms).sorted() == [0, 0, 1])
            // The next room begins where there are fewer people.
            let third = try TestServer.token(identity: "eve", room: "cellar")
            let another = try await server.openWebSocket("/rtc?protocol=16&access_token=\(third)")
            _ = try await another.next()
            #expect(server.livekit.workers.map(\.load.rooms).sorted() == [0, 1, 1])
        }
    }

    @Test func `a room is where it began until it ends`() {
        let directory = RoomDirectory()
        func loads(_ peers: Int...) -> [RoomDirectory.Load] { peers.map { RoomDirectory.Load(peers: $0) } }
        #expect(directory.place("kitchen", loads: loads(3, 1, 2)) == 1)
        #expect(directory.claim("kitchen", for: 1))
        #expect(!directory.claim("kitchen", for: 0))
        #expect(directory.place("kitchen", loads: loads(0, 9, 0)) == 1)
        directory.release("kitchen", by: 0)
        #expect(directory["kitchen"] == 1)
        directory.release("kitchen", by: 1)
        #expect(directory["kitchen"] == nil)
    }

    @Test func `rooms that are made before people come are on all workers`() async throws {
        try await TestServer.run({ $0.workers = 3 }) { server in
            for number in 1...6 {
                try await server.livekit.openRoom("room \(number)", emptyTimeout: 60, departureTimeout: 20)
            }
            #expect(server.livekit.loads.map(\.rooms) == [2, 2, 2])
            // Where one has ended, the next one begins.
            let place = try #require(server.livekit.worker(ofRoom: "room 2"))
            await server.livekit.endRoom("room 2")
            try await server.livekit.openRoom("room 7", emptyTimeout: 60, departureTimeout: 20)
            #expect(server.livekit.worker(ofRoom: "room 7") === place)
        }
        let directory = RoomDirectory()
        #expect(directory.claim("kitchen", for: 0))
        func place(_ peers: Int...) -> Int {
            directory.place("cellar", loads: peers.map { RoomDirectory.Load(peers: $0) })
        }
        // Peers come first.
        #expect(place(0, 0) == 1 && place(1, 2) == 0)
        directory.release("kitchen", by: 0)
        #expect(place(0, 0) == 0)
    }
}

extension MediaWorker {
    /// What others see in the moment after something has happened.
    fileprivate func seen(after change: @Sendable (inout MediaWorkerStatistics) -> Void) -> MediaWorkerStatistics {
        change(&statistics)
        publish()
        return load
    }

    /// Sends datagrams on the worker's own thread, which reads none meanwhile; how many the system took.
    fileprivate func send(_ count: Int, of size: Int, to address: TransportAddress) throws -> Int {
        try MediaPortTests.send([[UInt8]](repeating: [UInt8](repeating: 0x80, count: size), count: count), to: address)
    }
}
