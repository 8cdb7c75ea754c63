import Foundation
import Synchronization
import Testing

@testable import SocketIO

/// WebSockets outside the Socket.IO path.
@Suite(.timeLimit(.minutes(2))) struct WebSocketPeerTests {
    /// Says back what it is told, and remembers what happened.
    final class Echo: WebSocketPeer {
        private let socket = Mutex<ServerWebSocket?>(nil)
        let ends: AsyncStream<Void>
        private let continuation: AsyncStream<Void>.Continuation

        init() { (ends, continuation) = AsyncStream.makeStream(of: Void.self) }

        func webSocketOpened(_ socket: ServerWebSocket) {
            self.socket.withLock { $0 = socket }
            socket.send(Array("welcome".utf8), isText: true)
        }

        func webSocketReceived(_ message: [UInt8], isText: Bool) {
            socket.withLock { $0 }?.send(message, isText: isText)
        }

        func webSocketClosed() { continuation.yield() }

        func wait() async { for await _ in ends { return } }

        func send(_ messages: [[UInt8]]) { for message in messages { socket.withLock { $0 }?.send(message) } }

        func send(_ message: [UInt8], written: @escaping @Sendable () -> Void) {
            socket.withLock { $0 }?.send(message, written: written)
        }

        /// With the number of each that has left, or never will.
        func flood(written: @escaping @Sendable (Int) -> Void = { _ in }) {
            let message = [UInt8](repeating: 7, count: 1 << 20)
            for number in 0..<64 { send(message) { written(number) } }
        }
    }

    static func open(_ path: String, port: Int, version: Int = 13) async throws -> RawSocket {
        let socket = try await RawSocket(port: port)
        socket.send(
            """
            GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Version: \(version)\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
            """)
        return socket
    }

    private static func run(
        _ terms: WebSocketTerms = WebSocketTerms(), _ body: (TestServer, Echo) async throws -> Void
    ) async throws {
        let echo = Echo()
        try await TestServer.run({
            $0.fallback = { _ in .text("fallback\n") }
            $0.webSockets = { request in
                switch request.path {
                case "/echo": .accepted(by: echo, terms)
                case "/locked": .refused(.text("no key\n", status: 401))
                default: nil
                }
            }
        }) { try await body($0, echo) }
    }

    @Test func `what is accepted can be spoken over, and its end is told`() async throws {
        try await Self.run { server, echo in
            let socket = try await Self.open("/echo?x=1", port: server.port)
            #expect(await socket.read(until: "welcome").contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
            socket.sendFrame("hello")
            #expect(await socket.read(until: "hello").hasSuffix("hello"))
            socket.sendFrame("", opcode: 8)
            _ = await socket.readToEnd()
            await echo.wait()
        }
    }

    @Test func `what was sent in one piece with the request is answered after the greeting`() async throws {
        try await Self.run { server, _ in
            let socket = try await RawSocket(port: server.port)
            let request = """
                GET /echo HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
                """
            socket.send(Array(request.utf8) + [0x81, 0x85, 0, 0, 0, 0] + Array("early".utf8))
            let answer = await socket.read(until: "early")
            #expect(answer.contains("welcome") && answer.hasSuffix("early"))
        }
    }

    @Test func `a refusal is a response, and what nobody knows goes to the fallback`() async throws {
        try await Self.run { server, _ in
            let locked = try await Self.open("/locked", port: server.port)
            let refusal = await locked.read(until: "no key")
            #expect(refusal.hasPrefix("HTTP/1.1 401"))
            let unknown = try await Self.open("/unknown", port: server.port)
            #expect(await unknown.read(until: "fallback").hasPrefix("HTTP/1.1 200"))
            // A request without an upgrade is none of theirs.
            #expect(try await RawSocket.get("/echo", port: server.port).hasSuffix("fallback\n"))
        }
    }

    @Test func `a wrong handshake is refused before anybody is asked`() async throws {
        let isAsked = Atomic(false)
        try await TestServer.run({
            $0.webSockets = { _ in
                isAsked.store(true, ordering: .relaxed)
                return nil
            }
        }) { server in
            let socket = try await Self.open("/echo", port: server.port, version: 8)
            #expect(await socket.read(until: "handshake").hasPrefix("HTTP/1.1 400"))
            let wasAsked = isAsked.load(ordering: .relaxed)
            #expect(!wasAsked)
        }
    }

    @Test func `a message beyond the limit, and one that breaks the rules, end the connection`() async throws {
        try await Self.run(WebSocketTerms(messageLimit: 10)) { server, _ in
            let large = try await Self.open("/echo", port: server.port)
            _ = await large.read(until: "welcome")
            large.sendFrame("eleven bytes")
            #expect(await large.read(until: "too large").contains("too large"))
        }
        try await Self.run { server, echo in
            let wrong = try await Self.open("/echo", port: server.port)
            _ = await wrong.read(until: "welcome")
            wrong.sendFrame("what", opcode: 5)
            #expect(await wrong.read(until: "unknown frame type").contains("unknown frame type"))
            wrong.close()
            await echo.wait()
        }
    }

    @Test func `whoever is silent for three pings has gone`() async throws {
        try await Self.run(WebSocketTerms(pingInterval: .milliseconds(50))) { server, echo in
            let socket = try await Self.open("/echo", port: server.port)
            // It reads the pings, and answers none of them.
            _ = await socket.readToEnd()
            await echo.wait()
        }
    }

    @Test func `many who are silent get three pings each`() async throws {
        try await Self.run(WebSocketTerms(pingInterval: .milliseconds(50))) { server, _ in
            var sockets: [RawSocket] = []
            for _ in 0..<20 { sockets.append(try await Self.open("/echo", port: server.port)) }
            for socket in sockets {
                // Of all that is sent only a ping has an octet of 0, its length.
                #expect(await socket.readToEnd().unicodeScalars.count { $0.value == 0 } == 3)
            }
        }
    }

    @Test func `whoever does not read is dropped`() async throws {
        try await Self.run(WebSocketTerms(outboundLimit: 1 << 20)) { server, echo in
            let socket = try await Self.open("/echo", port: server.port)
            _ = await socket.read(until: "welcome")
            socket.setReading(false)
            echo.flood()
            await echo.wait()
        }
    }

    @Test func `of each message to somebody who is dropped it is told that it never leaves`() async throws {
        try await Self.run(WebSocketTerms(outboundLimit: 1 << 20)) { server, echo in
            let socket = try await Self.open("/echo", port: server.port)
            _ = await socket.read(until: "welcome")
            socket.setReading(false)
            let (told, tell) = AsyncStream.makeStream(of: Int.self)
            echo.flood { tell.yield($0) }
            await echo.wait()
            var counts = Array(repeating: 0, count: 64)
            for await number in told {
                counts[number] += 1
                if !counts.contains(0) { break }
            }
            // What is told of one more comes behind what would be told twice.
            echo.send([7]) { tell.finish() }
            for await number in told { counts[number] += 1 }
            #expect(counts.allSatisfy { $0 == 1 }, "\(counts)")
        }
    }

    @Test func `a message larger than the bound, and what follows it, reach whoever reads them`() async throws {
        let large = 24 << 20
        try await Self.run(WebSocketTerms(outboundLimit: 1 << 20)) { server, echo in
            let socket = try await Self.open("/echo", port: server.port)
            _ = await socket.read(until: "welcome")
            socket.setReading(false)
            echo.send([Array("before".utf8), [UInt8](repeating: 7, count: large), Array("after".utf8)])
            socket.sendFrame("answered")
            socket.setReading(true)
            let count = 2 + 6 + 10 + large + 2 + 5 + 2 + 8
            #expect(await socket.read(count: count) == count)
        }
    }

    @Test func `whoever goes while it is being decided is told of as well`() async throws {
        let echo = Echo()
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let (decided, decide) = AsyncStream.makeStream(of: Void.self)
        try await TestServer.run({
            $0.webSockets = { _ in
                ask.yield()
                for await _ in decided { break }
                return .accepted(by: echo, WebSocketTerms())
            }
        }) { server in
            let socket = try await Self.open("/echo", port: server.port)
            for await _ in asked { break }
            socket.reset()
            while !server.server.openChannels.isEmpty { await Task.yield() }
            decide.yield()
            await echo.wait()
        }
    }

    @Test func `whoever floods is closed`() async throws {
        var terms = WebSocketTerms()
        terms.flood = .init(messagesPerSecond: 1, messageBurst: 10)
        try await Self.run(terms) { server, echo in
            let socket = try await Self.open("/echo", port: server.port)
            _ = await socket.read(until: "welcome")
            for _ in 0..<20 { socket.sendFrame("x") }
            #expect(await socket.read(until: "flood").contains("flood"))
            socket.close()
            await echo.wait()
        }
    }

    /// A write that fails has the channel read what is left at once, inside of what is being read.
    @Test func `a client that pings and is gone ends nobody but itself`() async throws {
        var terms = WebSocketTerms()
        terms.flood = .unlimited
        try await Self.run(terms) { server, echo in
            for _ in 0..<20 {
                let socket = try await Self.open("/echo", port: server.port)
                _ = await socket.read(until: "welcome")
                let ping: [UInt8] = [0x89, 0x84, 0, 0, 0, 0, 1, 2, 3, 4]
                socket.send([UInt8]((0..<50_000).map { _ in ping }.joined()))
                socket.reset()
                await echo.wait()
            }
        }
    }

    @Test func `a refused upgrade ends the connection, for nothing more is parsed on it`() async throws {
        try await Self.run { server, _ in
            for path in ["/locked", "/unknown"] {
                let socket = try await Self.open(path, port: server.port)
                let answer = await socket.read(until: "\r\n\r\n")
                try #require(answer.lowercased().contains("connection: close"))
                _ = await socket.readToEnd()
            }
        }
    }
}
