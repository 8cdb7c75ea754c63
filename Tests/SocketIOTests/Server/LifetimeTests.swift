import Foundation
import NIOCore
import Testing

@testable import SocketIO

/// Nothing of a connection stays behind, however it came and went.
@Suite(.serialized) struct LifetimeTests {
    /// What a client may do to a server, on purpose or by misfortune.
    enum Behaviour: CaseIterable {
        case opensAndNeverPolls, joinsAndNeverPolls, pollsAndBreaksOff, opensAWebSocketAndResets
        case joinsARoomAndCloses, joinsARoomAndBreaksOff, leavesANamespaceAndBreaksOff
        case upgradesWithoutAProbe, probesAndBreaksOff, upgradesAndBreaksOff, upgradesTwice
        case connectsOnly, sendsHalfARequest, asksForAWebSocketAndResets, sendsHalfAFrame, floods
    }

    private static func hasty(_ configuration: inout SocketIOServerConfiguration) {
        configuration.session = .init(
            pingInterval: .seconds(2), pingTimeout: .seconds(2), upgradeTimeout: .seconds(2))
        configuration.connectTimeout = .seconds(3)
        configuration.requestTimeout = .seconds(5)
        configuration.flood = .init(messagesPerSecond: 1, messageBurst: 20)
    }

    /// What the server holds, without holding it.
    private struct Held {
        weak var session: ServerConnection?
        weak var channel: (any Channel)?
    }

