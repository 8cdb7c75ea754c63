package import ChatModel

/// What those who pass events on have to know: who may see what, at the same moment as the events.
extension ChatTransaction {
    /// Somebody's place in a workspace.
    package struct Presence: Sendable, Equatable {
        package let role: Role
        package let channels: Set<ChannelID>
        /// Has chosen to be seen as offline.
        package let isHidden: Bool

        package init(role: Role, channels: Set<ChannelID>, isHidden: Bool) {
            self.role = role
            self.channels = channels
            self.isHidden = isHidden
        }
    }

    /// Nil for somebody who is not in it.
    package func presence(of user: UserID, in workspace: WorkspaceID) throws -> Presence? {
        guard let role = try role(of: user, in: workspace) else { return nil }
        let channels: [ChannelID] = try session.rows(
            """
            SELECT c.id FROM channel_members m JOIN channels c ON c.id = m.channel_id
            WHERE m.user_id = $1 AND c.workspace_id = $2
            """, .id(user), .id(workspace)
        ).map {
            var row = $0
            return try row.id()
        }
        return Presence(
            role: role, channels: Set(channels), isHidden: try profile(of: user).status == .offline)
    }

    /// Everybody who is in a channel.
    package func members(of channel: ChannelID) throws -> Set<UserID> {
        Set(
            try session.rows("SELECT user_id FROM channel_members WHERE channel_id = $1", .id(channel)).map {
                var row = $0
                return try row.id()
            })
    }

    /// The guests of a workspace who share a channel with somebody.
    package func guests(of workspace: WorkspaceID, sharingWith user: UserID) throws -> Set<UserID> {
        Set(
            try session.rows(
                """
                SELECT DISTINCT b.user_id FROM channel_members a JOIN channels c ON c.id = a.channel_id
                JOIN channel_members b ON b.channel_id = a.channel_id
                JOIN members m ON m.workspace_id = c.workspace_id AND m.user_id = b.user_id
                WHERE a.user_id = $1 AND c.workspace_id = $2 AND m.role = 'guest'
                """, .id(user), .id(workspace)
            ).map {
                var row = $0
                return try row.id()
            })
    }

    /// Whether somebody may look at a channel, in it or not.
    package func mayRead(_ channel: ChannelID, by user: UserID) throws -> WorkspaceID {
        try demandToRead(.readChannel, in: channel, by: user).workspace
    }
}
