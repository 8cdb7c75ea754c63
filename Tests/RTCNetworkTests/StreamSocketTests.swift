import Foundation
import RTCEngine
import RTCWire
import Testing

@testable import RTCNetwork

/// TCP on a loop, between two sockets of this process.
@Suite(.timeLimit(.minutes(2))) struct StreamSocketTests {
    private static let loopback = TransportAddress(.v4(0x7f00_0001), port: 0)

    @Test func `what one side writes arrives whole and in order, though the queue is smaller`() async throws {
        let pair = try await StreamPair(limit: 30_000)
        try await pair.begin()
        // Twenty times what may wait: it only arrives when writing goes on by itself.
        var sent = 0
        while sent < 60 {
            let accepted = await pair.write([UInt8](repeating: UInt8(sent % 251), count: 10_000))
            if accepted { sent += 1 } else { _ = await pair.received(atLeast: await pair.count + 1) }
        }
        let received = await pair.received(atLeast: 600_000)
        #expect(received.count == 600_000)
        let isIntact = received.indices.allSatisfy { received[$0] == UInt8($0 / 10_000 % 251) }
        #expect(isIntact)
        await pair.end()
    }

    @Test func `a frame that does not fit is refused whole`() async throws {
        let pair = try await StreamPair(limit: 1_000)
        // Nobody reads, and nothing is written before the connection stands.
        #expect(await pair.write([UInt8](repeating: 1, count: 900)))
        #expect(await !pair.write([UInt8](repeating: 2, count: 101)))
        #expect(await pair.write([UInt8](repeating: 3, count: 100)))
        try await pair.begin()
        let received = await pair.received(atLeast: 1_000)
        #expect(received == [UInt8](repeating: 1, count: 900) + [UInt8](repeating: 3, count: 100))
        await pair.end()
    }

    @Test func `both sides know both addresses`() async throws {
        let pair = try await StreamPair(limit: 1_000)
        try await pair.begin()
        #expect(await pair.write([1]))
        _ = await pair.received(atLeast: 1)
        #expect(await pair.addressesAgree)
        await pair.end()
    }

    @Test func `a port can be listened on again as soon as a server that has ended its connections is gone`() throws {
        for _ in 0..<3 {
            let first = try StreamListener(binding: Self.loopback)
            let client = try StreamSocket(connectingTo: first.address)
            var accepted: StreamSocket?
            while accepted == nil { accepted = first.accept() }
            // Who ends a connection first keeps its port for a minute.
            accepted?.close()
            client.close()
            // It is not for two at once.
            #expect(throws: SystemError.self) { try StreamListener(binding: first.address) }
            first.close()
            let second = try StreamListener(binding: first.address)
            #expect(second.address == first.address)
        }
    }

    #if os(Linux)
        @Test func `a port that is taken costs no descriptor`() throws {
            func pollers() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
                    let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
                    return link?.contains("eventpoll") == true
                }
            }
            let taken = try StreamListener(binding: Self.loopback)
            let before = try pollers()
            for _ in 0..<200 {
                #expect(throws: SystemError.self) { try StreamListener(binding: taken.address) }
            }
            // Other tests have some of their own.
            #expect(try pollers() < before + 100)
        }
    #endif

    @Test func `nobody listens: the connection fails and says so`() async throws {
        let port = try StreamListener(binding: Self.loopback).address
        let pair = try await StreamPair(limit: 1_000, to: port)
        try await pair.begin()
        let failure = await pair.failure()
        #expect("\(failure)".contains("connect failed"))
    }

    @Test func `the last words of a peer that is gone are read, though writing to it has failed`() async throws {
        let pair = try await StreamPair(limit: 1_000)
        try await pair.begin()
        #expect(await pair.write([1]))
        _ = await pair.received(atLeast: 1)
        let (words, end) = await pair.afterReset(saying: [7, 8, 9])
        #expect(words == [7, 8, 9])
        guard case .failed = end else { return #expect(Bool(false), "\(end)") }
    }

    @Test func `the end of a stream is told`() async throws {
        let pair = try await StreamPair(limit: 1_000)
        try await pair.begin()
        #expect(await pair.write([1, 2, 3]))
        #expect(await pair.received(atLeast: 3) == [1, 2, 3])
        await pair.closeClient()
        await pair.serverEnded()
        #expect(await !pair.write([4]))
    }
}

