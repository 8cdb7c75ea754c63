internal import ChatModel
internal import Foundation

/// What a process that serves nobody, as `roost admin`, has changed: the part of it that is done outside the database.
/// It is written with the change, and a server takes it from there.
struct LeftChanges: Codable, Equatable {
    struct Departure: Codable, Equatable {
        let room: String
        let user: UserID
    }

    struct Silence: Codable, Equatable {
        let call: CallID
        let user: UserID
        let hasMissedIt: Bool
    }

    let workspaces: [WorkspaceID]
    let arrivals: [UserID]
    let loggedOut: [UserID]
    let departures: [Departure]
    let endedRooms: [String]
    let silenced: [Silence]
    let hasLeftovers: Bool
    let hasDeletedWorkspaces: Bool
    /// Nil in what a version before has left.
    let relieved: [UserID]?

    init(_ changes: ChatChanges) {
        workspaces = changes.workspaces.sorted()
        arrivals = changes.arrivals.sorted()
        loggedOut = changes.loggedOut.sorted()
        departures = changes.calls.departures.map { Departure(room: $0.room, user: $0.user) }
        endedRooms = changes.calls.endedRooms.sorted()
        silenced = changes.calls.silenced.flatMap { call, users in
            users.map { Silence(call: call, user: $0, hasMissedIt: $1) }
        }
        hasLeftovers = changes.hasLeftovers
        hasDeletedWorkspaces = changes.hasDeletedWorkspaces
        relieved = changes.relieved.sorted()
    }

    /// As the change would have been told in the process that made it.
    var changes: ChatChanges {
        var changes = ChatChanges()
        changes.workspaces = Set(workspaces)
        changes.arrivals = Set(arrivals)
        changes.loggedOut = Set(loggedOut)
        changes.calls.departures = Set(departures.map { CallEffects.Departure(room: $0.room, user: $0.user) })
        changes.calls.endedRooms = Set(endedRooms)
        for one in silenced { changes.calls.silenced[one.call, default: [:]][one.user] = one.hasMissedIt }
        (changes.hasLeftovers, changes.hasDeletedWorkspaces) = (hasLeftovers, hasDeletedWorkspaces)
        changes.relieved = Set(relieved ?? [])
        return changes
    }
}

extension ChatTransaction {
    /// Leaves what has changed so far for a server, in the same transaction: nobody follows this process's changes.
    package func leaveChanges() throws {
        guard !changes.isEmpty else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let data = String(decoding: try encoder.encode(LeftChanges(changes)), as: UTF8.self)
        try session.run("INSERT INTO left_changes (data, created_at) VALUES ($1, $2)", .text(data), .time(now))
    }

    package func hasLeftChanges() throws -> Bool {
        try session.row("SELECT number FROM left_changes LIMIT 1") != nil
    }

    /// What others have left, in its order; each is given to one server, once.
    package func takeLeftChanges() throws -> [ChatChanges] {
        let rows = try session.rows("DELETE FROM left_changes RETURNING number, data").map {
            var row = $0
            return (number: try row.integer(), data: try row.text())
        }
        // RETURNING has no order of its own.
        return try rows.sorted { $0.number < $1.number }.map {
            try JSONDecoder().decode(LeftChanges.self, from: Data($0.data.utf8)).changes
        }
    }
}
