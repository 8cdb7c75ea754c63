/// A database that was put back from a copy: its numbers of events were given out before, to events that are lost.
extension ChatTransaction {
    /// So many times what is kept: further than a log has grown since any copy that somebody puts back.
    private static let leap: Int64 = 10

    /// Compares the place in which the database is kept with the one that it remembers. Where it is another one, as of
    /// a copy that was put back or has moved, the numbers of all logs go on so far behind those that were given out
    /// that whoever resumes from one of these reads everything anew. Where nothing is remembered yet, nothing happens.
    ///
    /// - Parameter storage: what the database is known by now.
    /// - Returns: whether it is another place.
    package func leaveFormerNumbers(at storage: String) throws -> Bool {
        guard let row = try session.row("SELECT value FROM settings WHERE name = 'storage'") else { return false }
        var remembered = row
        guard try remembered.text() != storage else { return false }
        try session.run("UPDATE workspaces SET sequence = sequence + $1", .integer(limits.keptEvents * Self.leap))
        try remember(storage: storage)
        return true
    }

    /// Remembers what the place is known by from now on.
    package func remember(storage: String) throws {
        try session.run(
            """
            INSERT INTO settings (name, value) VALUES ('storage', $1) ON CONFLICT (name) DO UPDATE SET value = $1
            """, .text(storage))
    }
}
