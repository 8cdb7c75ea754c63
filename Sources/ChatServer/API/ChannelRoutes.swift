internal import ChatCore
internal import ChatModel

/// Channels, direct and group messages, and who is in them.
extension ChatAPI {
    var channelRoutes: [Route] {
        [
            Route("GET", "/workspaces/{workspace_id}/channels", joined),
            Route("POST", "/workspaces/{workspace_id}/channels", create),
            Route("GET", "/workspaces/{workspace_id}/channels/public", directory),
            Route("POST", "/workspaces/{workspace_id}/direct", openDirect),
            Route("GET", "/channels/{channel_id}", channel),
            Route("PATCH", "/channels/{channel_id}", change),
            Route("POST", "/channels/{channel_id}/join", join),
            Route("POST", "/channels/{channel_id}/leave", leave),
            Route("POST", "/channels/{channel_id}/archive", archive),
            Route("POST", "/channels/{channel_id}/unarchive", unarchive),
            Route("GET", "/channels/{channel_id}/members", people),
            Route("POST", "/channels/{channel_id}/members", add),
            Route("DELETE", "/channels/{channel_id}/members/{user_id}", remove),
            Route("PUT", "/channels/{channel_id}/read", read),
            Route("PUT", "/channels/{channel_id}/notifications", setNotifications),
        ]
    }

    private func answer(_ listing: ChannelListing, status: Int = 200) throws -> APIResponse {
        try .json(listing, status: status, version: listing.channel.version)
    }

    @Sendable private func joined(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        return try .json(Page(try await service.read { try $0.joinedChannels(of: id, for: user) }))
    }

    @Sendable private func create(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let body: CreateChannelRequest = try request.body()
        let listing = try await service.write {
            try $0.createChannel(
                body.kind ?? .public, name: body.name, topic: body.topic ?? "", purpose: body.purpose ?? "", in: id,
                by: user)
        }
        return try answer(listing, status: 201)
    }

    @Sendable private func directory(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let (cursor, limit) = (request.cursor, try request.limit())
        return try .json(
            try await service.read { try $0.publicChannels(of: id, for: user, after: cursor, limit: limit) })
    }

    @Sendable private func openDirect(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let body: OpenDirectRequest = try request.body()
        let opened = try await service.write { try $0.openDirect(with: body.userIDs, in: id, by: user) }
        return try answer(opened.listing, status: opened.isNew ? 201 : 200)
    }

    @Sendable private func channel(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        return try answer(try await service.read { try $0.channel(id, for: user) })
    }

    @Sendable private func change(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        let body: ChangeChannelRequest = try request.body()
        let version = try request.version()
        let changes = ChatTransaction.ChannelChanges(name: body.name, topic: body.topic, purpose: body.purpose)
        return try answer(
            try await service.write { try $0.changeChannel(id, changes, ifVersion: version, by: user) })
    }

    @Sendable private func join(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        return try answer(try await service.write { try $0.joinChannel(id, by: user) })
    }

    @Sendable private func leave(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        try await service.write { try $0.leaveChannel(id, by: user) }
        return .nothing
    }

    @Sendable private func archive(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        return try answer(try await service.write { try $0.setArchived(true, id, by: user) })
    }

    @Sendable private func unarchive(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        return try answer(try await service.write { try $0.setArchived(false, id, by: user) })
    }

    @Sendable private func people(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        let (cursor, limit) = (request.cursor, try request.limit())
        return try .json(try await service.read { try $0.people(in: id, for: user, after: cursor, limit: limit) })
    }

    @Sendable private func add(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        let body: AddToChannelRequest = try request.body()
        try await service.write { try $0.add(body.userID, to: id, by: user) }
        return .nothing
    }

    @Sendable private func remove(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        let person: UserID = try request.id("user_id")
        try await service.write { try $0.remove(person, from: id, by: user) }
        return .nothing
    }

    @Sendable private func read(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        let body: ReadRequest = try request.body()
        _ = try await service.write { try $0.read(id, upTo: body.lastRead, by: user) }
        return .nothing
    }

    @Sendable private func setNotifications(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        let body: NotificationsRequest = try request.body()
        try await service.write { try $0.setNotifications(body.notifications, of: id, by: user) }
        return .nothing
    }
}
