import Testing

@testable import SocketIO

/// WebSockets whose messages wait for their owner, with real sockets on loopback.
@Suite(.timeLimit(.minutes(2))) struct MessageSocketTests {
    /// Says goodbye as soon as it is open, and tells when it is closed.
    private final class Goodbye: WebSocketPeer {
        let closed: AsyncStream<Void>
        private let tell: AsyncStream<Void>.Continuation

        init() { (closed, tell) = AsyncStream.makeStream(of: Void.self) }

        func webSocketOpened(_ socket: ServerWebSocket) { socket.close(code: 4_001, reason: "early") }
        func webSocketReceived(_ message: [UInt8], isText: Bool) {}
        func webSocketClosed() { tell.finish() }
    }

    private final class Witness: Sendable {}

    private struct Remembered {
        weak var witness: Witness?
        let facts: [String]
    }

    /// Until it is closed; whoever is told of that holds a witness.
    private static func listen(to socket: MessageSocket) async -> Remembered {
        let witness = Witness()
        let (facts, tell) = AsyncStream.makeStream(of: String.self)
        socket.start { fact in
            withExtendedLifetime(witness) {}
            switch fact {
            case .message: tell.yield("message")
            case .goodbye(let code, let reason): tell.yield("\(code ?? 0) \(reason)")
            case .closed: tell.finish()
            }
        }
        var told: [String] = []
        for await fact in facts { told.append(fact) }
        return Remembered(witness: witness, facts: told)
    }

    @Test func `who comes to listen when it is closed is told all, and forgotten`() async throws {
        let peer = Goodbye()
        try await TestServer.run({ $0.webSockets = { _ in .accepted(by: peer, WebSocketTerms()) } }) { server in
            let socket = try await MessageSocket.connect(
                to: RemoteServer(url: "ws://127.0.0.1:\(server.port)"), target: "/", headers: [], messageLimit: 1_000)
            // The goodbye is read and answered, which ends the connection, before anybody listens.
            socket.updateReading { true }
            for await _ in peer.closed {}
            let remembered = await Self.listen(to: socket)
            #expect(remembered.facts == ["4001 early"])
            let deadline = ContinuousClock.now + .seconds(10)
            while remembered.witness != nil, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(remembered.witness == nil)
            withExtendedLifetime(socket) {}
        }
    }
}
