package import ChatModel

/// What nodes are named by.
package enum Node {}

/// One of several servers that are one: a process, from its start to its end.
package typealias NodeID = Identifier<Node>

/// The server that carries a call's media, where there are several.
package struct CallNode: Sendable, Equatable {
    package let id: NodeID
    /// As clients reach this one server: `https://one.chat.example.org`.
    package let url: String

    package init(id: NodeID, url: String) {
        self.id = id
        self.url = url
    }
}

extension ChatTransaction {
    /// Ends calls of these kinds that servers carried which are no more.
    ///
    /// - Parameter nodes: who is there, and whose calls go on.
    package func failCalls(but nodes: Set<NodeID>, _ kinds: [CallKind]) throws {
        let list = nodes.sorted()
        let names = list.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        try failCalls(
            try runningCalls(
                kinds, where: list.isEmpty ? "node_id IS NOT NULL" : "node_id NOT IN (\(names))",
                list.map { SQLValue.id($0) }))
    }

    /// What a server carries of calls in rooms.
    package struct CarriedCalls: Sendable, Equatable {
        /// Rooms of calls that have ended within the last hour.
        package var ended: [String] = []
        /// Who may be in the rooms of calls that go on.
        package var running: [String: Set<UserID>] = [:]
    }

    /// The calls of one server, as the database has them.
    package func callsCarried(by node: NodeID) throws -> CarriedCalls {
        var carried = CarriedCalls()
        for var row in try session.rows(
            """
            SELECT c.room, c.ended_at, p.user_id FROM calls c
            LEFT JOIN call_participants p ON p.call_id = c.id AND p.state = 'joined'
            WHERE c.node_id = $1 AND c.kind = 'room' AND (c.ended_at IS NULL OR c.ended_at > $2) ORDER BY c.id
            """, .id(node), .time(now.advanced(by: .seconds(-3_600))))
        {
            let room = try row.text()
            guard try row.timeOrNull() == nil else {
                if carried.ended.last != room { carried.ended.append(room) }
                continue
            }
            carried.running[room, default: []].formUnion(try (row.idOrNull() as UserID?).map { [$0] } ?? [])
        }
        return carried
    }
}
