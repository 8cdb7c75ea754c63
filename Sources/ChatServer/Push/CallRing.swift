package import ChatModel

/// A call that begins to ring at somebody's devices.
package struct CallRing: Sendable {
    /// The call's identifier, in lower case.
    package let callID: String
    /// The media room that who answers is to join.
    package let room: String
    package let hasVideo: Bool
    package let caller: UserID
    package let callerName: String
    package let workspaceID: WorkspaceID
    package let channelID: ChannelID
    /// Nil for direct and group messages.
    package let channelName: String?
    /// Whom it is to ring at.
    package let users: [UserID]
    /// It rings until then.
    package let expiresAt: Timestamp

    package init(
        callID: String, room: String, hasVideo: Bool, caller: UserID, callerName: String, workspaceID: WorkspaceID,
        channelID: ChannelID, channelName: String?, users: [UserID], expiresAt: Timestamp
    ) {
        self.callID = callID
        self.room = room
        self.hasVideo = hasVideo
        self.caller = caller
        self.callerName = callerName
        self.workspaceID = workspaceID
        self.channelID = channelID
        self.channelName = channelName
        self.users = users
        self.expiresAt = expiresAt
    }
}
