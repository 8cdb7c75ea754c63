internal import ChatCore
internal import ChatModel

/// One's own account, and other people.
extension ChatAPI {
    var userRoutes: [Route] {
        [
            Route("GET", "/users/me", me),
            Route("PATCH", "/users/me", changeMe),
            Route("DELETE", "/users/me", deactivate),
            Route("GET", "/users/{user_id}", profile),
        ]
    }

    @Sendable private func me(_ request: APIRequest) async throws -> APIResponse {
        let user = try request.user()
        return try .json(try await service.read { try $0.account(of: user) })
    }

    @Sendable private func changeMe(_ request: APIRequest) async throws -> APIResponse {
        let body: ChangeProfileRequest = try request.body()
        let user = try request.user()
        let changes = ChatTransaction.ProfileChanges(
            username: body.username, displayName: body.displayName, status: body.status, statusText: body.statusText)
        return try .json(try await service.write { try $0.changeProfile(of: user, changes) })
    }

    @Sendable private func deactivate(_ request: APIRequest) async throws -> APIResponse {
        let user = try request.user()
        try await service.write { try $0.deactivate(user) }
        return .nothing
    }

    @Sendable private func profile(_ request: APIRequest) async throws -> APIResponse {
        let (user, other): (UserID, UserID) = (try request.user(), try request.id("user_id"))
        return try .json(try await service.read { try $0.profile(of: other, seenBy: user) })
    }
}
