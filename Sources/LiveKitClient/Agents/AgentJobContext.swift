/// What the function of a worker is given for one job. The room is joined by `connect()`, and left when the function
/// returns or throws.
public struct AgentJobContext: Sendable {
    public let job: AgentJob
    /// The job's room, in which nobody is before `connect()`. Its events can be listened to already.
    public let room: Room
    private let url: String
    private let token: String

    init(_ job: AgentJob, in room: Room, url: String, token: String) {
        self.job = job
        self.room = room
        self.url = url
        self.token = token
    }

    /// Joins the room; back when media can flow. A server waits for it for a minute.
    public func connect() async throws(RoomError) { try await room.connect(url: url, token: token) }

    /// Waits for somebody, after `connect()`; back at once when they are there.
    ///
    /// - Parameter identity: whom; nil for whoever is, or comes, first that is neither an agent nor a recorder.
    /// - Returns: nil when the room is left before, or the task is cancelled.
    public func waitForParticipant(_ identity: ParticipantIdentity? = nil) async -> RemoteParticipant? {
        // Listened to before it is looked, so that nobody comes unseen.
        let events = room.broadcast.stream(isFirst: false)
        func isWanted(_ participant: RemoteParticipant) -> Bool {
            if let identity { return participant.identity == identity }
            return participant.kind != .agent && participant.kind != .egress
        }
        if let present = await room.remoteParticipants.values.first(where: isWanted) { return present }
        for await event in events {
            if case .participantConnected(let participant) = event, isWanted(participant) { return participant }
        }
        return nil
    }
}