/// A client, a listener and what it accepted, on a loop of their own.
private actor StreamPair {
    nonisolated let loop = NetworkLoop(name: "test-stream")
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let listener: StreamListener
    private let client: StreamSocket
    private var server: StreamSocket?
    private var bytes: [UInt8] = []
    private var error: SystemError?
    private var hasEnded = false
    private var reader: Reader?
    private var tokens: (listener: UInt64, client: UInt64, server: UInt64) = (0, 0, 0)
    private var waiters: [(isDone: () -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

    init(limit: Int, to remote: TransportAddress? = nil) async throws {
        listener = try StreamListener(binding: TransportAddress(.v4(0x7f00_0001), port: 0))
        client = try StreamSocket(connectingTo: remote ?? listener.address, limit: limit)
    }

    var count: Int { bytes.count }

    func begin() throws {
        let reader = Reader(self)
        self.reader = reader
        tokens.listener = try listener.attach(to: loop, reader: reader)
        tokens.client = try client.attach(to: loop, reader: reader)
    }

    func write(_ bytes: [UInt8]) -> Bool { client.write(bytes) }

    func received(atLeast count: Int) async -> [UInt8] {
        await wait { self.bytes.count >= count }
        return bytes
    }

    func failure() async -> SystemError {
        await wait { self.error != nil }
        return error ?? SystemError("none", negated: 0)
    }

    func serverEnded() async { await wait { self.hasEnded } }

    var addressesAgree: Bool { client.local == server?.remote && client.remote == server?.local }

    func closeClient() { client.close() }

    /// The server says something and is gone, with something unread, while the client writes. What the client reads
    /// then, and how that ends.
    func afterReset(saying words: [UInt8]) -> ([UInt8], StreamSocket.ReadResult) {
        _ = client.write([2])
        _ = server?.write(words)
        server?.close()
        while client.state == .open { _ = client.write([3]) }
        var read: [UInt8] = []
        while true {
            let result = client.read(into: &read)
            guard result == .bytes else { return (read, result) }
        }
    }

    func end() {
        client.close()
        server?.close()
        listener.close()
        loop.forget([tokens.listener, tokens.client, tokens.server])
    }

    private func wait(until isDone: @escaping () -> Bool) async {
        guard !isDone() else { return }
        await withCheckedContinuation { waiters.append((isDone, $0)) }
    }

    fileprivate func ready(_ token: UInt64) {
        switch token {
        case tokens.listener: accept()
        case tokens.client: look(at: client)
        default: if let server { look(at: server) }
        }
        let done = waiters.filter { $0.isDone() }
        waiters.removeAll { $0.isDone() }
        for waiter in done { waiter.continuation.resume() }
    }

    private func accept() {
        guard let reader, let accepted = listener.accept() else { return }
        server = accepted
        tokens.server = (try? accepted.attach(to: loop, reader: reader)) ?? 0
    }

    private func look(at socket: StreamSocket) {
        socket.becameReady()
        while true {
            switch socket.read(into: &bytes) {
            case .bytes: continue
            case .none: return
            case .ended:
                hasEnded = true
                socket.close()
                return
            case .failed(let error):
                self.error = error
                socket.close()
                return
            }
        }
    }

    private final class Reader: SocketReader {
        private unowned let owner: StreamPair
        init(_ owner: StreamPair) { self.owner = owner }
        func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
            owner.assumeIsolated { $0.ready(token) }
        }
    }
}
