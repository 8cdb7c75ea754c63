public import Logging
public import SocketIO
import Synchronization

/// A client in a call room.
///
/// ```swift
/// let room = try await CallRoomClient.join(url: "http://localhost:3000", room: 1, username: "Ann", isCaller: true)
/// for await event in room.events { … }
/// ```
/// A lost connection is made again and the room joined again. Servers that do not tell a newcomer who is present
/// are coped with: the first offer, answer or candidate of somebody unknown is preceded by a `userJoined` with an
/// empty name.
public final class CallRoomClient: Sendable {
    /// Ourselves.
    public let user: CallRoomUser
    /// What happens in the room. For one reader; ends when the connection has ended for good.
    public let events: AsyncStream<CallRoomEvent>

    private let client: SocketIOClient
    private let pump: Task<Void, Never>

    /// Connects and joins. Fails if the server cannot be reached or refuses: its `connect_error`'s message and data
    /// are in `SocketIOClientDisconnectReason.refused`.
    public static func join(
        url: String, room: Int, username: String, isCaller: Bool,
        configuration: SocketIOClientConfiguration = SocketIOClientConfiguration(),
        logger: Logger = Logger(label: "roost.room")
    ) async throws(SocketIOClientError) -> CallRoomClient {
        var configuration = configuration
        configuration.connectParams += [
            EngineIOQuery.Item(name: CallRoomField.roomId.rawValue, value: String(room)),
            EngineIOQuery.Item(name: CallRoomField.username.rawValue, value: username),
            EngineIOQuery.Item(name: CallRoomField.isCaller.rawValue, value: isCaller ? "true" : "false"),
        ]
        let client = try SocketIOClient(url: url, configuration: configuration, logger: logger)
        let room = CallRoomClient(
            client: client, user: CallRoomUser(username: username, roomId: room, isCaller: isCaller))
        do throws(SocketIOClientError) {
            try await client.connect()
        } catch {
            room.pump.cancel()
            throw error
        }
        return room
    }

    private init(client: SocketIOClient, user: CallRoomUser) {
        self.client = client
        self.user = user
        let (events, continuation) = AsyncStream.makeStream(
            of: CallRoomEvent.self, bufferingPolicy: .bufferingOldest(client.configuration.eventBufferLimit))
        self.events = events
        let happenings = client.happenings()
        pump = Task {
            var presence = CallRoomPresence(user: user)
            for await happening in happenings {
                var isTaken = true
                for event in presence.received(happening) {
                    if case .dropped = continuation.yield(event) { isTaken = false }
                }
                // A reader that does not keep up has lost track of the room: better no connection than a wrong one.
                if !isTaken { await client.disconnect() }
                if presence.isOver || !isTaken { break }
            }
            continuation.finish()
        }
    }

    deinit { pump.cancel() }

    /// Sends to the others in the room; kept while the connection is lost.
    public func send(_ signal: CallSignal) { client.emit(signal.name, [.json(signal.payload)]) }

    /// Leaves the room and closes the connection. `events` ends.
    public func leave() async { await client.disconnect() }
}