    @Test func `after 2,000 connections of every kind there is no session, no timer, no room, no channel`() async throws
    {
        try await TestServer.run(Self.hasty) { server in
            var held: [Held] = []
            for round in 0..<50 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<40 {
                        let behaviour = Behaviour.allCases[(round * 40 + number) % Behaviour.allCases.count]
                        group.addTask {
                            do {
                                try await behave(behaviour, to: server)
                            } catch is RawSocket.Missing {
                                // On a busy machine one of the server's short deadlines has passed: an end like any
                                // other.
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                // A pending timer holds its session or its channel.
                held += server.server.openSessions.map { Held(session: $0) }
                held += server.server.openChannels.map { Held(channel: $0) }
            }
            let deadline = ContinuousClock.now + .seconds(60)
            while held.contains(where: { $0.session != nil || $0.channel != nil }), ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(held.count { $0.session != nil } == 0)
            #expect(held.count { $0.channel != nil } == 0)
            #expect(server.server.openSessions.isEmpty && server.server.openChannels.isEmpty)
            #expect(server.server.namespace("/").roomCount == 0)
            let statistics = server.server.statistics
            #expect(statistics.connectionsOpened > 1_500)
            #expect((statistics.connections, statistics.webSockets, statistics.sockets) == (0, 0, 0))
        }
    }

    private func behave(_ behaviour: Behaviour, to server: TestServer) async throws {
        let port = server.port
        func webSocket() async throws -> RawSocket {
            let socket = try await RawSocket.webSocket(port: port)
            socket.sendFrame("40")
            socket.sendFrame("420[\"join\",\"r\(Int.random(in: 0..<50))\"]")
            _ = await socket.read(until: "430")
            return socket
        }
        func poll(_ sid: String, _ body: String? = nil) async throws -> RawSocket {
            let socket = try await RawSocket(port: port)
            let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
            socket.send(
                "\(body == nil ? "GET" : "POST") /socket.io/?EIO=4&transport=polling&sid=\(sid) HTTP/1.1\r\n"
                    + "Host: a\r\n\(length)\r\n\(body ?? "")")
            return socket
        }
        func session() async throws -> String {
            let opened = try await RawSocket.get("/socket.io/?EIO=4&transport=polling", port: port)
            guard let sid = opened.firstMatch(of: /"sid":"([^"]+)"/)?.1 else { throw RawSocket.Missing(text: "sid") }
            return String(sid)
        }
        func upgrade(_ sid: String) async throws -> RawSocket {
            try await RawSocket.webSocket(port: port, sid: sid, reading: "101 Switching Protocols")
        }
        switch behaviour {
        case .opensAndNeverPolls: _ = try await session()
        case .joinsAndNeverPolls:
            _ = try await poll(session(), "40\u{1e}420[\"join\",\"p\"]").read(until: "ok")
        case .pollsAndBreaksOff:
            let sid = try await session()
            _ = try await poll(sid, "40").read(until: "ok")
            try await poll(sid).close()
        case .opensAWebSocketAndResets: try await RawSocket.webSocket(port: port).reset()
        case .joinsARoomAndCloses: try await webSocket().sendFrame("", opcode: 8)
        case .joinsARoomAndBreaksOff: try await webSocket().reset()
        case .leavesANamespaceAndBreaksOff:
            let socket = try await webSocket()
            socket.sendFrame("40/chat,")
            socket.sendFrame("41")
            _ = await socket.read(until: "40/chat")
        case .upgradesWithoutAProbe: _ = try await upgrade(session())
        case .probesAndBreaksOff:
            let socket = try await upgrade(session())
            socket.sendFrame("2probe")
            _ = await socket.read(until: "3probe")
            socket.reset()
        case .upgradesAndBreaksOff, .upgradesTwice:
            let sid = try await session()
            let socket = try await upgrade(sid)
            socket.sendFrame("2probe")
            _ = await socket.read(until: "3probe")
            socket.sendFrame("5")
            if behaviour == .upgradesTwice { _ = try await upgrade(sid) }
        case .connectsOnly: try await RawSocket(port: port).close()
        case .sendsHalfARequest: try await RawSocket(port: port).send("POST /socket.io/ HTTP/1.1\r\nHost: a\r\nCont")
        case .asksForAWebSocketAndResets:
            let socket = try await RawSocket(port: port)
            socket.send(RawSocket.webSocketRequest(port: port, sid: nil))
            socket.reset()
        case .sendsHalfAFrame: try await webSocket().send([0x81, 0xfe, 1])
        case .floods:
            let socket = try await webSocket()
            for _ in 0..<30 { socket.sendFrame("", opcode: 9) }
            _ = await socket.read(until: "Too many")
        }
    }

    @Test func `a socket that ends before its CONNECT reply is out is disconnected all the same`() async throws {
        try await TestServer.run({ $0.outboundLimit = 10 }) { server in
            let ends = AsyncStream.makeStream(of: String.self)
            let main = server.server.namespace("/")
            main.onConnect { socket in
                socket.join("room")
                return .accept()
            }
            main.onDisconnect { socket, reason in ends.continuation.yield(reason.sentence) }
            let opened = try await RawSocket.get("/socket.io/?EIO=4&transport=polling", port: server.port)
            let sid = try #require(opened.firstMatch(of: /"sid":"([^"]+)"/)?.1)
            _ = try await RawSocket.get(
                "/socket.io/?EIO=4&transport=polling&sid=\(sid)", port: server.port, method: "POST", body: "40")
            var told = ends.stream.makeAsyncIterator()
            #expect(await told.next() == "The client reads too slowly.")
            #expect(main.roomCount == 0 && server.server.statistics.sockets == 0)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `a shutdown ends connections that do not read, too`() async throws {
        let body = String(repeating: "x", count: 16_000_000)
        let configure: (inout SocketIOServerConfiguration) -> Void = { $0.fallback = { _ in .text(body) } }
        try await TestServer.run(configure) { server in
            let slow = try await RawSocket(port: server.port)
            slow.setReading(false)
            slow.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            while server.server.openChannels.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            await server.server.shutdown()
        }
    }

    @Test func `a client that does not read its answer is closed after a while`() async throws {
        let body = String(repeating: "x", count: 16_000_000)
        try await TestServer.run({
            $0.fallback = { _ in .text(body) }
            $0.requestTimeout = .milliseconds(200)
        }) { server in
            let slow = try await RawSocket(port: server.port)
            slow.setReading(false)
            slow.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            while server.server.openChannels.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            let deadline = ContinuousClock.now + .seconds(60)
            while !server.server.openChannels.isEmpty, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(server.server.openChannels.isEmpty)
        }
    }

    @Test func `pings without end by somebody who does not read the pongs cost no memory`() async throws {
        try await TestServer.run({
            $0.outboundLimit = 50_000
            $0.flood = .unlimited
        }) { server in
            let socket = try await RawSocket.webSocket(port: server.port)
            socket.sendFrame("40")
            socket.setReading(false)
            let payload = String(repeating: "p", count: 125)
            while server.server.statistics.closedByReason["slow_consumer"] == nil {
                for _ in 0..<100 { socket.sendFrame(payload, opcode: 9) }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    @Test func `after the shutdown nobody gets in`() async throws {
        try await TestServer.run { server in
            let socket = try await RawSocket(port: server.port)
            while server.server.openChannels.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            await server.server.shutdown()
            #expect(await socket.readToEnd() == "")
            #expect(server.server.openChannels.isEmpty)
        }
    }
}
