/// A database that was put back from a copy: its numbers of events were given out before, to events that are lost.
extension ChatTransaction {
    /// Further than any log has grown since a copy that somebody puts back. Two million of them fit into the numbers
    /// that JSON's readers keep exactly, up to 2^53 (RFC 8259 §6).
    private static let leap: Int64 = 1 << 32

    /// Compares the place in which the database is kept with the one that it remembers. Where it is another one, as of
    /// a copy that was put back or has moved, the numbers of all logs go on so far behind those that were given out
    /// that whoever resumes from one of these reads everything anew. So it is where nothing is remembered, for it may
    /// be a copy from a version that remembered nothing, or be made to forget: a new database has no numbers yet.
    ///
    /// - Parameter storage: what the database is known by now, which it remembers afterwards.
    /// - Returns: whether it remembered another place.
    package func leaveFormerNumbers(at storage: String) throws -> Bool {
        var row = try session.row("SELECT value FROM settings WHERE name = 'storage'")
        let remembered = try row?.text()
        guard remembered != storage else { return false }
        try session.run("UPDATE workspaces SET sequence = sequence + $1", .integer(Self.leap))
        try remember(storage: storage)
        return remembered != nil
    }

    /// Remembers what the place is known by from now on.
    package func remember(storage: String) throws {
        try session.run(
            """
            INSERT INTO settings (name, value) VALUES ('storage', $1) ON CONFLICT (name) DO UPDATE SET value = $1
            """, .text(storage))
    }
}
