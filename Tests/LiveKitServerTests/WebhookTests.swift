import Foundation
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
        private let state = Mutex((statuses: [Int](), events: [String]()))

        init(statuses: [Int] = []) { state.withLock { $0.statuses = statuses } }

        var events: [String] { state.withLock { $0.events } }

        func take(_ request: SocketIOHTTPRequest, keys: APIKeys) -> SocketIOHTTPResponse {
            let event = try? LiveKitWebhookEvent(
                verifying: request.body, authorization: request.header("Authorization") ?? "", with: keys, at: Date())
            guard let event, request.header("Content-Type") == "application/webhook+json" else {
                return .text("", status: 401)
            }
            return state.withLock { state in
                let status = state.statuses.isEmpty ? 200 : state.statuses.removeFirst()
                state.events.append(event.event)
                return .text("", status: status)
            }
        }
    }

    private static func run(
        _ receiver: Receiver, _ body: (WebhookSender) async throws -> Void
    ) async throws {
        let key = try #require(TestServer.key)
        var configuration = SocketIOServerConfiguration()
        configuration.fallback = { receiver.take($0, keys: APIKeys(key)) }
        let server = SocketIOServer(configuration: configuration)
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        let url = try #require(WebhookURL("http://127.0.0.1:\(port)/hooks?kind=test"))
        let sender = WebhookSender(urls: [url], key: key, logger: Logger(label: "test"))
        try await body(sender)
        await sender.finish(within: .seconds(60))
        await server.shutdown()
    }

    private static func event(_ name: String) -> LiveKitWebhookEvent {
        var event = LiveKitWebhookEvent()
        event.event = name
        return event
    }

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

    @Test(arguments: ["ftp://example.org/", "example.org", "http://", "ws://example.org/"])
    func `what is no URL of a web server is none`(text: String) {
        #expect(WebhookURL(text) == nil)
    }
}
