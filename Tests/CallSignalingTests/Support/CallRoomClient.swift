import Logging
import SocketIO

@testable import CallSignaling

/// A client of the rooms that tells what the server says, but for `room_users`. The product's is `ClientKit`'s
/// `SocketIOCallSignaling`; this one draws no conclusions, so that a test sees what is on the wire.
final class CallRoomClient: Sendable {
    enum Event: Hashable, Sendable {
        case connected
        case userJoined(CallRoomUser)
        case userLeft(username: String)
        case offer(RawJSON)
        case answer(RawJSON)
        case candidate(RawJSON)
        case disconnected(SocketIOClientDisconnectReason, willReconnect: Bool)
    }

    let user: CallRoomUser
    let events: AsyncStream<Event>
    private let client: SocketIOClient
    private let pump: Task<Void, Never>

    static func join(
        url: String, room: Int, username: String, isCaller: Bool, configuration: SocketIOClientConfiguration
    ) async throws -> CallRoomClient {
        var configuration = configuration
        configuration.connectParams += [
            .init(name: "roomId", value: String(room)), .init(name: "username", value: username),
            .init(name: "isCaller", value: isCaller ? "true" : "false"),
        ]
        let client = try SocketIOClient(url: url, configuration: configuration, logger: Logger(label: "test.room"))
        let joined = CallRoomClient(client, CallRoomUser(username: username, roomId: room, isCaller: isCaller))
        try await client.connect()
        return joined
    }

    private init(_ client: SocketIOClient, _ user: CallRoomUser) {
        self.client = client
        self.user = user
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        self.events = events
        let happenings = client.happenings()
        pump = Task {
            for await happening in happenings {
                if let event = Self.event(happening) { continuation.yield(event) }
                if case .state(.disconnected(.some)) = happening { break }
            }
            continuation.finish()
        }
    }

    deinit { pump.cancel() }

    func send(_ signal: CallSignal) { client.emit(signal.name, [.json(signal.payload)]) }

    func leave() async { await client.disconnect() }

    private static func event(_ happening: SocketIOClientHappening) -> Event? {
        switch happening {
        case .state(.connected): return .connected
        case .state(.reconnecting(1, _, let reason)): return .disconnected(reason, willReconnect: true)
        case .state(.disconnected(let reason?)): return .disconnected(reason, willReconnect: false)
        case .state(.disconnected(nil)), .state(.connecting), .state(.reconnecting): return nil
        case .event(let event): return event.arguments.first.flatMap { Self.event(event.name, $0) }
        }
    }

    private static func event(_ name: String, _ payload: RawJSON) -> Event? {
        switch name {
        case "room_user_joined":
            guard let username = payload["username"]?.string, let room = payload["roomId"]?.int,
                let isCaller = payload["isCaller"]?.bool
            else { return nil }
            return .userJoined(CallRoomUser(username: username, roomId: room, isCaller: isCaller))
        case "room_user_left": return payload["username"]?.string.map { .userLeft(username: $0) }
        case "offer": return .offer(payload)
        case "answer": return .answer(payload)
        case "candidate": return .candidate(payload)
        default: return nil
        }
    }
}
