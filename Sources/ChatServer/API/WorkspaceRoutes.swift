internal import ChatCore
internal import ChatModel

/// Workspaces, their members, what has happened in them.
extension ChatAPI {
    var workspaceRoutes: [Route] {
        [
            Route("GET", "/workspaces", workspaces),
            Route("POST", "/workspaces", createWorkspace),
            Route("GET", "/workspaces/{workspace_id}", workspace),
            Route("PATCH", "/workspaces/{workspace_id}", changeWorkspace),
            Route("DELETE", "/workspaces/{workspace_id}", deleteWorkspace),
            Route("GET", "/workspaces/{workspace_id}/members", members),
            Route("PATCH", "/workspaces/{workspace_id}/members/{user_id}", changeMember),
            Route("DELETE", "/workspaces/{workspace_id}/members/{user_id}", removeMember),
            Route("GET", "/workspaces/{workspace_id}/events", events),
        ]
    }

    @Sendable private func workspaces(_ request: APIRequest) async throws -> APIResponse {
        let user = try request.user()
        return try .json(Page(try await service.read { try $0.workspaces(of: user) }))
    }

    @Sendable private func createWorkspace(_ request: APIRequest) async throws -> APIResponse {
        let body: CreateWorkspaceRequest = try request.body()
        let user = try request.user()
        let isOpen = configuration.isRegistrationOpen
        let made = try await service.write {
            try $0.createWorkspace(name: body.name, slug: body.slug, by: user, whereOpen: isOpen)
        }
        return try .json(made.listing, status: 201)
    }

    @Sendable private func workspace(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let (listing, version) = try await service.read {
            (try $0.workspace(id, for: user), try $0.version(of: id))
        }
        return try .json(listing, version: version)
    }

    @Sendable private func changeWorkspace(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let body: ChangeWorkspaceRequest = try request.body()
        let seen = try request.version()
        let (listing, version) = try await service.write {
            (try $0.renameWorkspace(id, to: body.name, ifVersion: seen, by: user), try $0.version(of: id))
        }
        return try .json(listing, version: version)
    }

    /// `?slug=` is the address, which whoever means it has typed.
    @Sendable private func deleteWorkspace(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let slug = request.query("slug") ?? ""
        try await service.write { try $0.deleteWorkspace(id, confirmedBy: slug, by: user) }
        return .nothing
    }

    @Sendable private func members(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let (prefix, cursor, limit) = (request.query("prefix") ?? "", request.cursor, try request.limit())
        return try .json(
            try await service.read {
                try $0.members(of: id, for: user, startingWith: prefix, after: cursor, limit: limit)
            })
    }

    @Sendable private func changeMember(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let member: UserID = try request.id("user_id")
        let body: ChangeMemberRequest = try request.body()
        return try .json(try await service.write { try $0.changeRole(of: member, in: id, to: body.role, by: user) })
    }

    @Sendable private func removeMember(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let member: UserID = try request.id("user_id")
        try await service.write { try $0.removeMember(member, from: id, by: user) }
        return .nothing
    }

    /// What somebody has missed, for clients that keep no socket open.
    @Sendable private func events(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        guard let after = try request.number("after") else {
            throw ChatError.invalid("after", "This takes the number of the newest event that was seen.")
        }
        switch try await service.read({ try Self.missedEvents(of: id, after: after, by: user, in: $0) }) {
        case .events(let events, let upTo):
            let body = #"{"events":["# + events.map(\.json).joined(separator: ",") + #"],"sequence":\#(upTo)}"#
            return APIResponse(status: 200, headers: [("Content-Type", "application/json")], body: Array(body.utf8))
        case .reload:
            throw ChatError(.gone, code: "reload_needed", "More was missed than is kept: read everything anew.")
        }
    }

    private static let mostEvents = 1_000
    /// Of their data. One event has far less.
    private static let mostEventBytes = 2 << 20

    /// So many as one answer may have. Reads in parts, so that no more than those are ever in memory.
    private static func missedEvents(
        of workspace: WorkspaceID, after sequence: Int64, by user: UserID, in chat: ChatTransaction
    ) throws -> MissedEvents {
        var (after, events, bytes): (Int64, [StoredEvent], Int) = (sequence, [], 0)
        let atOnce = 50
        while true {
            let part = try chat.missedEvents(of: workspace, after: after, by: user, limit: atOnce)
            guard case .events(let more, let upTo) = part else { return part }
            for event in more {
                bytes += event.data.utf8.count
                if bytes > mostEventBytes, let last = events.last { return .events(events, upTo: last.sequence) }
                events.append(event)
            }
            if more.count < atOnce || events.count >= mostEvents { return .events(events, upTo: upTo) }
            after = upTo
        }
    }
}
