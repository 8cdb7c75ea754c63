internal import ChatServer
internal import Foundation
internal import SocketIO
internal import Synchronization

/// `GET /health/ready`: whether a balancer is to send people here.
final class Readiness: Sendable {
    static let path = "/health/ready"

    /// Set once, when the server is told to end.
    private let isGoingDown = Atomic(false)
    /// Nil without chat, which has the only database.
    private let chat: ChatServer?

    init(chat: ChatServer?) { self.chat = chat }

    /// From now on it is not ready.
    func goesDown() { isGoingDown.store(true, ordering: .relaxed) }

    enum Problem: String, Encodable {
        /// It was told to end, and answers only what is under way.
        case goingDown = "going_down"
        /// The database has not answered within a second.
        case database
    }

    private struct Answer: Encodable {
        let status: String
        let problems: [Problem]
    }

    func answer() async -> SocketIOHTTPResponse {
        var problems: [Problem] = isGoingDown.load(ordering: .relaxed) ? [.goingDown] : []
        if let chat, await !chat.isDatabaseThere() { problems.append(.database) }
        let answer = Answer(status: problems.isEmpty ? "ready" : "not_ready", problems: problems)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let body = try? encoder.encode(answer) else { return .text("", status: 500) }
        return SocketIOHTTPResponse(
            status: problems.isEmpty ? 200 : 503,
            headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
            body: .bytes([UInt8](body)))
    }
}
