/// What has changed in a workspace, for as many as can see it: the kept part of what the realtime socket tells. Typing,
/// presence and how far somebody has read pass, and are no part of it.
///
/// In JSON a change is its `type` and its `data`: `{"type": "message_sent", "data": {…}}`.
public enum ChatChange: Sendable, Equatable {
    case messageSent(Message)
    case messageEdited(Message)
    /// Its words are gone; its place stays, for the answers to it.
    case messageDeleted(MessageDeletion)
    case messagePinned(Message)
    case messageUnpinned(Message)
    case reactionAdded(ReactionChange)
    case reactionRemoved(ReactionChange)
    case channelCreated(Channel)
    case channelUpdated(Channel)
    case channelJoined(ChannelPresenceChange)
    case channelLeft(ChannelPresenceChange)
    case workspaceUpdated(Workspace)
    /// The last that is told of it: to everybody who was in it.
    case workspaceDeleted(WorkspaceDeletion)
    case memberJoined(Member)
    case memberUpdated(Member)
    case memberLeft(MemberDeparture)
    case userUpdated(Profile)
    case callStarted(Call)
    /// Somebody was rung, came, went, or said no.
    case callUpdated(Call)
    case callEnded(Call)
    /// A picture's size and thumbnail have become known after its message was sent.
    case fileUpdated(SharedFile)

    /// As it stands in JSON.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        case messageSent = "message_sent"
        case messageEdited = "message_edited"
        case messageDeleted = "message_deleted"
        case messagePinned = "message_pinned"
        case messageUnpinned = "message_unpinned"
        case reactionAdded = "reaction_added"
        case reactionRemoved = "reaction_removed"
        case channelCreated = "channel_created"
        case channelUpdated = "channel_updated"
        case channelJoined = "channel_joined"
        case channelLeft = "channel_left"
        case workspaceUpdated = "workspace_updated"
        case workspaceDeleted = "workspace_deleted"
        case memberJoined = "member_joined"
        case memberUpdated = "member_updated"
        case memberLeft = "member_left"
        case userUpdated = "user_updated"
        case callStarted = "call_started"
        case callUpdated = "call_updated"
        case callEnded = "call_ended"
        case fileUpdated = "file_updated"
    }

    public var kind: Kind {
        switch self {
        case .messageSent: .messageSent
        case .messageEdited: .messageEdited
        case .messageDeleted: .messageDeleted
        case .messagePinned: .messagePinned
        case .messageUnpinned: .messageUnpinned
        case .reactionAdded: .reactionAdded
        case .reactionRemoved: .reactionRemoved
        case .channelCreated: .channelCreated
        case .channelUpdated: .channelUpdated
        case .channelJoined: .channelJoined
        case .channelLeft: .channelLeft
        case .workspaceUpdated: .workspaceUpdated
        case .workspaceDeleted: .workspaceDeleted
        case .memberJoined: .memberJoined
        case .memberUpdated: .memberUpdated
        case .memberLeft: .memberLeft
        case .userUpdated: .userUpdated
        case .callStarted: .callStarted
        case .callUpdated: .callUpdated
        case .callEnded: .callEnded
        case .fileUpdated: .fileUpdated
        }
    }
}

extension ChatChange: Codable {
    private enum CodingKeys: String, CodingKey { case type, data }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func data<Value: Decodable>() throws -> Value { try container.decode(Value.self, forKey: .data) }
        switch try container.decode(Kind.self, forKey: .type) {
        case .messageSent: self = .messageSent(try data())
        case .messageEdited: self = .messageEdited(try data())
        case .messageDeleted: self = .messageDeleted(try data())
        case .messagePinned: self = .messagePinned(try data())
        case .messageUnpinned: self = .messageUnpinned(try data())
        case .reactionAdded: self = .reactionAdded(try data())
        case .reactionRemoved: self = .reactionRemoved(try data())
        case .channelCreated: self = .channelCreated(try data())
        case .channelUpdated: self = .channelUpdated(try data())
        case .channelJoined: self = .channelJoined(try data())
        case .channelLeft: self = .channelLeft(try data())
        case .workspaceUpdated: self = .workspaceUpdated(try data())
        case .workspaceDeleted: self = .workspaceDeleted(try data())
        case .memberJoined: self = .memberJoined(try data())
        case .memberUpdated: self = .memberUpdated(try data())
        case .memberLeft: self = .memberLeft(try data())
        case .userUpdated: self = .userUpdated(try data())
        case .callStarted: self = .callStarted(try data())
        case .callUpdated: self = .callUpdated(try data())
        case .callEnded: self = .callEnded(try data())
        case .fileUpdated: self = .fileUpdated(try data())
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .type)
        try container.encode(data, forKey: .data)
    }

    /// What stands in `data`.
    public var data: any Codable & Sendable {
        switch self {
        case .messageSent(let message), .messageEdited(let message), .messagePinned(let message),
            .messageUnpinned(let message):
            message
        case .messageDeleted(let deletion): deletion
        case .reactionAdded(let change), .reactionRemoved(let change): change
        case .channelCreated(let channel), .channelUpdated(let channel): channel
        case .channelJoined(let change), .channelLeft(let change): change
        case .workspaceUpdated(let workspace): workspace
        case .workspaceDeleted(let deletion): deletion
        case .memberJoined(let member), .memberUpdated(let member): member
        case .memberLeft(let departure): departure
        case .userUpdated(let profile): profile
        case .callStarted(let call), .callUpdated(let call), .callEnded(let call): call
        case .fileUpdated(let shared): shared
        }
    }
}
