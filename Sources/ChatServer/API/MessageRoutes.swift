internal import ChatCore
internal import ChatModel

/// Messages, threads, reactions, pins.
extension ChatAPI {
    var messageRoutes: [Route] {
        [
            Route("GET", "/channels/{channel_id}/messages", history),
            Route("POST", "/channels/{channel_id}/messages", send),
            Route("GET", "/channels/{channel_id}/pins", pins),
            Route("GET", "/messages/{message_id}", message),
            Route("PATCH", "/messages/{message_id}", edit),
            Route("DELETE", "/messages/{message_id}", delete),
            Route("GET", "/messages/{message_id}/replies", replies),
            Route("PUT", "/messages/{message_id}/reactions/{emoji}", react),
            Route("DELETE", "/messages/{message_id}/reactions/{emoji}", unreact),
            Route("PUT", "/messages/{message_id}/pin", pin),
            Route("DELETE", "/messages/{message_id}/pin", unpin),
        ]
    }

    private func answer(_ message: Message, status: Int = 200) throws -> APIResponse {
        try .json(message, status: status, version: message.version)
    }

    @Sendable private func history(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        let (part, limit) = (try request.historyPart(), try request.limit())
        return try .json(try await service.read { try $0.history(of: id, part, limit: limit, for: user) })
    }

    @Sendable private func send(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        let body: SendMessageRequest = try request.body()
        let new = ChatTransaction.NewMessage(
            content: body.content, threadID: body.threadID, clientID: body.clientID, fileIDs: body.fileIDs ?? [],
            peopleHere: try await peopleCalled(by: body.content, in: id))
        let (message, isNew) = try await service.write { try $0.send(new, to: id, by: user) }
        return try answer(message, status: isNew ? 201 : 200)
    }

    @Sendable private func pins(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        return try .json(Page(try await service.read { try $0.pins(of: id, for: user) }))
    }

    @Sendable private func message(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, MessageID) = (try request.user(), try request.id("message_id"))
        return try answer(try await service.read { try $0.message(id, for: user) })
    }

    @Sendable private func edit(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, MessageID) = (try request.user(), try request.id("message_id"))
        let body: EditMessageRequest = try request.body()
        let version = try request.version()
        let people = try await peopleCalled(by: body.content, in: id, of: user)
        return try answer(
            try await service.write {
                try $0.edit(id, to: body.content, ifVersion: version, peopleHere: people, by: user)
            })
    }

    @Sendable private func delete(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, MessageID) = (try request.user(), try request.id("message_id"))
        try await service.write { try $0.delete(id, by: user) }
        return .nothing
    }

    @Sendable private func replies(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, MessageID) = (try request.user(), try request.id("message_id"))
        let (part, limit) = (try request.historyPart(), try request.limit())
        return try .json(try await service.read { try $0.replies(to: id, part, limit: limit, for: user) })
    }

    @Sendable private func react(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, MessageID) = (try request.user(), try request.id("message_id"))
        let emoji = try request.text("emoji")
        return try answer(try await service.write { try $0.react(emoji, to: id, by: user) })
    }

    @Sendable private func unreact(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, MessageID) = (try request.user(), try request.id("message_id"))
        let emoji = try request.text("emoji")
        return try answer(try await service.write { try $0.unreact(emoji, to: id, by: user) })
    }

    @Sendable private func pin(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, MessageID) = (try request.user(), try request.id("message_id"))
        return try answer(try await service.write { try $0.setPinned(true, id, by: user) })
    }

    @Sendable private func unpin(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, MessageID) = (try request.user(), try request.id("message_id"))
        return try answer(try await service.write { try $0.setPinned(false, id, by: user) })
    }
}
