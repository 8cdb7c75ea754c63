import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import Synchronization
import Testing

@testable import SocketIO

/// WebSockets of binary messages, with real sockets on loopback.
@Suite(.timeLimit(.minutes(2))) struct BinarySocketTests {
    /// Says back what it is told, and counts it.
    private final class Echo: WebSocketPeer {
        private let socket = Mutex<ServerWebSocket?>(nil)
        private let received = Mutex(0)

        var count: Int { received.withLock { $0 } }

        func webSocketOpened(_ socket: ServerWebSocket) { self.socket.withLock { $0 = socket } }
        func webSocketReceived(_ message: [UInt8], isText: Bool) {
            received.withLock { $0 += 1 }
            socket.withLock { $0 }?.send(message)
        }
        func webSocketClosed() {}
    }

    /// Says why it closes, as soon as it is open.
    private final class Goodbye: WebSocketPeer {
        let reason: String

        init(_ reason: String) { self.reason = reason }

        func webSocketOpened(_ socket: ServerWebSocket) { socket.close(code: 4_001, reason: reason) }
        func webSocketReceived(_ message: [UInt8], isText: Bool) {}
        func webSocketClosed() {}
    }

    private static func connect(
        _ url: String, timeout: Duration = .seconds(10)
    ) -> (socket: BinarySocket, facts: AsyncStream<BinarySocket.Fact>) {
        let (facts, tell) = AsyncStream.makeStream(of: BinarySocket.Fact.self)
        var target = BinarySocket.Target(url: url, path: "/socket")
        target.connectTimeout = timeout
        target.verifiesCertificates = false
        let socket = BinarySocket(to: target) { fact in
            tell.yield(fact)
            if case .closed = fact { tell.finish() }
        }
        return (socket, facts)
    }

    /// Why it is closed, once it is.
    private static func end(of facts: AsyncStream<BinarySocket.Fact>) async -> BinarySocket.Failure? {
        for await fact in facts { if case .closed(let failure) = fact { return failure } }
        return nil
    }

    private static func open(_ facts: AsyncStream<BinarySocket.Fact>) async throws {
        for await fact in facts {
            guard case .open = fact else { break }
            return
        }
        Issue.record("it is not open")
    }

    @Test(arguments: ["ws", "wss"])
    func `a server that takes the connection and says nothing is not waited for`(scheme: String) async throws {
        // It reads, and never answers.
        try await RawServer.run(polls: []) { server in
            let place = "127.0.0.1:\(server.port)"
            let (socket, facts) = Self.connect("\(scheme)://\(place)", timeout: .milliseconds(200))
            #expect(await Self.end(of: facts) == .lost("no answer from \(place)"))
            withExtendedLifetime(socket) {}
        }
    }

    @Test func `one that is open has all the time it wants`() async throws {
        let peer = Echo()
        try await TestServer.run({ $0.webSockets = { _ in .accepted(by: peer, WebSocketTerms()) } }) { server in
            // A busy machine takes longer than the first one to open.
            for timeout in [Duration.milliseconds(100), .seconds(1), .seconds(10)] {
                let (socket, facts) = Self.connect("ws://127.0.0.1:\(server.port)", timeout: timeout)
                var news = facts.makeAsyncIterator()
                guard case .open? = await news.next() else { continue }
                // That time is over for one that was made later.
                try await RawServer.run(polls: []) { silent in
                    let place = "127.0.0.1:\(silent.port)"
                    let (later, end) = Self.connect("ws://\(place)", timeout: timeout)
                    #expect(await Self.end(of: end) == .lost("no answer from \(place)"))
                    withExtendedLifetime(later) {}
                }
                socket.send([1, 2, 3])
                guard case .message(let message)? = await news.next() else { break }
                #expect(message == [1, 2, 3])
                socket.close()
                return
            }
            Issue.record("it is closed, or was never open")
        }
    }

    @Test func `what was sent before it finishes arrives, though the server is speaking`() async throws {
        let peer = Echo()
        let terms = WebSocketTerms(outboundLimit: 16 << 20, flood: .unlimited)
        try await TestServer.run({ $0.webSockets = { _ in .accepted(by: peer, terms) } }) { server in
            let (socket, facts) = Self.connect("ws://127.0.0.1:\(server.port)")
            try await Self.open(facts)
            for _ in 0..<64 { socket.send([UInt8](repeating: 7, count: 1 << 16)) }
            await socket.finish(within: .seconds(30))
            #expect(peer.count == 64)
        }
    }

    @Test(arguments: ["ws", "wss"])
    func `a server that does not answer the goodbye holds nobody up, nor does one that is gone`(
        scheme: String
    ) async throws {
        let context = try scheme == "wss" ? TestCertificates.serverContext() : nil
        // A WebSocket that reads nothing: neither the goodbye nor, below it, the end of TLS.
        let upgrader = NIOWebSocketServerUpgrader(
            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
            upgradePipelineHandler: { channel, _ in channel.setOption(.autoRead, value: false) })
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { () throws -> Void in
                    guard let context else { return }
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                }
                .flatMap { () -> EventLoopFuture<Void> in
                    let upgrade: NIOHTTPServerUpgradeSendableConfiguration = (
                        upgraders: [upgrader], completionHandler: { _ in }
                    )
                    return channel.pipeline.configureHTTPServerPipeline(withServerUpgrade: upgrade)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let url = "\(scheme)://127.0.0.1:\(listener.localAddress?.port ?? 0)"
        let (socket, facts) = Self.connect(url)
        try await Self.open(facts)
        let start = ContinuousClock.now
        await socket.finish(within: .milliseconds(200))
        #expect(ContinuousClock.now - start < .seconds(4))
        // Nothing is left to wait for.
        await socket.finish(within: .seconds(60))
        try await listener.close()

        let (refused, reports) = Self.connect(url)
        #expect(await Self.end(of: reports) != nil)
        await refused.finish(within: .seconds(60))
        #expect(ContinuousClock.now - start < .seconds(50))
    }

    @Test func `the reason that a server gives is the reason, on one line`() async throws {
        for (reason, words) in [
            ("the room is over", "the room is over"), ("no\nmore", "no more"),
            ("", "the server closed the connection"),
        ] {
            let peer = Goodbye(reason)
            try await TestServer.run({ $0.webSockets = { _ in .accepted(by: peer, WebSocketTerms()) } }) { server in
                let (socket, facts) = Self.connect("ws://127.0.0.1:\(server.port)")
                #expect(await Self.end(of: facts) == .lost(words))
                withExtendedLifetime(socket) {}
            }
        }
    }
}
