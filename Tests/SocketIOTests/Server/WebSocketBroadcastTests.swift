import Dispatch
import Foundation
import NIOCore
import Synchronization
import Testing

@testable import SocketIO

/// Messages that are framed once, for many sockets.
@Suite(.timeLimit(.minutes(2))) struct WebSocketBroadcastTests {
    /// Takes whoever comes, and tells of each socket and of each end.
    private final class Listener: WebSocketPeer {
        let sockets: AsyncStream<ServerWebSocket>
        private let opened: AsyncStream<ServerWebSocket>.Continuation
        let ends: AsyncStream<Void>
        private let ended: AsyncStream<Void>.Continuation

        init() {
            (sockets, opened) = AsyncStream.makeStream()
            (ends, ended) = AsyncStream.makeStream()
        }

        func webSocketOpened(_ socket: ServerWebSocket) { opened.yield(socket) }
        func webSocketReceived(_ message: [UInt8], isText: Bool) {}
        func webSocketClosed() { ended.yield() }
    }

    /// A socket of the server's, and its client.
    private struct Pair {
        let server: ServerWebSocket
        let client: RawSocket
    }

    private static func run(_ count: Int, _ body: ([Pair], Listener) async throws -> Void) async throws {
        let listener = Listener()
        try await TestServer.run({
            $0.webSockets = { _ in .accepted(by: listener, WebSocketTerms()) }
        }) { server in
            var pairs: [Pair] = []
            for _ in 0..<count {
                let client = try await WebSocketPeerTests.open("/", port: server.port)
                for await socket in listener.sockets {
                    pairs.append(Pair(server: socket, client: client))
                    break
                }
            }
            try await body(pairs, listener)
        }
    }

    private static func message(_ sender: Int, _ number: Int) -> String { "<\(sender):\(number)>" }

    /// The numbers that a client has been sent, by sender, in the order in which they came.
    private static func numbers(in text: String) -> [Int: [Int]] {
        text.matches(of: /<(\d+):(\d+)>/).reduce(into: [:]) { numbers, match in
            numbers[Int(match.1) ?? -1, default: []].append(Int(match.2) ?? -1)
        }
    }

    /// What `work` does happens while a socket's loop stands still, so that nothing is written meanwhile.
    private static func whileLoopWaits(
        of socket: ServerWebSocket, _ work: @escaping @Sendable () -> Void, then after: @escaping @Sendable () -> Void
    ) async throws {
        try await socket.context.loop.submit {
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                work()
                done.signal()
            }
            done.wait()
            after()
        }.get()
    }

    /// - Returns: who has taken it.
    @discardableResult
    private static func broadcast(_ text: String, to sockets: [ServerWebSocket], limit: Int = .max) -> [Bool] {
        var broadcast = WebSocketBroadcast(WebSocketMessage(text: text))
        let taken = sockets.map { broadcast.offer(to: $0, limit: limit) }
        broadcast.send()
        return taken
    }

    private static func written(_ socket: ServerWebSocket, _ text: String) async {
        await withCheckedContinuation { done in socket.send(WebSocketMessage(text: text)) { done.resume() } }
    }

    // MARK: Frames

    /// RFC 6455 §5.2: the length in 7 bits, in 16, in 64, and no mask.
    @Test(
        arguments: [
            (0, [0]), (125, [125]), (126, [126, 0, 126]), (65_535, [126, 255, 255]),
            (65_536, [127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])])
    func `a frame says its length in the shortest form`(count: Int, length: [UInt8]) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 % 100) }
        let binary = WebSocketMessage(payload)
        #expect(Array(binary.frame.readableBytesView) == [0x82] + length + payload)
        #expect(binary.payload == payload && binary.count == count)
        let text = WebSocketMessage(text: String(decoding: payload, as: UTF8.self))
        #expect(Array(text.frame.readableBytesView) == [0x81] + length + payload)
        #expect(Array(WebSocketMessage(payload, isText: true).frame.readableBytesView) == [0x81] + length + payload)
    }

    @Test(arguments: [1, 200, 70_000])
    func `all get the same message`(count: Int) async throws {
        try await Self.run(3) { pairs, _ in
            Self.broadcast(String(repeating: "x", count: count) + "end", to: pairs.map(\.server))
            for pair in pairs {
                #expect(await pair.client.read(until: "end").hasSuffix(String(repeating: "x", count: count) + "end"))
            }
        }
    }

    // MARK: Order

    @Test func `what one sender hands over comes in its order, however it was sent and whoever else sends`()
        async throws
    {
        let (senders, count) = (6, 200)
        try await Self.run(3) { pairs, _ in
            let sockets = pairs.map(\.server)
            await withTaskGroup(of: Void.self) { group in
                for sender in 0..<senders {
                    group.addTask {
                        for number in 0..<count {
                            let message = WebSocketMessage(text: Self.message(sender, number))
                            switch (number + sender) % 3 {
                            case 0: for socket in sockets { socket.send(message) }
                            case 1: for socket in sockets { #expect(socket.offer(message, limit: .max)) }
                            default: Self.broadcast(Self.message(sender, number), to: sockets)
                            }
                        }
                    }
                }
            }
            for pair in pairs {
                pair.server.send(WebSocketMessage(text: "all done"))
                let numbers = Self.numbers(in: await pair.client.read(until: "all done"))
                for sender in 0..<senders { #expect(numbers[sender] == Array(0..<count)) }
            }
        }
    }

    @Test func `what is sent on the loop does not overtake what was handed over before`() async throws {
        try await Self.run(1) { pairs, _ in
            let socket = pairs[0].server
            try await Self.whileLoopWaits(of: socket) {
                socket.send(WebSocketMessage(text: Self.message(0, 0)))
                Self.broadcast(Self.message(0, 1), to: [socket])
            } then: {
                socket.send(WebSocketMessage(text: Self.message(0, 2)))
            }
            let text = await pairs[0].client.read(until: Self.message(0, 2))
            #expect(Self.numbers(in: text) == [0: [0, 1, 2]])
        }
    }

    // MARK: Who does not read

    @Test func `what is offered counts until the system has taken it, to the byte`() async throws {
        try await Self.run(1) { pairs, _ in
            let socket = pairs[0].server
            for round in 0..<3 {
                try await Self.whileLoopWaits(of: socket) {
                    let text = String(repeating: "#", count: 100)
                    for _ in 0..<5 {
                        #expect(socket.offer(WebSocketMessage(text: text), limit: 1_000))
                        #expect(Self.broadcast(text, to: [socket], limit: 1_000) == [true])
                    }
                    // Full: neither way takes another byte, and what was refused does not count.
                    for _ in 0..<2 {
                        #expect(!socket.offer(WebSocketMessage(text: "#"), limit: 1_000))
                        #expect(Self.broadcast("#", to: [socket], limit: 1_000) == [false])
                    }
                    #expect(socket.offer(WebSocketMessage(text: ""), limit: 1_000))
                } then: {
                }
                // All of it is with the system when something behind it is.
                await Self.written(socket, "round \(round)")
            }
            let text = await pairs[0].client.read(until: "round 2")
            #expect(text.count { $0 == "#" } == 3 * 1_000)
        }
    }

    @Test func `who is left out for being slow does not keep the others from hearing`() async throws {
        try await Self.run(2) { pairs, _ in
            let sockets = pairs.map(\.server)
            try await Self.whileLoopWaits(of: sockets[0]) {
                #expect(Self.broadcast("first", to: [sockets[0]], limit: 8) == [true])
                #expect(Self.broadcast("second", to: sockets, limit: 8) == [false, true])
            } then: {
            }
            sockets[0].send(WebSocketMessage(text: "third"))
            #expect(await !pairs[0].client.read(until: "third").contains("second"))
            #expect(await pairs[1].client.read(until: "second").contains("second"))
        }
    }

    @Test func `of a client that does not read, no more than the limit is kept`() async throws {
        try await Self.run(1) { pairs, _ in
            let socket = pairs[0].server
            pairs[0].client.setReading(false)
            let (limit, size) = (1 << 20, 64 << 10)
            let message = WebSocketMessage([UInt8](repeating: 7, count: size))
            // More than the system takes on both sides.
            var accepted = 0
            while accepted < 10_000, socket.offer(message, limit: limit) {
                accepted += 1
                await Task.yield()
            }
            #expect(accepted < 10_000 && accepted * size >= limit)
        }
    }

    // MARK: Ends

    @Test func `who has gone does not keep the others from hearing`() async throws {
        try await Self.run(2) { pairs, listener in
            pairs[0].client.close()
            for await _ in listener.ends { break }
            Self.broadcast("still here", to: pairs.map(\.server))
            #expect(await pairs[1].client.read(until: "still here").hasSuffix("still here"))
            // Nobody waits for ever for what will never be written.
            await Self.written(pairs[0].server, "too late")
        }
    }

    @Test func `a broadcast to nobody is nothing`() async throws {
        try await Self.run(1) { pairs, _ in
            #expect(Self.broadcast("nobody", to: []).isEmpty)
            pairs[0].server.send(WebSocketMessage(text: "somebody"))
            let text = await pairs[0].client.read(until: "somebody")
            #expect(!text.contains("nobody"))
        }
    }
}
