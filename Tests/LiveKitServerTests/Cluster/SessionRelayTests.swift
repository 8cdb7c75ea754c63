import Foundation
import LiveKitProtocol
import Logging
import SocketIO
import Synchronization
import Testing

@testable import LiveKitServer

/// A client's WebSocket that goes through to another server's, with real sockets on loopback.
@Suite(.timeLimit(.minutes(2))) struct SessionRelayTests {
    /// The other server's end.
    final class Cluster: WebSocketPeer {
        struct State {
            var socket: ServerWebSocket?
            var received: [String] = []
            var receivedBytes = 0
            /// Bytes that the system has taken of what was sent.
            var taken = 0
            var goodbye: String?
            var isClosed = false
        }

        private let state = Mutex(State())
        var now: State { state.withLock { $0 } }

        func webSocketOpened(_ socket: ServerWebSocket) { state.withLock { $0.socket = socket } }

        func webSocketReceived(_ message: [UInt8], isText: Bool) {
            state.withLock {
                $0.receivedBytes += message.count
                if message.count < 100 {
                    $0.received.append((isText ? "text " : "bytes ") + String(decoding: message, as: UTF8.self))
                }
            }
        }

        func webSocketSaidGoodbye(code: UInt16?, reason: String) {
            state.withLock { $0.goodbye = "\(code.map(String.init) ?? "no code") \(reason)" }
        }

        func webSocketClosed() { state.withLock { $0.isClosed = true } }

        /// Sends so many messages, each when the system has taken the one before.
        func send(_ count: Int, of message: [UInt8]) {
            guard count > 0, let socket = now.socket else { return }
            socket.send(message) { [self] in
                state.withLock { $0.taken += message.count }
                send(count - 1, of: message)
            }
        }
    }

    private final class Counter: Sendable { let value = Atomic(0) }

    private static let terms = WebSocketTerms(
        messageLimit: 1 << 20, outboundLimit: 4 << 20, flood: .unlimited)

    /// A server of which `peer` is the WebSocket, and one before it.
    private static func run(_ body: (Cluster, TestWebSocket) async throws -> Void) async throws {
        let peer = Cluster()
        var behind = SocketIOServerConfiguration()
        behind.webSockets = { _ in .accepted(by: peer, terms) }
        let cluster = SocketIOServer(configuration: behind)
        let remote = try RemoteServer(url: "ws://127.0.0.1:\(try await cluster.bind(host: "127.0.0.1", port: 0))")
        var before = SocketIOServerConfiguration()
        before.webSockets = { request in
            do throws(MessageSocket.Failure) {
                let socket = try await MessageSocket.connect(
                    to: remote, target: "/", headers: [], messageLimit: 1 << 20)
                return .accepted(by: SessionRelay(to: socket) {}, terms)
            } catch {
                return .refused(.text("\(error)", status: 503))
            }
        }
        let front = SocketIOServer(configuration: before)
        let client = try await TestWebSocket("/", port: try await front.bind(host: "127.0.0.1", port: 0), headers: [:])
        do {
            try #require(await client.isOpen)
            try await until("the cluster's end is open") { peer.now.socket != nil }
            try await body(peer, client)
        } catch {
            await front.shutdown()
            await cluster.shutdown()
            throw error
        }
        await front.shutdown()
        await cluster.shutdown()
    }

    private static func expect(_ message: WebSocketReader.Message?, from client: TestWebSocket) async throws {
        let next = try await client.next()
        #expect(next == message)
    }

    @Test func `messages go both ways as they are, in their order`() async throws {
        try await Self.run { cluster, client in
            for number in 0..<200 {
                cluster.now.socket?.send(Array("to the client \(number)".utf8), isText: number % 2 == 0)
                await client.send(Array("to the cluster \(number)".utf8), isText: number % 2 == 1)
            }
            for number in 0..<200 {
                let bytes = Array("to the client \(number)".utf8)
                try await Self.expect(number % 2 == 0 ? .text(bytes) : .binary(bytes), from: client)
            }
            try await until("all has come") { cluster.now.received.count == 200 }
            #expect(
                cluster.now.received == (0..<200).map { ($0 % 2 == 1 ? "text" : "bytes") + " to the cluster \($0)" })
        }
    }

    @Test(arguments: [4_001, 1_000, nil] as [UInt16?]) func `a client's goodbye is told to the cluster`(
        code: UInt16?
    ) async throws {
        try await Self.run { cluster, client in
            await client.send(Array("last".utf8))
            await client.sendClose(code: code, reason: "see you")
            try await until("the cluster's end is closed") { cluster.now.isClosed }
            #expect(cluster.now.received == ["bytes last"])
            #expect(cluster.now.goodbye == (code.map { "\($0) see you" } ?? "no code "))
            try await Self.expect(.close(code: code, reason: ""), from: client)
        }
    }

    @Test(arguments: [4_002, 1_013, nil] as [UInt16?]) func `the cluster's goodbye is told to the client`(
        code: UInt16?
    ) async throws {
        try await Self.run { cluster, client in
            cluster.now.socket?.send(Array("last".utf8))
            cluster.now.socket?.close(code: code, reason: code == nil ? "" : "another time")
            try await Self.expect(.binary(Array("last".utf8)), from: client)
            try await Self.expect(.close(code: code, reason: code == nil ? "" : "another time"), from: client)
            await client.sendClose()
            try await Self.expect(nil, from: client)
        }
    }

    @Test func `a client has a moment for the cluster's goodbye, though the cluster is gone behind it`() async throws {
        try await Self.run { cluster, client in
            let began = ContinuousClock.now
            cluster.now.socket?.close(code: 4_002, reason: "another time")
            try await Self.expect(.close(code: 4_002, reason: "another time"), from: client)
            // It does not answer, and is not waited for without end.
            try await Self.expect(nil, from: client)
            #expect(ContinuousClock.now - began > .seconds(1))
        }
    }

    @Test func `a cluster that is gone without a word leaves its client without one, after what it said`() async throws
    {
        try await Self.run { cluster, client in
            cluster.now.socket?.send(Array("last".utf8))
            cluster.now.socket?.end()
            try await Self.expect(.binary(Array("last".utf8)), from: client)
            try await Self.expect(nil, from: client)
        }
    }

    @Test func `a client that is gone is gone at the cluster`() async throws {
        try await Self.run { cluster, client in
            await client.close()
            try await until("the cluster's end is closed") { cluster.now.isClosed }
            #expect(cluster.now.goodbye == nil)
        }
    }

    /// In messages of 64 KiB: 24 MiB, where two connections have buffers for 20 at most as Linux has them by default.
    private static let moreThanKernelsHold = 384

    @Test func `a client that does not read slows the cluster, and misses nothing`() async throws {
        try await Self.run { cluster, client in
            let (count, size) = (Self.moreThanKernelsHold, 64 << 10)
            try await client.setReading(false)
            cluster.send(count, of: [UInt8](repeating: 7, count: size))
            try await Self.untilStill { cluster.now.taken }
            #expect(cluster.now.taken < count * size)
            try await client.setReading(true)
            for _ in 0..<count {
                guard case .binary(let bytes) = try await client.next() else { throw TestServer.Unusable() }
                #expect(bytes.count == size)
            }
        }
    }

    @Test func `a cluster that does not read slows the client, and misses nothing`() async throws {
        try await Self.run { cluster, client in
            let (count, size) = (Self.moreThanKernelsHold, 64 << 10)
            cluster.now.socket?.updateReading { false }
            let sent = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for _ in 0..<count {
                        try await client.sendSlowly([UInt8](repeating: 7, count: size))
                        sent.value.wrappingAdd(1, ordering: .relaxed)
                    }
                }
                try await Self.untilStill { sent.value.load(ordering: .relaxed) }
                #expect(sent.value.load(ordering: .relaxed) < count)
                cluster.now.socket?.updateReading { true }
                try await until("all has come", within: .seconds(60)) { cluster.now.receivedBytes == count * size }
                try await group.waitForAll()
            }
        }
    }

    /// Until a count has not changed for a while: what would change it is waiting for us.
    private static func untilStill(_ count: () -> Int) async throws {
        var before = -1
        while before != count() {
            before = count()
            try await Task.sleep(for: .milliseconds(500))
        }
    }
}
