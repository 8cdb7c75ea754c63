import Foundation
import LiveKitCore
import LiveKitProtocol
import Logging
import RTCSecurity
import RTCWire
import SocketIO

@testable import LiveKitServer

/// A server with real sockets on free ports of 127.0.0.1.
struct TestServer {
    static let key = try? APIKey("test", secret: "a secret that is long enough for anybody")

    let livekit: LiveKitServer
    let http: SocketIOServer
    let port: Int
    let media: [MediaWorker.Ports]

    static func run(
        logger: Logger = Logger(label: "livekit"), _ change: (inout LiveKitServerConfiguration) -> Void = { _ in },
        _ body: (TestServer) async throws -> Void
    ) async throws {
        guard let key else { throw Unusable() }
        var media = MediaWorkerConfiguration(
            addresses: [.init(local: .v4(0x7f00_0001))], security: try OpenSSLSecurity())
        media.port = 0
        media.tcpPort = 0
        var configuration = LiveKitServerConfiguration(keys: APIKeys(key), signingKey: key, media: media)
        change(&configuration)
        let livekit = LiveKitServer(configuration, logger: logger)
        let ports = try await livekit.start()
        var options = SocketIOServerConfiguration()
        options.webSockets = { await livekit.webSocket($0) }
        options.fallbackBodyLimitOf = { livekit.bodyLimit(of: $0) }
        options.bodyTooLarge = { LiveKitServer.tooLarge($0) }
        options.fallback = { await livekit.answer($0) ?? .text("elsewhere\n", status: 404) }
        let http = SocketIOServer(configuration: options)
        do {
            let port = try await http.bind(host: "127.0.0.1", port: 0)
            try await body(TestServer(livekit: livekit, http: http, port: port, media: ports))
        } catch {
            await livekit.stop()
            await http.shutdown()
            throw error
        }
        await livekit.stop()
        await http.shutdown()
    }

    struct Unusable: Error {}

    static func token(
        identity: String = "ann", room: String = "kitchen", validFor validity: TimeInterval = 600,
        _ change: (inout VideoGrants) -> Void = { _ in }
    ) throws -> String {
        var grants = VideoGrants()
        grants.roomJoin = true
        grants.room = room
        change(&grants)
        var claims = AccessToken.Claims()
        claims.video = grants
        guard let key else { throw Unusable() }
        return try AccessToken(identity: identity, claims: claims, at: Date(), validFor: validity).signed(with: key)
    }

    /// For the room service.
    static func serviceToken(_ change: (inout VideoGrants) -> Void) throws -> String {
        try token(identity: "", room: "") { grants in
            grants.roomJoin = false
            change(&grants)
        }
    }

    // MARK: Clients

    /// Asks for a path and returns the status and the body.
    func ask(
        _ target: String, method: String = "GET", headers: [String: String] = [:], body: [UInt8] = []
    ) async throws -> (status: Int, headers: String, body: String) {
        let socket = try await RawSocket(port: port)
        var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if !body.isEmpty { head += "Content-Length: \(body.count)\r\n" }
        socket.send(Array((head + "\r\n").utf8) + body)
        let answer = String(decoding: await socket.readToEnd(), as: UTF8.self)
        let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        let status = answer.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return (status, String(parts.first ?? ""), parts.count > 1 ? String(parts[1]) : "")
    }

    func openWebSocket(_ target: String, headers: [String: String] = [:]) async throws -> TestWebSocket {
        try await TestWebSocket(target, port: port, headers: headers)
    }
}
