package import ChatModel

/// A line of an export: docs/specs/chat-export.md. In the order of an export each names only what was before it.
package enum ExportRecord: Sendable, Equatable {
    case export(ExportHeader)
    case workspace(ExportedWorkspace)
    case user(ExportedUser)
    case channel(ExportedChannel)
    case message(ExportedMessage)
    case channelMember(ExportedChannelMember)
    case member(ExportedMember)
    case end(ExportEnd)
}

extension ExportRecord: Codable {
    private enum CodingKeys: String, CodingKey { case type }

    private enum Kind: String, Codable {
        case export, workspace, user, channel, message, member, end
        case channelMember = "channel_member"
    }

    package init(from decoder: any Decoder) throws {
        self =
            switch try decoder.container(keyedBy: CodingKeys.self).decode(Kind.self, forKey: .type) {
            case .export: .export(try ExportHeader(from: decoder))
            case .workspace: .workspace(try ExportedWorkspace(from: decoder))
            case .user: .user(try ExportedUser(from: decoder))
            case .channel: .channel(try ExportedChannel(from: decoder))
            case .message: .message(try ExportedMessage(from: decoder))
            case .channelMember: .channelMember(try ExportedChannelMember(from: decoder))
            case .member: .member(try ExportedMember(from: decoder))
            case .end: .end(try ExportEnd(from: decoder))
            }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        func encode(_ kind: Kind, _ part: some Encodable) throws {
            try container.encode(kind, forKey: .type)
            try part.encode(to: encoder)
        }
        switch self {
        case .export(let part): try encode(.export, part)
        case .workspace(let part): try encode(.workspace, part)
        case .user(let part): try encode(.user, part)
        case .channel(let part): try encode(.channel, part)
        case .message(let part): try encode(.message, part)
        case .channelMember(let part): try encode(.channelMember, part)
        case .member(let part): try encode(.member, part)
        case .end(let part): try encode(.end, part)
        }
    }
}

/// The first line.
package struct ExportHeader: Codable, Sendable, Equatable {
    /// What this server writes, and the newest that it reads.
    package static let currentVersion = 1

    package var version: Int
    /// Of this export, another one for each: by it an import knows that it has begun with this file before.
    package var id: String
    package var exportedAt: Timestamp

    package init(version: Int = Self.currentVersion, id: String, exportedAt: Timestamp) {
        self.version = version
        self.id = id
        self.exportedAt = exportedAt
    }

    private enum CodingKeys: String, CodingKey {
        case version, id
        case exportedAt = "exported_at"
    }
}

package struct ExportedWorkspace: Codable, Sendable, Equatable {
    package var name: String
    /// Nil for one made of the name.
    package var slug: String?
    package var createdAt: Timestamp

    package init(name: String, slug: String?, createdAt: Timestamp) {
        self.name = name
        self.slug = slug
        self.createdAt = createdAt
    }

    private enum CodingKeys: String, CodingKey {
        case name, slug
        case createdAt = "created_at"
    }
}

/// Somebody who is in the workspace, or who has left something in it.
package struct ExportedUser: Codable, Sendable, Equatable {
    package var id: String
    package var username: String
    package var displayName: String
    /// Nil for who is not in the workspace any more.
    package var email: String?
    package var createdAt: Timestamp
    package var deactivatedAt: Timestamp?

    package init(
        id: String, username: String, displayName: String, email: String?, createdAt: Timestamp,
        deactivatedAt: Timestamp? = nil
    ) {
        self.id = id
        self.username = username
        self.displayName = displayName
        self.email = email
        self.createdAt = createdAt
        self.deactivatedAt = deactivatedAt
    }

    private enum CodingKeys: String, CodingKey {
        case id, username, email
        case displayName = "display_name"
        case createdAt = "created_at"
        case deactivatedAt = "deactivated_at"
    }
}

package struct ExportedChannel: Codable, Sendable, Equatable {
    package var id: String
    package var kind: ChannelKind
    /// Nil for direct and group messages.
    package var name: String?
    package var topic: String
    package var purpose: String
    /// Of direct and group messages, whose they are.
    package var userIDs: [String]
    package var createdBy: String
    package var createdAt: Timestamp
    package var archivedAt: Timestamp?

    package init(
        id: String, kind: ChannelKind, name: String?, topic: String = "", purpose: String = "",
        userIDs: [String] = [], createdBy: String, createdAt: Timestamp, archivedAt: Timestamp? = nil
    ) {
        self.id = id
        self.kind = kind
        self.name = name
        self.topic = topic
        self.purpose = purpose
        self.userIDs = userIDs
        self.createdBy = createdBy
        self.createdAt = createdAt
        self.archivedAt = archivedAt
    }

    private enum CodingKeys: String, CodingKey {
        case id, kind, name, topic, purpose
        case userIDs = "user_ids"
        case createdBy = "created_by"
        case createdAt = "created_at"
        case archivedAt = "archived_at"
    }
}

package struct ExportedChannelMember: Codable, Sendable, Equatable {
    package var channelID: String
    package var userID: String
    package var joinedAt: Timestamp
    package var notifications: NotificationLevel
    /// The newest message that they have read; nil before the first.
    package var lastRead: String?

    package init(
        channelID: String, userID: String, joinedAt: Timestamp, notifications: NotificationLevel = .all,
        lastRead: String?
    ) {
        self.channelID = channelID
        self.userID = userID
        self.joinedAt = joinedAt
        self.notifications = notifications
        self.lastRead = lastRead
    }

    private enum CodingKeys: String, CodingKey {
        case notifications
        case channelID = "channel_id"
        case userID = "user_id"
        case joinedAt = "joined_at"
        case lastRead = "last_read"
    }
}

package struct ExportedMember: Codable, Sendable, Equatable {
    package var userID: String
    package var role: Role
    package var joinedAt: Timestamp

    package init(userID: String, role: Role, joinedAt: Timestamp) {
        self.userID = userID
        self.role = role
        self.joinedAt = joinedAt
    }

    private enum CodingKeys: String, CodingKey {
        case role
        case userID = "user_id"
        case joinedAt = "joined_at"
    }
}

/// The last line: a file without it has broken off.
package struct ExportEnd: Codable, Sendable, Equatable {
    /// How many there were.
    package var messages: Int

    package init(messages: Int) { self.messages = messages }
}
