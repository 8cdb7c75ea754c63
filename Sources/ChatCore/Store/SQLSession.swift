/// A transaction of a database as the tables see it: SQL that SQLite 3.40 and PostgreSQL 15 both understand, parameters
/// written `$1`, `$2`, ….
///
/// A session belongs to one transaction and one thread.
package protocol SQLSession: AnyObject {
    var dialect: SQLDialect { get }
    /// All rows that a statement gives; of a statement that gives none, no rows.
    func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow]
    /// Runs a statement, and tells how many rows it has changed.
    @discardableResult
    func run(_ sql: String, _ arguments: [SQLValue]) throws -> Int
}

extension SQLSession {
    package func rows(_ sql: String, _ arguments: SQLValue...) throws -> [SQLRow] { try rows(sql, arguments) }

    package func row(_ sql: String, _ arguments: SQLValue...) throws -> SQLRow? { try rows(sql, arguments).first }

    @discardableResult
    package func run(_ sql: String, _ arguments: SQLValue...) throws -> Int { try run(sql, arguments) }
}

/// Where the two databases differ.
package enum SQLDialect: Sendable {
    case sqlite, postgres
}

/// A database that holds a server's chat.
package protocol ChatDatabase: Sendable {
    /// Reads one state of the database. What `body` writes is an error.
    func read<Value: Sendable>(_ body: @escaping @Sendable (any SQLSession) throws -> Value) async throws -> Value
    /// Changes it, all or nothing: when `body` throws, nothing has happened. When this returns, what was written
    /// outlives the process and the machine's power.
    ///
    /// - Parameter body: may run more than once, when it met another writer; so it has no effect outside the session.
    func write<Value: Sendable>(_ body: @escaping @Sendable (any SQLSession) throws -> Value) async throws -> Value
    /// Transactions that wait for their turn now: for the one writer of SQLite, or for a connection to PostgreSQL.
    var waitingTransactions: Int { get }
    /// By what the place is known in which it is kept: a copy that is put there in its stead is known by another one.
    /// Nil for what has no such place, or does not tell.
    func storage() async throws -> String?
    /// Has the place known by something new, so that copies from before are told from what is there.
    ///
    /// - Parameter stamp: random. A database that knows its place by other means passes it over.
    /// - Returns: whether `storage` is something new.
    /// - Throws: what names the file that cannot be written.
    func stampStorage(_ stamp: String) throws -> Bool
}

extension ChatDatabase {
    package func storage() async throws -> String? { nil }
    package func stampStorage(_ stamp: String) throws -> Bool { false }
}
