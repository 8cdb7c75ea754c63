import SocketIO
import Testing

/// Requests to another server, with real sockets on loopback.
@Suite(.timeLimit(.minutes(2))) struct HTTPRequesterTests {
    private static func run(
        limits: HTTPRequester.Limits = .init(),
        answer: @escaping @Sendable (SocketIOHTTPRequest) async -> SocketIOHTTPResponse,
        _ body: (HTTPRequester) async throws -> Void
    ) async throws {
        var configuration = SocketIOServerConfiguration()
        configuration.fallback = answer
        let server = SocketIOServer(configuration: configuration)
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        let requester = HTTPRequester(try RemoteServer(url: "http://127.0.0.1:\(port)"), limits: limits)
        try await body(requester)
        requester.close()
        await server.shutdown()
    }

    private static func status(_ requester: HTTPRequester, _ target: String = "/") async throws -> Int {
        try await requester.ask("GET", target, headers: []).status
    }

    @Test func `requests one after the other have one connection`() async throws {
        try await Self.run { request in
            .text("\(request.remoteAddress) \(request.method) \(String(decoding: request.body, as: UTF8.self))")
        } _: { requester in
            var answers: Set<String> = []
            for _ in 0..<3 {
                let response = try await requester.ask("PATCH", "/", headers: [], body: Array("hello".utf8))
                if case .bytes(let bytes) = response.body { answers.insert(String(decoding: bytes, as: UTF8.self)) }
            }
            #expect(answers.count == 1 && answers.first?.hasSuffix(" PATCH hello") == true)
        }
    }

    @Test func `a server that does not answer is not waited for`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        try await Self.run { _ in
            for await _ in held {}
            return .text("late")
        } _: { requester in
            let began = ContinuousClock.now
            await #expect(throws: HTTPRequester.Failure.late) {
                try await requester.ask("GET", "/", headers: [], timeout: .milliseconds(100))
            }
            // Not for the usual minute.
            #expect(ContinuousClock.now - began < .seconds(30))
            release.finish()
        }
    }

    @Test func `so many requests are under way and no more`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        var limits = HTTPRequester.Limits()
        limits.requests = 1
        try await Self.run(limits: limits) { _ in
            arrived.yield()
            for await _ in held {}
            return .text("late")
        } _: { requester in
            async let first = Self.status(requester)
            for await _ in arrivals { break }
            await #expect(throws: HTTPRequester.Failure.busy) { try await requester.ask("GET", "/", headers: []) }
            release.finish()
            let statuses = [try await first, try await Self.status(requester)]
            #expect(statuses == [200, 200])
        }
    }

    @Test func `an answer that is too large is none`() async throws {
        var limits = HTTPRequester.Limits()
        limits.responseBytes = 1_000
        try await Self.run(limits: limits) { request in
            .text(String(repeating: "x", count: request.path == "/large" ? 1_001 : 1_000))
        } _: { requester in
            let status = try await Self.status(requester)
            #expect(status == 200)
            await #expect(throws: HTTPRequester.Failure.tooLarge) { try await Self.status(requester, "/large") }
        }
    }

    @Test func `where nobody listens, it is said`() async throws {
        let server = SocketIOServer(configuration: .init())
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        await server.shutdown()
        let requester = HTTPRequester(try RemoteServer(url: "http://127.0.0.1:\(port)"))
        await #expect(throws: HTTPRequester.Failure.unreachable("connection refused by 127.0.0.1:\(port)")) {
            try await requester.ask("GET", "/", headers: [])
        }
    }
}
