internal import ChatCore
internal import ChatModel

/// Ways into a workspace.
extension ChatAPI {
    var invitationRoutes: [Route] {
        [
            Route("GET", "/workspaces/{workspace_id}/invitations", invitations),
            Route("POST", "/workspaces/{workspace_id}/invitations", invite),
            Route("DELETE", "/workspaces/{workspace_id}/invitations/{invitation_id}", revoke),
            Route("POST", "/invitations/preview", for: .anybody, preview),
            Route("POST", "/invitations/accept", accept),
        ]
    }

    @Sendable private func invitations(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        return try .json(Page(try await service.read { try $0.invitations(of: id, for: user) }))
    }

    @Sendable private func invite(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let body: CreateInvitationRequest = try request.body()
        let secret = Secret.random()
        let new = ChatTransaction.NewInvitation(
            email: body.email, role: body.role ?? .member, channelIDs: body.channelIDs ?? [],
            maximumUses: body.maximumUses)
        // What is refused costs nobody a letter.
        let email = try await service.read { try $0.checkInvitation(new, to: id, by: user) }
        if let email {
            // Of who sends it first: beyond their own they use up nobody else's.
            try await limits.take(.invitations(user), at: service.now())
            try await limits.take(.letters(email.lowercased()), at: service.now())
        }
        let (made, workspace, name) = try await service.write { chat in
            let invitation = try chat.invite(new, with: secret.hash, to: id, by: user)
            return (
                invitation, try chat.workspace(id, for: user).workspace.name,
                try chat.account(of: user).profile.displayName
            )
        }
        if let email {
            post(letters.invitation(to: email, from: name, workspace: workspace, secret: secret))
        }
        var invitation = made
        invitation.token = secret.text
        return try .json(invitation, status: 201)
    }

    @Sendable private func revoke(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let invitation: InvitationID = try request.id("invitation_id")
        try await service.write { try $0.revokeInvitation(invitation, in: id, by: user) }
        return .nothing
    }

    /// What a link leads to, before somebody has an account. The secret is in the body, where no log keeps it.
    @Sendable private func preview(_ request: APIRequest) async throws -> APIResponse {
        let body: TokenRequest = try request.body()
        let token = Secret(text: body.token).hash
        let (workspace, invitation) = try await service.read { try $0.invitation(with: token) }
        return try .json(
            InvitationPreview(workspaceName: workspace.name, role: invitation.role, email: invitation.email))
    }

    @Sendable private func accept(_ request: APIRequest) async throws -> APIResponse {
        let body: TokenRequest = try request.body()
        let user = try request.user()
        let token = Secret(text: body.token).hash
        return try .json(try await service.write { try $0.accept(invitationWith: token, by: user) })
    }
}
