package import ChatModel

/// What is compared with what a cluster says of its rooms, for its word of who comes and goes can be lost.
extension ChatTransaction {
    /// Who is in a call that goes on, as far as has been told.
    package struct CallSeats: Sendable, Equatable {
        package let room: String
        /// Whose connection is known, by LiveKit's name of it.
        package let connected: [UserID: String]
        /// Who has a ticket and is expected to come.
        package let awaited: Set<UserID>

        package init(room: String, connected: [UserID: String], awaited: Set<UserID>) {
            self.room = room
            self.connected = connected
            self.awaited = awaited
        }
    }

    /// All calls in rooms that go on.
    package func seatsOfCalls() throws -> [CallSeats] {
        var rooms: [String] = []
        var (connected, awaited): ([String: [UserID: String]], [String: Set<UserID>]) = ([:], [:])
        for var row in try session.rows(
            """
            SELECT c.room, p.user_id, p.sid, p.deadline FROM calls c
            LEFT JOIN call_participants p ON p.call_id = c.id AND p.state = 'joined'
            WHERE c.ended_at IS NULL AND c.kind = 'room' ORDER BY c.id
            """)
        {
            let room = try row.text()
            if rooms.last != room { rooms.append(room) }
            guard let user: UserID = try row.idOrNull() else { continue }
            if let sid = try row.textOrNull() { connected[room, default: [:]][user] = sid }
            if try row.timeOrNull() != nil { awaited[room, default: []].insert(user) }
        }
        return rooms.map { CallSeats(room: $0, connected: connected[$0] ?? [:], awaited: awaited[$0] ?? []) }
    }

    /// Takes what a comparison has found. Whoever has left since the look at their room stays away: nobody would say
    /// once more that they are gone.
    package func reconcile(_ event: CallRoomEvent, of room: String) throws {
        if case .joined(let user, _) = event {
            guard var row = try session.row("SELECT workspace_id FROM calls WHERE room = $1", .text(room)) else {
                return
            }
            try lock(try row.id())
            let isExpected = try seatsOfCalls().contains {
                $0.room == room && ($0.connected[user] != nil || $0.awaited.contains(user))
            }
            guard isExpected else { return }
        }
        try take(event, of: room)
    }
}

/// Which word of rooms has been lost, as two looks in a row tell it: in one alone somebody may just be on their way.
package struct CallComparison: Sendable {
    /// Connections that were not there at the last look, by their rooms.
    private var missing: [String: [UserID: String]] = [:]

    package init() {}

    /// - Parameter looks: what the database has, and who is in the room; nil where nobody could tell. A room that is
    ///   gone has nobody.
    /// - Returns: what is to be taken as if it had been told.
    package mutating func compare(
        _ looks: [(seats: ChatTransaction.CallSeats, present: [UserID: String]?)]
    ) -> [(room: String, event: CallRoomEvent)] {
        var events: [(room: String, event: CallRoomEvent)] = []
        var stillMissing: [String: [UserID: String]] = [:]
        for (seats, present) in looks {
            guard let present else { continue }
            let gone = seats.connected.filter { present[$0.key] != $0.value }
            for (user, sid) in gone.sorted(by: { $0.key < $1.key }) {
                if let now = present[user] {
                    events.append((seats.room, .joined(user, sid: now)))
                } else if missing[seats.room]?[user] == sid, !seats.awaited.contains(user) {
                    events.append((seats.room, .left(user, sid: sid, isFinal: true)))
                } else {
                    stillMissing[seats.room, default: [:]][user] = sid
                }
            }
            // Who is awaited and there has come without a word of it.
            for user in seats.awaited.sorted() where seats.connected[user] == nil {
                if let sid = present[user] { events.append((seats.room, .joined(user, sid: sid))) }
            }
        }
        missing = stillMissing
        return events
    }
}
