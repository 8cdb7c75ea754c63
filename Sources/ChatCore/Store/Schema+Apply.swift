package import ChatModel

extension Schema {
    /// The steps that a database has not taken yet.
    ///
    /// - Throws: `SchemaFault` when it has taken steps that this server does not know: a newer server has been at it.
    package static func missingSteps(of session: any SQLSession) throws -> [Step] {
        try session.run("CREATE TABLE IF NOT EXISTS schema_steps (name TEXT PRIMARY KEY, taken_at BIGINT NOT NULL)")
        let taken = try session.rows("SELECT name FROM schema_steps").map {
            var row = $0
            return try row.text()
        }
        let unknown = Set(taken).subtracting(steps.map(\.name))
        guard unknown.isEmpty else { throw SchemaFault(unknownSteps: unknown.sorted()) }
        return steps.filter { !taken.contains($0.name) }
    }

    /// Takes them.
    package static func take(_ steps: [Step], of session: any SQLSession, at now: Timestamp) throws {
        for step in steps {
            for statement in step.statements(for: session.dialect) { try session.run(statement) }
            try session.run(
                "INSERT INTO schema_steps (name, taken_at) VALUES ($1, $2)", .text(step.name), .time(now))
        }
    }
}

extension Schema {
    /// For who is not to change a database's tables: there may be an older server that serves it.
    ///
    /// - Throws: `OutdatedSchema` when steps are missing, `SchemaFault` when there are unknown ones.
    package static func demandAllSteps(of session: any SQLSession) throws {
        let missing = try missingSteps(of: session)
        guard missing.isEmpty else { throw OutdatedSchema(missingSteps: missing.map(\.name)) }
    }
}

/// The database belongs to an older server, which may be running.
package struct OutdatedSchema: Error, Equatable, CustomStringConvertible {
    package let missingSteps: [String]

    package var description: String {
        "The database was made by an older version of Roost (it lacks '\(missingSteps.joined(separator: "', '"))'). "
            + "Start the server once with this version first, or add --migrate if no server is running."
    }
}

/// The database belongs to a newer server.
package struct SchemaFault: Error, Equatable, CustomStringConvertible {
    package let unknownSteps: [String]

    package var description: String {
        "The database was made by a newer version of Roost (it has '\(unknownSteps.joined(separator: "', '"))'). "
            + "Start that version, or put back a copy from before."
    }
}
