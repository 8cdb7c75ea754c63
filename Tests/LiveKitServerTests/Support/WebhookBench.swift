import Foundation
import LiveKitProtocol
import Logging
import SocketIO
import Testing

@testable import LiveKitServer

/// A sender of webhooks, and what answers them, with a real socket.
enum WebhookBench {
    static func run(
        logger: Logger = Logger(label: "test"), pauses: [Duration] = WebhookSender.pauses,
        answer: @escaping @Sendable (SocketIOHTTPRequest) async -> SocketIOHTTPResponse,
        _ body: (WebhookSender) async throws -> Void
    ) async throws {
        let key = try #require(TestServer.key)
        var configuration = SocketIOServerConfiguration()
        configuration.fallback = answer
        let server = SocketIOServer(configuration: configuration)
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        let url = try #require(WebhookURL("http://127.0.0.1:\(port)/hooks?kind=test"))
        let sender = WebhookSender(urls: [url], key: key, logger: logger, pauses: pauses)
        try await body(sender)
        await sender.finish(within: .seconds(60))
        await server.shutdown()
    }

    static func event(_ name: String, ofRoom room: String? = nil) -> LiveKitWebhookEvent {
        var event = LiveKitWebhookEvent()
        event.event = name
        if let room { event.room.name = room }
        return event
    }

    /// What was posted, if it is signed by the server's key.
    static func event(in request: SocketIOHTTPRequest) -> LiveKitWebhookEvent? {
        guard let key = TestServer.key, request.header("Content-Type") == SignedWebhook.contentType else { return nil }
        return try? LiveKitWebhookEvent(
            verifying: request.body, authorization: request.header("Authorization") ?? "", with: APIKeys(key),
            at: Date())
    }
}
