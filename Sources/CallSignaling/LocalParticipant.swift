/// Somebody in a call room who lives in the server's own process.
public final class LocalParticipant: Sendable {
    /// How many events may wait for the reader; with more the participant leaves.
    private static let eventLimit = 4_096

    /// Ourselves, as the others are told.
    public let user: CallRoomUser
    /// What happens in the room, the others' signals among it. For one reader; ends when the participant left.
    public let events: AsyncStream<CallRoomEvent>
    private let continuation: AsyncStream<CallRoomEvent>.Continuation
    private let server: CallRoomServer

    init(user: CallRoomUser, server: CallRoomServer) {
        self.user = user
        self.server = server
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.eventLimit))
        continuation.yield(.connected)
    }

    func receive(_ event: CallRoomEvent) {
        if case .dropped = continuation.yield(event) { leave() }
    }

    /// Sends to the others in the room.
    public func emit(_ signal: CallSignal) { server.relay(signal, from: self) }

    /// Leaves the room; the others get `room_user_left`. Repeatable.
    public func leave() {
        server.leave(self)
        continuation.finish()
    }
}
