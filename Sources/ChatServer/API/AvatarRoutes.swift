internal import ChatCore
internal import ChatModel

/// Pictures of people.
extension ChatAPI {
    var avatarRoutes: [Route] {
        [
            Route("PUT", "/users/me/avatar", setAvatar),
            Route("GET", "/avatars/{file_id}", for: .link, avatar),
            Route("HEAD", "/avatars/{file_id}", for: .link, avatar),
        ]
    }

    @Sendable private func setAvatar(_ request: APIRequest) async throws -> APIResponse {
        let user = try request.user()
        let body: AvatarRequest = try request.body()
        // Whether it is a picture may not be known yet.
        if let id = body.fileID { _ = await files?.pictures?.isDone(id, within: .seconds(10)) }
        return try .json(try await service.write { try $0.setAvatar(body.fileID, of: user) })
    }

    /// The thumbnail alone, which this server has drawn itself. Its address, which nobody can guess, is in the profile,
    /// for pages to name it; who asks for others counts with strangers.
    @Sendable private func avatar(_ request: APIRequest) async throws -> APIResponse {
        do {
            let id: FileID = try request.id("file_id")
            let file = try await service.read { try $0.avatar(id) }
            guard let files, let type = file.thumbnailType else { throw ChatError.notFound("file") }
            var response = APIResponse(
                status: 200, headers: FileHeaders.headers(of: file.info, .thumbnail, type: type))
            try await put(thumbnailOf: id, of: files, into: &response, to: request)
            return response
        } catch let error as ChatError {
            try await limits.take(.strangers(request.http.site), at: service.now())
            throw error
        }
    }
}
