internal import ChatCore
internal import ChatModel

/// One look at a workspace's log, with everything that has to be known to pass its events on, all of one moment.
struct LogReading: Sendable {
    struct Newcomer: Sendable {
        let user: UserID
        /// What it has seen; nil to begin with what comes.
        let after: Int64?
    }

    struct Question: Sendable {
        let workspace: WorkspaceID
        /// Up to here all has been passed on; nil when nobody follows it yet.
        let after: Int64?
        /// Who is connected.
        let people: Set<UserID>
        let hasGuests: Bool
        let newcomers: [Newcomer]
        /// Who has come to other servers.
        let elsewhere: Set<UserID>
    }

    /// Where somebody who comes stands.
    struct Place: Sendable {
        let presence: ChatTransaction.Presence
        /// Nil when nothing was asked for.
        let missed: MissedEvents?
        let marks: [ReadMark]
    }

    /// The number of the newest event, which is the last of these.
    let sequence: Int64
    private(set) var events: [StoredEvent] = []
    private(set) var surroundings = FollowedWorkspace.Surroundings()
    /// Of the newcomers, in their order; nil for who is not in the workspace.
    private(set) var places: [Place?] = []
    /// Of who has come to other servers, if they are in the workspace.
    private(set) var elsewhere: [UserID: ChatTransaction.Presence] = [:]

    /// Who has missed more than this reads everything anew.
    static let mostMissedBytes = 2 << 20
    private static let missedAtOnce = 500

    init(_ question: Question, in chat: ChatTransaction) throws {
        do {
            sequence = try chat.sequence(of: question.workspace)
        } catch let error as ChatError where error.kind == .notFound {
            // Somebody has asked for what was never there.
            (sequence, places) = (0, question.newcomers.map { _ in nil })
            return
        }
        if var after = question.after {
            while after < sequence {
                let more = try chat.events(of: question.workspace, after: after)
                events += more
                // Those of deleted messages are gone: then the last one is not the newest.
                after = more.last?.sequence ?? sequence
            }
        }
        try readSurroundings(question, in: chat)
        for user in question.elsewhere { elsewhere[user] = try chat.presence(of: user, in: question.workspace) }
        for newcomer in question.newcomers { places.append(try Self.place(of: newcomer, question.workspace, in: chat)) }
    }

    private mutating func readSurroundings(_ question: Question, in chat: ChatTransaction) throws {
        for event in events {
            switch event.kind {
            case .channelCreated, .channelJoined, .channelLeft:
                if let channel = event.channel, surroundings.members[channel] == nil {
                    surroundings.members[channel] = try chat.members(of: channel)
                }
            case .memberJoined, .memberUpdated, .memberLeft, .userUpdated:
                if let user = event.user, question.people.contains(user), surroundings.presences[user] == nil {
                    surroundings.presences[user] = .some(try chat.presence(of: user, in: question.workspace))
                }
            case .messageSent, .messageEdited, .messageDeleted, .messagePinned, .messageUnpinned, .reactionAdded,
                .reactionRemoved, .channelUpdated, .workspaceUpdated, .workspaceDeleted, .callStarted, .callUpdated,
                .callEnded, .fileUpdated:
                break
            }
            if question.hasGuests, case .about(let user) = event.audience, surroundings.acquainted[user] == nil {
                surroundings.acquainted[user] = try chat.guests(of: question.workspace, sharingWith: user)
            }
        }
    }

    private static func place(
        of newcomer: Newcomer, _ workspace: WorkspaceID, in chat: ChatTransaction
    ) throws -> Place? {
        guard let presence = try chat.presence(of: newcomer.user, in: workspace) else { return nil }
        let missed = try newcomer.after.map { try Self.missed(by: newcomer.user, workspace, after: $0, in: chat) }
        return Place(presence: presence, missed: missed, marks: try chat.readMarks(of: newcomer.user, in: workspace))
    }

    /// Reads in parts, so that of what is more than is sent again no more than that is ever in memory.
    private static func missed(
        by user: UserID, _ workspace: WorkspaceID, after sequence: Int64, in chat: ChatTransaction
    ) throws -> MissedEvents {
        var (after, events, bytes): (Int64, [StoredEvent], Int) = (sequence, [], 0)
        while true {
            let part = try chat.missedEvents(of: workspace, after: after, by: user, limit: missedAtOnce)
            guard case .events(let more, let upTo) = part else { return part }
            events += more
            bytes += more.reduce(0) { $0 + $1.data.utf8.count }
            guard bytes <= mostMissedBytes else { return .reload(from: upTo) }
            if more.count < missedAtOnce { return .events(events, upTo: upTo) }
            after = upTo
        }
    }
}
