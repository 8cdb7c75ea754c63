internal import ChatCore
internal import ChatModel

/// Threads that one follows.
extension ChatAPI {
    var threadRoutes: [Route] {
        [
            Route("GET", "/workspaces/{workspace_id}/threads", threads),
            Route("PUT", "/messages/{message_id}/follow", follow),
            Route("DELETE", "/messages/{message_id}/follow", unfollow),
            Route("PUT", "/messages/{message_id}/read", readThread),
        ]
    }

    @Sendable private func threads(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let (cursor, limit) = (request.cursor, try request.limit())
        let isUnread = request.query("unread") == "true"
        return try .json(
            try await service.read {
                try $0.threads(of: id, isUnread: isUnread, for: user, after: cursor, limit: limit)
            })
    }

    @Sendable private func follow(_ request: APIRequest) async throws -> APIResponse {
        try await setFollowing(true, request)
    }

    @Sendable private func unfollow(_ request: APIRequest) async throws -> APIResponse {
        try await setFollowing(false, request)
    }

    private func setFollowing(_ isFollowing: Bool, _ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, MessageID) = (try request.user(), try request.id("message_id"))
        try await service.write { try $0.setFollowing(isFollowing, thread: id, by: user) }
        return .nothing
    }

    @Sendable private func readThread(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, MessageID) = (try request.user(), try request.id("message_id"))
        let body: ReadRequest = try request.body()
        try await service.write { try $0.readThread(id, upTo: body.lastRead, by: user) }
        return .nothing
    }
}
