package import ChatCore
package import ChatModel

/// What whoever runs a server does with its chat, beside the server or without it.
package struct Administration: Sendable {
    let service: ChatService
    /// As people reach the server, for links.
    private let serverURL: String

    package init(service: ChatService, serverURL: String) {
        self.service = service
        self.serverURL = serverURL
    }

    /// Changes something, and leaves what comes of it outside the database to a server.
    func change<Value: Sendable>(
        _ body: @escaping @Sendable (ChatTransaction) throws -> Value
    ) async throws -> Value {
        try await service.write { chat in
            let value = try body(chat)
            try chat.leaveChanges()
            return value
        }
    }

    // MARK: People

    /// Calls `body` with each account, by username; all are never in memory at once.
    package func forEachAccount(_ body: (Account) throws -> Void) async throws {
        var last = ""
        while true {
            let page = try await service.read { [last] in try $0.accounts(after: last) }
            for account in page { try body(account) }
            guard let end = page.last else { return }
            last = end.profile.username
        }
    }

    package func deactivate(_ name: String) async throws {
        try await change { try $0.deactivate(try $0.user(named: name)) }
    }

    package func reactivate(_ name: String) async throws {
        try await change { try $0.reactivate(try $0.user(named: name)) }
    }

    /// - Returns: a link by which somebody chooses a new password, within an hour. The old one stays good until then.
    ///   It goes to them by other ways than a letter, and confirms no address.
    package func resetPassword(of name: String) async throws -> String {
        let secret = Secret.random()
        try await change { chat in
            let user = try chat.user(named: name)
            try chat.requireActive(user)
            try chat.openEmailToken(secret.hash, for: .reset, of: user, isMailed: false)
        }
        return "\(serverURL)/#/reset-password/\(secret.text)"
    }

    /// - Parameter workspace: its address or identifier; nil for the server.
    package func makeOwner(_ name: String, of workspace: String?) async throws {
        try await change { chat in
            let user = try chat.user(named: name)
            guard let workspace else { return try chat.makeServerOwner(user) }
            try chat.makeOwner(user, of: try chat.workspace(named: workspace).id)
        }
    }

    // MARK: Workspaces

    package func workspaces() async throws -> [ChatTransaction.WorkspaceEntry] {
        try await service.read { try $0.allWorkspaces() }
    }

    /// Deletes a workspace: at once it is there for nobody, and when this returns its rows are gone. Bytes of its files
    /// are taken away by the server, which ends the rooms of its calls.
    package func deleteWorkspace(_ name: String) async throws {
        let hadCalls = try await change { chat in
            try chat.deleteWorkspace(try chat.workspace(named: name).id)
            return !chat.changes.calls.endedRooms.isEmpty || !chat.changes.calls.silenced.isEmpty
        }
        if hadCalls { try await Task.sleep(for: WorkspaceSweep.patience) }
        while try await service.write({ try $0.takeAwayWorkspaceLeftovers() }) {
            try await Task.sleep(for: Self.pause)
        }
    }

    /// Between two parts of what is taken away: a server beside this one asks for SQLite's file again and again, and
    /// comes in only while nobody has it.
    private static let pause = Duration.milliseconds(50)

    /// Puts somebody into a private channel that nobody is in any more, and opens it again.
    ///
    /// - Parameters:
    ///   - name: the channel's.
    ///   - workspace: its address or identifier.
    package func reopenChannel(_ name: String, of workspace: String, for user: String) async throws {
        try await change { chat in
            let channel = try chat.channel(named: name, in: try chat.workspace(named: workspace).id)
            try chat.reopenChannel(channel, for: try chat.user(named: user))
        }
    }

    /// Makes an invitation in the name of the workspace's first owner.
    ///
    /// - Parameters:
    ///   - workspace: its address or identifier.
    ///   - channels: by their names.
    /// - Returns: its link.
    package func invite(
        to workspace: String, as role: Role, channels: [String], uses: Int?
    ) async throws -> String {
        let secret = Secret.random()
        try await change { chat in
            let id = try chat.workspace(named: workspace).id
            let new = ChatTransaction.NewInvitation(
                role: role, channelIDs: try channels.map { try chat.channel(named: $0, in: id) }, maximumUses: uses)
            _ = try chat.invite(new, with: secret.hash, to: id, by: try chat.anyOwner(of: id))
        }
        return "\(serverURL)/#/invitation/\(secret.text)"
    }
}
