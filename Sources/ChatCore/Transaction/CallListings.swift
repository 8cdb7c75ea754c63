package import ChatModel

/// Reading calls.
extension ChatTransaction {
    private static let callColumns =
        "c.id, c.workspace_id, c.channel_id, c.message_id, c.kind, c.media, c.room, c.node_url, "
        + "c.started_at, c.ended_at, c.end_reason, c.version, \(profileColumns)"

    private static func call(_ row: inout SQLRow) throws -> Call {
        let (id, workspace, channel, message): (CallID, WorkspaceID, ChannelID, MessageID) = (
            try row.id(), try row.id(), try row.id(), try row.id()
        )
        let (kind, media, room): (CallKind, CallMedia, String) = (try row.name(), try row.name(), try row.text())
        let nodeURL = try row.textOrNull()
        let (startedAt, endedAt) = (try row.time(), try row.timeOrNull())
        let reason = try row.textOrNull().flatMap { CallEndReason(rawValue: $0) }
        let version = try row.integer()
        return Call(
            id: id, workspaceID: workspace, channelID: channel, messageID: message, kind: kind, media: media,
            room: room, nodeURL: nodeURL, startedBy: try profile(&row), startedAt: startedAt, endedAt: endedAt,
            endReason: reason, version: version)
    }

    /// Calls of rows, with who takes part.
    private func calls(_ rows: [SQLRow]) throws -> [Call] {
        var calls = try rows.map {
            var row = $0
            return try Self.call(&row)
        }
        guard !calls.isEmpty else { return [] }
        let places = Dictionary(uniqueKeysWithValues: calls.indices.map { (calls[$0].id, $0) })
        let list = calls.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        for var row in try session.rows(
            """
            SELECT p.call_id, p.state, p.joined_at, p.left_at, \(Self.profileColumns) FROM call_participants p
            JOIN users u ON u.id = p.user_id WHERE p.call_id IN (\(list)) ORDER BY p.place, p.user_id
            """, calls.map { SQLValue.id($0.id) })
        {
            guard let place = places[try row.id()] else { continue }
            let state: CallParticipantState = try row.name()
            let (joinedAt, leftAt) = (try row.timeOrNull(), try row.timeOrNull())
            calls[place].participants.append(
                CallParticipant(user: try Self.profile(&row), state: state, joinedAt: joinedAt, leftAt: leftAt))
        }
        return calls
    }

    func calls(where condition: String, _ arguments: SQLValue...) throws -> [Call] {
        try calls(
            try session.rows(
                "SELECT \(Self.callColumns) FROM calls c JOIN users u ON u.id = c.started_by WHERE \(condition)",
                arguments))
    }

    func call(_ id: CallID) throws -> Call {
        guard let call = try calls(where: "c.id = $1", .id(id)).first else { throw ChatError.notFound("call") }
        return call
    }

    /// The calls that messages show.
    func calls(ofMessages ids: [MessageID]) throws -> [MessageID: Call] {
        guard !ids.isEmpty else { return [:] }
        let list = ids.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        let rows = try session.rows(
            """
            SELECT \(Self.callColumns) FROM calls c JOIN users u ON u.id = c.started_by
            WHERE c.message_id IN (\(list))
            """, ids.map { SQLValue.id($0) })
        return Dictionary(uniqueKeysWithValues: try calls(rows).map { ($0.messageID, $0) })
    }

    func runningCall(in channel: ChannelID) throws -> Call? {
        try calls(where: "c.channel_id = $1 AND c.ended_at IS NULL", .id(channel)).first
    }

    /// One call, for who may read its channel.
    package func call(_ id: CallID, for user: UserID) throws -> Call {
        let call = try call(id)
        guard Permission.readChannel.rule.verdict(on: try place(in: call.channelID, of: user).standing) == .allowed
        else { throw ChatError.notFound("call") }
        return call
    }

    /// What to tell of a call that is rung.
    package func callToRing(_ id: CallID) throws -> (call: Call, channel: Channel) {
        let call = try call(id)
        return (call, try channel(call.channelID))
    }

    /// The calls that go on in channels which somebody is in, the oldest first.
    package func runningCalls(of workspace: WorkspaceID, for user: UserID) throws -> [Call] {
        try Permission.seeWorkspace.check(Standing(role: try role(of: user, in: workspace)), of: "workspace")
        return try calls(
            where: """
                c.workspace_id = $1 AND c.ended_at IS NULL AND EXISTS (
                    SELECT 1 FROM channel_members m WHERE m.channel_id = c.channel_id AND m.user_id = $2)
                ORDER BY c.id
                """, .id(workspace), .id(user))
    }

    /// A channel's calls, the newest first.
    package func calls(
        of channel: ChannelID, for user: UserID, before cursor: Cursor? = nil, limit: Int? = nil
    ) throws -> Page<Call> {
        try demandToRead(.readChannel, in: channel, by: user)
        let limit = pageLength(limit)
        let last: CallID? = try cursor.map { try $0.id() }
        let rows = try session.rows(
            """
            SELECT \(Self.callColumns) FROM calls c JOIN users u ON u.id = c.started_by
            WHERE c.channel_id = $1 \(last == nil ? "" : "AND c.id < $3") ORDER BY c.id DESC LIMIT $2
            """, [.id(channel), .integer(limit + 1)] + (last.map { [.id($0)] } ?? []))
        let calls = try calls(Array(rows.prefix(limit)))
        return Page(calls, after: rows.count > limit ? calls.last.map { Cursor(id: $0.id) } : nil)
    }
}
