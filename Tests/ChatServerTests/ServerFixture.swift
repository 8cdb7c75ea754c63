import ChatCore
import ChatModel
import ChatStoreSQLite
import Foundation
import Logging

import Synchronization

@testable import ChatServer
@testable import SocketIO

/// A chat server in memory, asked without sockets, at a time that the test moves.
final class ServerFixture: Sendable {
    let server: ChatServer
    let service: ChatService
    let mails: MailBox
    private let clock: Clock

    final class Clock: Sendable {
        private let time = Mutex(Timestamp(milliseconds: 1_790_000_000_000))
        var now: Timestamp { time.withLock { $0 } }
        func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
    }

    /// Takes letters, where a test reads them.
    final class MailBox: Mailer {
        let isDelivering: Bool
        private let mails = Mutex<[Mail]>([])
        init(isDelivering: Bool) { self.isDelivering = isDelivering }
        func send(_ mail: Mail) { mails.withLock { $0.append(mail) } }
        var count: Int { mails.withLock { $0.count } }
        /// The next letter, once it is there.
        func next() async -> Mail {
            while true {
                if let mail = mails.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return mail }
                await Task.yield()
            }
        }
    }

    init(
        isRegistrationOpen: Bool = true, isDelivering: Bool = false, fileStore: (any FileStore)? = nil,
        thumbnailer: Thumbnailer? = nil, pictureFolder: String? = nil, passwordCost: UInt64? = nil,
        database wrap: (any ChatDatabase) -> any ChatDatabase = { $0 }
    ) async throws {
        let clock = Clock()
        let mails = MailBox(isDelivering: isDelivering)
        let service = ChatService(
            database: wrap(try SQLiteChatDatabase(inMemoryAt: clock.now)), now: { clock.now })
        var configuration = ChatServerConfiguration()
        configuration.isRegistrationOpen = isRegistrationOpen
        configuration.fileStore = fileStore
        configuration.thumbnailer = thumbnailer
        configuration.pictureFolder = pictureFolder
        configuration.passwordCost = passwordCost ?? configuration.passwordCost
        server = try await ChatServer(
            configuration, service: service, mailer: mails, logger: Logger(label: "test"))
        try await server.start()
        self.service = service
        self.clock = clock
        self.mails = mails
    }

    func advance(by duration: Duration) { clock.advance(by: duration) }

    struct Answer {
        let status: Int
        let headers: [(name: String, value: String)]
        let body: [UInt8]

        func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try JSONDecoder().decode(type, from: Data(body))
        }

        var error: String { get throws { try json(ErrorBody.self).error.code } }
        func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    }

    func ask(
        _ method: String, _ path: String, _ body: (any Encodable & Sendable)? = nil, token: String? = nil,
        headers: [(name: String, value: String)] = [], from address: String = "127.0.0.1:4000"
    ) async throws -> Answer {
        let parts = path.split(separator: "?", maxSplits: 1)
        var headers = headers
        if let token { headers.append(("authorization", "Bearer \(token)")) }
        let request = SocketIOHTTPRequest(
            method: method, path: ChatServer.path + String(parts[0]),
            query: EngineIOQuery(parts.count > 1 ? String(parts[1]) : ""), headers: headers,
            body: try body.map { [UInt8](try JSONEncoder().encode($0)) } ?? [], remoteAddress: address, localPort: 80)
        return try await ask(request)
    }

    func ask(_ request: SocketIOHTTPRequest) async throws -> Answer {
        guard let response = await server.answer(request) else { throw NoAnswer() }
        let body: [UInt8]
        switch response.body {
        case .bytes(let bytes): body = bytes
        case .chunks(let chunks, let length):
            // As the HTTP server does.
            guard request.method != "HEAD" else {
                return Answer(
                    status: response.status, headers: response.headers + [("Content-Length", "\(length)")], body: [])
            }
            var bytes: [UInt8] = []
            for try await chunk in chunks { bytes += chunk }
            guard bytes.count == length else { throw NoAnswer() }
            body = bytes
        case .file: throw NoAnswer()
        }
        return Answer(status: response.status, headers: response.headers, body: body)
    }

    struct NoAnswer: Error {}

    /// Somebody who is logged in.
    func login(_ username: String) async throws -> TokenPair {
        _ = try await register(username)
        return try await ask("POST", "/auth/login", LoginRequest(login: username, password: "correct horse")).json()
    }

    /// Registers, without more.
    func register(_ username: String, email: String? = nil, invitation: String? = nil) async throws -> Answer {
        try await ask(
            "POST", "/auth/register",
            RegisterRequest(
                email: email ?? "\(username)@example.org", username: username, displayName: username.capitalized,
                password: "correct horse", invitation: invitation))
    }

    /// Somebody who has confirmed their address by the letter to it, and is logged in.
    func loginByLetter(_ username: String, invitation: String? = nil) async throws -> TokenPair {
        _ = try await register(username, invitation: invitation)
        let secret = await mails.next().link?.split(separator: "/").last
        _ = try await ask("POST", "/auth/verify_email", TokenRequest(token: String(secret ?? "")))
        return try await ask("POST", "/auth/login", LoginRequest(login: username, password: "correct horse")).json()
    }
}
