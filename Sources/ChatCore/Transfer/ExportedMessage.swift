package import ChatModel

package struct ExportedMessage: Codable, Sendable, Equatable {
    package var id: String
    package var channelID: String
    package var userID: String
    /// The message in whose thread it is.
    package var threadID: String?
    package var kind: MessageKind
    package var content: String
    package var clientID: String?
    package var createdAt: Timestamp
    package var editedAt: Timestamp?
    package var deletedAt: Timestamp?
    package var pinnedAt: Timestamp?
    package var mentions: ExportedMentions
    package var reactions: [ExportedReaction]
    /// What was in it, without the bytes.
    package var files: [ExportedFile]
    package var call: ExportedCall?

    package init(
        id: String, channelID: String, userID: String, threadID: String? = nil, kind: MessageKind = .text,
        content: String, clientID: String? = nil, createdAt: Timestamp, editedAt: Timestamp? = nil,
        deletedAt: Timestamp? = nil, pinnedAt: Timestamp? = nil, mentions: ExportedMentions = ExportedMentions(),
        reactions: [ExportedReaction] = [], files: [ExportedFile] = [], call: ExportedCall? = nil
    ) {
        self.id = id
        self.channelID = channelID
        self.userID = userID
        self.threadID = threadID
        self.kind = kind
        self.content = content
        self.clientID = clientID
        self.createdAt = createdAt
        self.editedAt = editedAt
        self.deletedAt = deletedAt
        self.pinnedAt = pinnedAt
        self.mentions = mentions
        self.reactions = reactions
        self.files = files
        self.call = call
    }

    private enum CodingKeys: String, CodingKey {
        case id, kind, content, mentions, reactions, files, call
        case channelID = "channel_id"
        case userID = "user_id"
        case threadID = "thread_id"
        case clientID = "client_id"
        case createdAt = "created_at"
        case editedAt = "edited_at"
        case deletedAt = "deleted_at"
        case pinnedAt = "pinned_at"
    }

    /// All whom it names, who wrote it among them.
    package var people: [String] {
        [userID] + mentions.userIDs + reactions.map(\.userID) + (call?.people ?? [])
    }
}

package struct ExportedMentions: Codable, Sendable, Equatable {
    package var userIDs: [String]
    package var isChannel: Bool
    package var isHere: Bool

    package init(userIDs: [String] = [], isChannel: Bool = false, isHere: Bool = false) {
        self.userIDs = userIDs
        self.isChannel = isChannel
        self.isHere = isHere
    }

    private enum CodingKeys: String, CodingKey {
        case userIDs = "user_ids"
        case isChannel = "channel"
        case isHere = "here"
    }
}

package struct ExportedReaction: Codable, Sendable, Equatable {
    package var emoji: String
    package var userID: String
    package var createdAt: Timestamp

    package init(emoji: String, userID: String, createdAt: Timestamp) {
        self.emoji = emoji
        self.userID = userID
        self.createdAt = createdAt
    }

    private enum CodingKeys: String, CodingKey {
        case emoji
        case userID = "user_id"
        case createdAt = "created_at"
    }
}

package struct ExportedFile: Codable, Sendable, Equatable {
    package var name: String
    package var mediaType: String
    /// In bytes.
    package var size: Int64

    package init(name: String, mediaType: String, size: Int64) {
        self.name = name
        self.mediaType = mediaType
        self.size = size
    }

    private enum CodingKeys: String, CodingKey {
        case name, size
        case mediaType = "media_type"
    }
}

package struct ExportedCall: Codable, Sendable, Equatable {
    package struct Participant: Codable, Sendable, Equatable {
        package var userID: String
        package var state: CallParticipantState
        package var joinedAt: Timestamp?
        package var leftAt: Timestamp?

        private enum CodingKeys: String, CodingKey {
            case state
            case userID = "user_id"
            case joinedAt = "joined_at"
            case leftAt = "left_at"
        }
    }

    package var kind: CallKind
    package var media: CallMedia
    package var startedBy: String
    package var startedAt: Timestamp
    /// Nil while it went on.
    package var endedAt: Timestamp?
    package var endReason: CallEndReason?
    /// In the order in which they were rung or came.
    package var participants: [Participant]

    init(_ call: Call) {
        kind = call.kind
        media = call.media
        startedBy = call.startedBy.id.description
        startedAt = call.startedAt
        endedAt = call.endedAt
        endReason = call.endReason
        participants = call.participants.map {
            Participant(
                userID: $0.user.id.description, state: $0.state, joinedAt: $0.joinedAt, leftAt: $0.leftAt)
        }
    }

    fileprivate var people: [String] { [startedBy] + participants.map(\.userID) }

    private enum CodingKeys: String, CodingKey {
        case kind, media, participants
        case startedBy = "started_by"
        case startedAt = "started_at"
        case endedAt = "ended_at"
        case endReason = "end_reason"
    }
}
