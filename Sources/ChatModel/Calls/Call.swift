/// A call of a channel, of which there is one at a time: while it goes on, and afterwards as the record that its
/// message shows.
public struct Call: Codable, Sendable, Equatable {
    public var id: CallID
    public var workspaceID: WorkspaceID
    public var channelID: ChannelID
    /// The message that shows it in the channel.
    public var messageID: MessageID
    public var kind: CallKind
    public var media: CallMedia
    /// Its name on the server that carries it: a room of LiveKit's protocol, or a call room of Socket.IO. Not in JSON:
    /// who may come in has it with the ticket, and it is as good as a key to a call room. Empty in a client.
    public var room = ""
    /// The server that carries it, as clients reach it, where there are several. Not in JSON: it comes with the ticket.
    public var nodeURL: String?
    public var startedBy: Profile
    public var startedAt: Timestamp
    /// Nil while it goes on.
    public var endedAt: Timestamp?
    public var endReason: CallEndReason?
    /// Everybody who was rung or who came, in the order in which that was.
    public var participants: [CallParticipant]
    /// Grows with each change, so that of two the newer one is known.
    public var version: Int64

    public init(
        id: CallID, workspaceID: WorkspaceID, channelID: ChannelID, messageID: MessageID, kind: CallKind,
        media: CallMedia, room: String, nodeURL: String? = nil, startedBy: Profile, startedAt: Timestamp,
        endedAt: Timestamp? = nil,
        endReason: CallEndReason? = nil, participants: [CallParticipant] = [], version: Int64 = 1
    ) {
        self.id = id
        self.workspaceID = workspaceID
        self.channelID = channelID
        self.messageID = messageID
        self.kind = kind
        self.media = media
        self.room = room
        self.nodeURL = nodeURL
        self.startedBy = startedBy
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.endReason = endReason
        self.participants = participants
        self.version = version
    }

    private enum CodingKeys: String, CodingKey {
        case id, kind, media, participants, version
        case workspaceID = "workspace_id"
        case channelID = "channel_id"
        case messageID = "message_id"
        case startedBy = "started_by"
        case startedAt = "started_at"
        case endedAt = "ended_at"
        case endReason = "end_reason"
    }
}

/// What carries a call.
public enum CallKind: String, Codable, Sendable, CaseIterable {
    /// A room of LiveKit's protocol, through the server: for as many as come.
    case room
    /// A call room of Socket.IO, in which two send each other their media: `docs/specs/call-signaling.md`.
    case peer
}

/// What a call begins with. Who takes part may go on with more or less.
public enum CallMedia: String, Codable, Sendable, CaseIterable {
    case audio, video
}

public enum CallEndReason: String, Codable, Sendable, CaseIterable {
    /// People talked, and went.
    case completed
    /// Who was called said no.
    case declined
    /// Nobody answered in time.
    case missed
    /// The caller went before anybody answered.
    case cancelled
    /// What carried it is gone: a server went down.
    case failed
}

public struct CallParticipant: Codable, Sendable, Equatable {
    public var user: Profile
    public var state: CallParticipantState
    /// When they came the last time; nil for who never did.
    public var joinedAt: Timestamp?
    public var leftAt: Timestamp?

    public init(user: Profile, state: CallParticipantState, joinedAt: Timestamp? = nil, leftAt: Timestamp? = nil) {
        self.user = user
        self.state = state
        self.joinedAt = joinedAt
        self.leftAt = leftAt
    }

    private enum CodingKeys: String, CodingKey {
        case user, state
        case joinedAt = "joined_at"
        case leftAt = "left_at"
    }
}

public enum CallParticipantState: String, Codable, Sendable, CaseIterable {
    /// Their devices ring. When this changes, those on which they have not answered stop.
    case ringing
    case joined, left, declined
    /// They have not answered in time, or the call ended before.
    case missed
}

/// The answer to starting and to joining a call.
public struct CallTicket: Codable, Sendable, Equatable {
    public var call: Call
    /// What a LiveKit SDK connects to (`wss://…`); of a call between two, the server of Socket.IO (`https://…`).
    public var url: String
    /// LiveKit's access token, for ten minutes; nil for a call between two.
    public var token: String?
    public var room: String

    public init(call: Call, url: String, token: String?) {
        self.call = call
        self.url = url
        self.token = token
        room = call.room
    }
}
