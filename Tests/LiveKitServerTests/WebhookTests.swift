import LiveKitProtocol
import Logging
import SocketIO
import Synchronization
import Testing

@testable import LiveKitServer

/// Deliveries to a receiver with a real socket.
@Suite(.timeLimit(.minutes(2))) struct WebhookTests {
    /// Takes webhooks as LiveKit's receivers do, and answers as it is told to.
    final class Receiver: Sendable {
        private let state = Mutex((statuses: [Int](), events: [String](), lastBody: [UInt8]()))

        init(statuses: [Int] = []) { state.withLock { $0.statuses = statuses } }

        var events: [String] { state.withLock { $0.events } }
        var lastBody: [UInt8] { state.withLock { $0.lastBody } }

        func take(_ request: SocketIOHTTPRequest) -> SocketIOHTTPResponse {
            guard let event = WebhookBench.event(in: request) else { return .text("", status: 401) }
            return state.withLock { state in
                let status = state.statuses.isEmpty ? 200 : state.statuses.removeFirst()
                state.events.append(event.event)
                state.lastBody = request.body
                return .text("", status: status)
            }
        }
    }

    private static func run(
        _ receiver: Receiver, logger: Logger = Logger(label: "test"), _ body: (WebhookSender) async throws -> Void
    ) async throws {
        try await WebhookBench.run(logger: logger, answer: { receiver.take($0) }, body)
    }

    private static func event(_ name: String) -> LiveKitWebhookEvent { WebhookBench.event(name) }

    @Test func `events come signed, in their order`() async throws {
        let receiver = Receiver()
        let names = (1...20).map { "event \($0)" }
        try await Self.run(receiver) { sender in
            for name in names { sender.send(Self.event(name)) }
            await sender.finish(within: .seconds(60))
            #expect(receiver.events == names)
            #expect(sender.statistics == WebhookStatistics(delivered: 20, failedAttempts: 0, lost: 0))
        }
    }

    @Test func `another server's event is handed on byte by byte, in its turn`() async throws {
        let receiver = Receiver()
        try await Self.run(receiver) { sender in
            sender.send(Self.event("ours"))
            let theirs = Array(#"{ "event" : "theirs", "aFieldOfTomorrow" : [1] }"#.utf8)
            sender.passOn(theirs, event: Self.event("theirs"))
            await sender.finish(within: .seconds(60))
            #expect(receiver.events == ["ours", "theirs"])
            #expect(receiver.lastBody == theirs)
        }
    }

    @Test func `what fails is tried again before the next one`() async throws {
        let receiver = Receiver(statuses: [500, 503])
        try await Self.run(receiver) { sender in
            sender.send(Self.event("first"))
            sender.send(Self.event("second"))
            await sender.finish(within: .seconds(60))
            #expect(receiver.events == ["first", "first", "first", "second"])
            #expect(sender.statistics == WebhookStatistics(delivered: 2, failedAttempts: 2, lost: 0))
        }
    }

    /// RFC 9110 §15.4.8, §15.4.9.
    @Test func `a receiver that has moved is followed, with the signature`() async throws {
        let receiver = Receiver()
        let key = try #require(TestServer.key)
        var configuration = SocketIOServerConfiguration()
        configuration.fallback = { request in
            switch request.path {
            case "/moved/": Self.redirection(308, to: "there?kind=test")
            case "/moved/there": receiver.take(request)
            default: .text("", status: 404)
            }
        }
        let there = SocketIOServer(configuration: configuration)
        let port = try await there.bind(host: "127.0.0.1", port: 0)
        configuration.fallback = { _ in Self.redirection(307, to: "http://127.0.0.1:\(port)/moved/") }
        let here = SocketIOServer(configuration: configuration)
        let firstPort = try await here.bind(host: "127.0.0.1", port: 0)
        let url = try #require(WebhookURL("http://127.0.0.1:\(firstPort)/"))
        let sender = WebhookSender(urls: [url], key: key, logger: Logger(label: "test"))
        sender.send(Self.event("first"))
        sender.send(Self.event("second"))
        await sender.finish(within: .seconds(60))
        #expect(receiver.events == ["first", "second"])
        #expect(sender.statistics == WebhookStatistics(delivered: 2, failedAttempts: 0, lost: 0))
        await here.shutdown()
        await there.shutdown()
    }

    @Test func `what is taken with a long answer is not said again`() async throws {
        let receiver = Receiver()
        let long = [UInt8](repeating: 120, count: 12 << 20)
        try await WebhookBench.run(answer: { request in
            var answer = receiver.take(request)
            answer.body = .bytes(long)
            return answer
        }) { sender in
            sender.send(Self.event("first"))
            sender.send(Self.event("second"))
            await sender.finish(within: .seconds(60))
            #expect(receiver.events == ["first", "second"])
            #expect(sender.statistics == WebhookStatistics(delivered: 2))
        }
    }

    private static func redirection(_ status: Int, to location: String) -> SocketIOHTTPResponse {
        SocketIOHTTPResponse(status: status, headers: [("Location", location)])
    }

    @Test func `who is sent on without end gives up, and other redirections are not followed`() async throws {
        var configuration = SocketIOServerConfiguration()
        let counted = Counter()
        configuration.fallback = { request in
            counted.value.add(1, ordering: .relaxed)
            return Self.redirection(request.path == "/other" ? 302 : 307, to: "/again")
        }
        let server = SocketIOServer(configuration: configuration)
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        for (path, status, requests) in [("again", 307, 6), ("other", 302, 7)] {
            let poster = try HTTPPoster(url: "http://127.0.0.1:\(port)/\(path)")
            let answer = try await poster.post([1], headers: [])
            #expect(answer == status)
            #expect(counted.value.load(ordering: .relaxed) == requests)
            await poster.close()
        }
        await server.shutdown()
    }

    @Test func `however often it is sent on, a post takes no longer than one`() async throws {
        var configuration = SocketIOServerConfiguration()
        let counted = Counter()
        configuration.fallback = { _ in
            counted.value.add(1, ordering: .relaxed)
            try? await Task.sleep(for: .milliseconds(700))
            return Self.redirection(307, to: "/again")
        }
        let server = SocketIOServer(configuration: configuration)
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        let poster = try HTTPPoster(url: "http://127.0.0.1:\(port)/", timeout: .seconds(1))
        await #expect(throws: HTTPRequester.Failure.late) { try await poster.post([1], headers: []) }
        #expect(counted.value.load(ordering: .relaxed) <= 3)
        await poster.close()
        await server.shutdown()
    }

    private final class Counter: Sendable { let value = Atomic(0) }

    @Test func `what is refused is not said again`() async throws {
        let receiver = Receiver(statuses: [400])
        try await Self.run(receiver) { sender in
            sender.send(Self.event("first"))
            sender.send(Self.event("second"))
            await sender.finish(within: .seconds(60))
            #expect(receiver.events == ["first", "second"])
            #expect(sender.statistics == WebhookStatistics(delivered: 1, failedAttempts: 1, lost: 1))
        }
    }

    @Test func `what has not been taken when the server goes down is counted, and said`() async throws {
        let log = Log()
        let receiver = Receiver(statuses: Array(repeating: 503, count: 1_000))
        try await Self.run(receiver, logger: Logger(label: "test") { _ in log }) { sender in
            for number in 1...20 { sender.send(Self.event("event \(number)")) }
            #expect(sender.statistics.waiting == 20)
            await sender.finish(within: .milliseconds(50))
            #expect(sender.statistics.waiting == 0 && sender.statistics.lost == 20)
            let lines = log.lines
            #expect(lines.count == 1 && lines.first?.hasSuffix("20") == true, "\(lines)")
            sender.send(Self.event("too late"))
            #expect(sender.statistics.waiting == 0 && sender.statistics.lost == 21)
        }
    }

    @Test func `what is sent while the server goes down is counted once`() async throws {
        let key = try #require(TestServer.key)
        // Where nobody listens.
        let url = try #require(WebhookURL("http://127.0.0.1:9/"))
        for _ in 0..<100 {
            let sender = WebhookSender(urls: [url], key: key, logger: Logger(label: "test") { _ in Log() })
            let senders = (0..<4).map { _ in Task { for _ in 0..<50 { sender.send(Self.event("event")) } } }
            await sender.finish(within: .zero)
            for task in senders { await task.value }
            #expect(sender.statistics.waiting == 0 && sender.statistics.lost == 200)
        }
    }

    @Test func `a sender that is let go of without an end leaves nothing that goes on`() async throws {
        let key = try #require(TestServer.key)
        // Where nobody listens.
        let url = try #require(WebhookURL("http://127.0.0.1:9/"))
        weak var log: Log?
        do {
            let kept = Log()
            log = kept
            let sender = WebhookSender(
                urls: [url], key: key, logger: Logger(label: "test") { _ in kept }, pauses: [.seconds(3_600)])
            sender.send(Self.event("event"))
        }
        // Deliveries have it.
        for _ in 0..<1_000 where log != nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(log == nil)
    }

    @Test(arguments: ["ftp://example.org/", "example.org", "http://", "ws://example.org/"])
    func `what is no URL of a web server is none`(text: String) {
        #expect(WebhookURL(text) == nil)
    }
}
