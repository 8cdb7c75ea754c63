import ClientKit
import SocketIO
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Signaling over Socket.IO` {
    /// A server that lets everybody in and remembers by which name each connection's client went.
    private final class Porter: Sendable {
        let server = SocketIOServer()
        private let names = Mutex<[String?]>([])

        init() {
            server.namespace("/").onConnect { [self] socket in
                names.withLock { $0.append(socket.handshake.query["client"]) }
                return .accept()
            }
        }

        var clients: [String?] { names.withLock { $0 } }
    }

    private func identity(_ name: String) throws -> CallIdentity {
        CallIdentity(username: name, room: try #require(CallRoomID(1)), role: .caller)
    }

    @Test func `survives a restart of the server, and is known again`() async throws {
        let first = Porter()
        let port = try await first.server.bind(host: "127.0.0.1", port: 0)
        let signaling = SocketIOCallSignaling(server: "http://127.0.0.1:\(port)/")
        var events = signaling.events.makeAsyncIterator()
        try await signaling.connect(as: identity("Ann"))
        #expect(await events.next() == .connected)

        await first.server.shutdown()
        let lost = await events.next()
        guard case .connectionLost? = lost else {
            Issue.record("Lost in another way: \(String(describing: lost))")
            return
        }
        let second = Porter()
        try await second.server.bind(host: "127.0.0.1", port: port)
        #expect(await events.next() == .reconnected)
        let name = try #require(first.clients.first ?? nil)
        #expect(first.clients == [name] && second.clients == [name])

        // Who leaves and joins again is a new client: leaving was meant.
        await signaling.disconnect()
        try await signaling.connect(as: identity("Ann"))
        #expect(await events.next() == .connected)
        #expect(second.clients.count == 2 && second.clients[1] != name)
        await signaling.disconnect()
        await second.server.shutdown()
    }

    @Test func `says that there is no connection once it has left`() async throws {
        let porter = Porter()
        let port = try await porter.server.bind(host: "127.0.0.1", port: 0)
        let signaling = SocketIOCallSignaling(server: "http://127.0.0.1:\(port)")
        try await signaling.connect(as: identity("Ann"))
        await signaling.disconnect()
        await signaling.disconnect()
        await #expect(throws: CallSignalingError.notConnected) {
            try await signaling.send(.candidate(.endOfCandidates))
        }
        await porter.server.shutdown()
    }
}
