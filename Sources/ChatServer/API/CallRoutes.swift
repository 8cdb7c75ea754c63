internal import ChatCore
internal import ChatModel
internal import Logging
internal import SocketIO

/// Calls.
extension ChatAPI {
    var callRoutes: [Route] {
        [
            Route("GET", "/workspaces/{workspace_id}/calls", running),
            Route("POST", "/workspaces/{workspace_id}/calls", callPerson),
            Route("GET", "/channels/{channel_id}/calls", calls),
            Route("POST", "/channels/{channel_id}/calls", start),
            Route("GET", "/calls/{call_id}", call),
            Route("POST", "/calls/{call_id}/join", join),
            Route("POST", "/calls/{call_id}/leave", leave),
            Route("POST", "/calls/{call_id}/decline", decline),
            Route("POST", "/calls/{call_id}/end", end),
            Route("POST", "/calls/{call_id}/ring", ring),
        ]
    }

    @Sendable private func running(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        return try .json(Page(try await service.read { try $0.runningCalls(of: id, for: user) }))
    }

    @Sendable private func calls(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        let (cursor, limit) = (request.cursor, try request.limit())
        return try .json(
            try await service.read { try $0.calls(of: id, for: user, before: cursor, limit: limit) })
    }

    @Sendable private func call(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, CallID) = (try request.user(), try request.id("call_id"))
        return try .json(try await service.read { try $0.call(id, for: user) })
    }

    @Sendable private func callPerson(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let body: CallPersonRequest = try request.body()
        guard body.userID != user else { throw ChatError.invalid("user_id", "This is you.") }
        let opened = try await service.write { try $0.openDirect(with: [body.userID], in: id, by: user) }
        let wanted = StartCallRequest(kind: body.kind, media: body.media)
        return try await start(wanted, in: opened.listing.channel.id, by: user, request)
    }

    @Sendable private func start(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        let body: StartCallRequest = request.http.body.isEmpty ? StartCallRequest() : try request.body()
        return try await start(body, in: id, by: user, request)
    }

    private func start(
        _ wanted: StartCallRequest, in channel: ChannelID, by user: UserID, _ request: APIRequest
    ) async throws -> APIResponse {
        let kind = wanted.kind ?? .room
        // A cluster's rooms are reached through each server.
        let isHere = kind == .peer || callRooms?.isOwn == true
        let new = ChatTransaction.NewCall(
            kind: kind, media: wanted.media ?? .audio, ring: wanted.ring, room: CallRoomName.random(),
            node: isHere ? node : nil)
        let running = try await service.read { try $0.runningCall(orMayStart: new, in: channel, by: user) }
        if running == nil, new.kind == .room { try await open(new.room) }
        let (call, isNew) = try await service.write { try $0.startCall(new, in: channel, by: user) }
        if running == nil, !isNew, new.kind == .room { await callRooms?.end(new.room) }
        return try ticket(to: call, for: user, request, status: isNew ? 201 : 200)
    }

    private func open(_ room: String) async throws {
        do {
            let rooms = try rooms()
            try await rooms.open(room)
        } catch let error as ChatError {
            throw error
        } catch {
            logger.error("a room could not be made", metadata: ["error": "\(error)"])
            throw ChatError(.unavailable, code: "rooms_unreachable", "The server for calls does not answer. Try again.")
        }
    }

    @Sendable private func join(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, CallID) = (try request.user(), try request.id("call_id"))
        return try ticket(to: try await service.write { try $0.joinCall(id, by: user) }, for: user, request)
    }

    @Sendable private func leave(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, CallID) = (try request.user(), try request.id("call_id"))
        try await service.write { try $0.leaveCall(id, by: user) }
        return .nothing
    }

    @Sendable private func decline(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, CallID) = (try request.user(), try request.id("call_id"))
        try await service.write { try $0.declineCall(id, by: user) }
        return .nothing
    }

    @Sendable private func end(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, CallID) = (try request.user(), try request.id("call_id"))
        return try .json(try await service.write { try $0.endCall(id, by: user) })
    }

    @Sendable private func ring(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, CallID) = (try request.user(), try request.id("call_id"))
        let body: RingRequest = try request.body()
        return try .json(try await service.write { try $0.ringInCall(id, body.userIDs, by: user) })
    }

    // MARK: Tickets

    private func rooms() throws(ChatError) -> any CallRooms {
        guard let callRooms else {
            throw ChatError(
                .unavailable, code: "no_rooms", "This server has no rooms for calls: it was started without --rooms.")
        }
        return callRooms
    }

    private func ticket(
        to call: Call, for user: UserID, _ request: APIRequest, status: Int = 200
    ) throws -> APIResponse {
        let server =
            call.nodeURL ?? configuration.publicURL
            ?? "\(configuration.isSecure ? "https" : "http")://\(host(of: request))"
        guard call.kind == .room else {
            return try .json(CallTicket(call: call, url: server, token: nil), status: status)
        }
        let name = call.participants.first { $0.user.id == user }?.user.displayName ?? ""
        let token = try rooms().token(for: user, name: name, room: call.room)
        // Of http as of https: ws, wss.
        return try .json(
            CallTicket(call: call, url: "ws" + server.dropFirst("http".count), token: token), status: status)
    }

    /// As whoever asks has reached us.
    private func host(of request: APIRequest) -> String {
        request.header("Host") ?? "localhost:\(request.http.localPort)"
    }
}
