package import ChatModel

/// Everything that somebody may or may not do on a server. `Permission+Table.swift` says who may.
package enum Permission: String, Sendable, CaseIterable {
    // The server.
    case createWorkspace
    // The workspace.
    case seeWorkspace, changeWorkspace, deleteWorkspace
    case inviteMembers, seeInvitations, revokeInvitation, removeMembers, changeRoles
    case createPublicChannel, createPrivateChannel, startDirectMessage
    // A channel.
    case readChannel, joinChannel, leaveChannel
    case changeTopic, renameChannel, archiveChannel, restoreChannel
    case addToChannel, removeFromChannel
    case sendMessage, mentionEverybody, pinMessage, uploadFile, startCall, endCall
    // A message.
    case editMessage, deleteMessage, react
}

/// Who somebody is where they ask for something.
package struct Standing: Sendable, Equatable {
    /// Nil outside the workspace.
    package var role: Role?
    /// The channel that it is about; nil for the workspace's own matters.
    package var channel: ChannelStanding?
    /// The channel, the message or the invitation that it is about was made by whoever asks.
    package var isOwn: Bool
    /// The server, where it is about that; nil for what happens in a workspace.
    package var server: ServerStanding?

    package init(
        role: Role?, channel: ChannelStanding? = nil, isOwn: Bool = false, server: ServerStanding? = nil
    ) {
        self.role = role
        self.channel = channel
        self.isOwn = isOwn
        self.server = server
    }
}

package struct ServerStanding: Sendable, Equatable {
    package var isOwner: Bool
    /// Anybody may make an account.
    package var isOpen: Bool

    package init(isOwner: Bool, isOpen: Bool) {
        self.isOwner = isOwner
        self.isOpen = isOpen
    }
}

package struct ChannelStanding: Sendable, Equatable {
    package var kind: ChannelKind
    package var isMember: Bool
    package var isArchived: Bool

    package init(kind: ChannelKind, isMember: Bool, isArchived: Bool) {
        self.kind = kind
        self.isMember = isMember
        self.isArchived = isArchived
    }
}

/// What the table says.
package enum Verdict: Sendable, Equatable {
    case allowed
    /// It is as if it were not there.
    case absent
    case refused(Refusal)

    package enum Refusal: String, Sendable, CaseIterable {
        /// Somebody with another role may.
        case role
        /// Whoever wrote or made it may.
        case notOwn
        /// Whoever is in the channel may.
        case notInChannel
        /// The channel is archived.
        case archived
        /// Direct and group messages do not have it.
        case direct
        /// Whoever owns the server may.
        case closed
    }
}
