internal import Synchronization

/// What the function of a worker is given for one job. The room is joined by `connect()`, and left when the function
/// returns or throws, or the job is called off.
public struct AgentJobContext: Sendable {
    /// Whether the job may still join its room.
    private final class End: Sendable {
        private let state = Mutex(false)
        var hasCome: Bool { state.withLock { $0 } }
        func come() { state.withLock { $0 = true } }
    }

    /// What is to be done, where, and for whom.
    public let job: AgentJob
    /// The job's room, in which nobody is before `connect()`. Its events can be listened to already.
    public let room: Room
    private let url: String
    private let token: String
    private let end = End()

    init(_ job: AgentJob, in room: Room, url: String, token: String) {
        self.job = job
        self.room = room
        self.url = url
        self.token = token
    }

    /// Joins the room; back when media can flow. A server waits for it for a minute.
    ///
    /// - Throws: as `Room.connect`; `RoomError.disconnected(.clientInitiated)` once the job is called off or cancelled.
    ///   A task that is cancelled while it connects leaves the room for good.
    public func connect() async throws(RoomError) {
        let result = await withTaskCancellationHandler {
            await join()
        } onCancel: {
            Task { await leave() }
        }
        try result.get()
    }

    private func join() async -> Result<Void, RoomError> {
        do throws(RoomError) {
            try await room.connect(url: url, token: token) { [end] in end.hasCome }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// The room is left for good.
    func leave() async {
        end.come()
        await room.disconnect()
    }

    /// Waits for somebody; back at once when they are there. To be called after `connect()`.
    ///
    /// - Parameter identity: whom; nil for the one that the job is about, or, where it is about the room, for whoever
    ///   is, or comes, first that is neither an agent nor a recorder.
    /// - Returns: nil where the room is not joined, when it is left before, and when the task is cancelled.
    public func waitForParticipant(_ identity: ParticipantIdentity? = nil) async -> RemoteParticipant? {
        let wanted = identity ?? job.participant?.identity
        // Listened to before it is looked, so that nobody comes unseen.
        let events = room.broadcast.stream(isFirst: false)
        guard !Task.isCancelled, await room.connectionState != .disconnected else { return nil }
        func isWanted(_ participant: RemoteParticipant) -> Bool {
            if let wanted { return participant.identity == wanted }
            return participant.kind != .agent && participant.kind != .egress
        }
        if let present = await room.remoteParticipants.values.first(where: isWanted) { return present }
        for await event in events {
            if case .participantConnected(let participant) = event, isWanted(participant) { return participant }
        }
        return nil
    }
}
