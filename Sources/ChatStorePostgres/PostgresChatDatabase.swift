package import ChatCore
package import ChatModel
internal import Dispatch
internal import Synchronization

/// The chat of one server or of several, in PostgreSQL 15 or newer.
///
/// Some connections are kept open, each with a thread of its own while it is in use. Who writes into a workspace waits
/// for whoever writes into it at the time (`ChatTransaction.lock`), and for nobody else.
package final class PostgresChatDatabase: ChatDatabase {
    private let address: String
    private let pool: Mutex<Pool>

    private struct Pool {
        var free: [Worker] = []
        var count = 0
        var waiting: [CheckedContinuation<Worker, any Error>] = []
        let most: Int
        /// Nobody gets a connection any more.
        var isClosed = false
        /// Who waits for those in use to come back.
        var whenIdle: [CheckedContinuation<Void, Never>] = []

        /// Once it is closed, and with the connections.
        mutating func endIfIdle() {
            guard isClosed, free.count == count else { return }
            (free, count) = ([], 0)
            for continuation in whenIdle { continuation.resume() }
            whenIdle = []
        }
    }

    /// A connection, if it has one, and the queue on which alone it is used.
    private final class Worker: @unchecked Sendable {
        let queue: DispatchQueue
        var connection: PostgresConnection?

        init(number: Int) { queue = DispatchQueue(label: "roost-postgres-\(number)") }
    }

    /// How often a transaction is tried that others get in the way of.
    private static let tries = 20

    /// - Parameters:
    ///   - address: as libpq takes it: `postgresql://user:password@host/database`.
    ///   - connections: at most.
    ///   - migrates: whether it may get the tables that it lacks.
    /// - Throws: `DatabaseAway` where there is no such database, `SchemaFault` where it is a newer server's,
    ///   `OutdatedSchema` where it lacks tables and may not get them.
    package init(_ address: String, connections: Int = 16, at now: Timestamp, migrates: Bool = true) async throws {
        self.address = address
        pool = Mutex(Pool(most: connections))
        while try await takeStep(at: now, migrates: migrates) {}
    }

    /// Takes the first step that is missing. Each is a transaction of its own: an older server goes on meanwhile, whose
    /// transactions lock `workspaces` and then other tables, so that one that held several would be in their way.
    ///
    /// - Returns: whether there are more.
    private func takeStep(at now: Timestamp, migrates: Bool) async throws -> Bool {
        try await write { session in
            // Servers that start at once take the steps once.
            _ = try session.row("SELECT 1 FROM (SELECT pg_advisory_xact_lock(727267)) taken")
            guard migrates else {
                try Schema.demandAllSteps(of: session)
                return false
            }
            let missing = try Schema.missingSteps(of: session)
            try Schema.take(Array(missing.prefix(1)), of: session, at: now)
            return missing.count > 1
        }
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLSession) throws -> Value
    ) async throws -> Value {
        try await transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", body)
    }

    /// Each statement sees what others have committed before it: what must not change in between is locked by then.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLSession) throws -> Value
    ) async throws -> Value {
        try await transaction("BEGIN ISOLATION LEVEL READ COMMITTED", body)
    }

    private func transaction<Value: Sendable>(
        _ begin: String, _ body: @escaping @Sendable (any SQLSession) throws -> Value
    ) async throws -> Value {
        let worker = try await take()
        defer { give(back: worker) }
        let address = address
        return try await withCheckedThrowingContinuation { continuation in
            worker.queue.async {
                continuation.resume(
                    with: Result {
                        do {
                            return try Self.run(begin, body, by: worker, address)
                        } catch let fault as PostgresFault where fault.isAway {
                            throw DatabaseAway(fault.description)
                        }
                    })
            }
        }
    }

    private static func run<Value>(
        _ begin: String, _ body: (any SQLSession) throws -> Value, by worker: Worker, _ address: String
    ) throws -> Value {
        var tries = 0
        while true {
            tries += 1
            if worker.connection?.isConnected != true { worker.connection = nil }
            let connection = try worker.connection ?? PostgresConnection(address)
            worker.connection = connection
            do {
                try connection.execute(begin)
                let value = try body(connection)
                do {
                    try connection.execute("COMMIT")
                } catch  where isLost(connection, by: error) {
                    // Whether it has happened nobody can tell; once more could be twice.
                    throw PostgresFault.notConnected("The connection was lost at the end of a transaction.")
                }
                return value
            } catch {
                if isLost(connection, by: error) {
                    worker.connection = nil
                    // One that was kept open may have been closed long ago, which shows when it is used: once more
                    // then.
                    if case .notConnected = error as? PostgresFault { throw error }
                    guard tries == 1 else { throw error }
                    continue
                }
                try connection.execute("ROLLBACK")
                guard (error as? PostgresFault)?.isConflict == true, tries < Self.tries else { throw error }
            }
        }
    }

    /// A server that ends says so before it closes the connection, and libpq may have read the one without the other.
    private static func isLost(_ connection: PostgresConnection, by error: any Error) -> Bool {
        !connection.isConnected || (error as? PostgresFault)?.isAway == true
    }

    // MARK: The pool

    /// The cluster and its timeline, which is another one after a promotion and after a recovery to a point in time;
    /// the database, and the file of a table, which is another one when the table was made or filled anew.
    ///
    /// The control file has the timeline of the last checkpoint, so it is read from the name of the file of the log
    /// that is written now (https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADMIN-BACKUP): its
    /// first eight digits. A server in recovery writes none.
    package func storage() async throws -> String? {
        do {
            return try await read { session in
                var row = try session.row(
                    """
                    SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
                        CASE WHEN NOT pg_is_in_recovery()
                            THEN substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END,
                        (SELECT oid FROM pg_database WHERE datname = current_database()),
                        pg_relation_filenode('workspaces'))
                    """)
                return try row?.text()
            }
        } catch  where (error as? PostgresFault)?.isAway == false {
            // Some providers let nobody ask.
            return nil
        }
    }

    package var waitingTransactions: Int { pool.withLock { $0.waiting.count } }

    private func take() async throws -> Worker {
        try await withCheckedThrowingContinuation { continuation in
            let result = pool.withLock { pool -> Result<Worker, any Error>? in
                guard !pool.isClosed else { return .failure(Self.closed) }
                if let worker = pool.free.popLast() { return .success(worker) }
                guard pool.count < pool.most else {
                    pool.waiting.append(continuation)
                    return nil
                }
                pool.count += 1
                return .success(Worker(number: pool.count))
            }
            if let result { continuation.resume(with: result) }
        }
    }

    private func give(back worker: Worker) {
        let next = pool.withLock { pool -> CheckedContinuation<Worker, any Error>? in
            guard pool.waiting.isEmpty else { return pool.waiting.removeFirst() }
            pool.free.append(worker)
            pool.endIfIdle()
            return nil
        }
        next?.resume(returning: worker)
    }

    private static let closed = DatabaseAway("It has been closed.")

    /// Ends it after the transactions that are running: with a PostgreSQL that does not answer that may be never. To
    /// who waits for a connection, and to who comes later, it is away.
    package func close() async {
        let waiting = pool.withLock { pool in
            pool.isClosed = true
            defer { pool.waiting = [] }
            return pool.waiting
        }
        for continuation in waiting { continuation.resume(throwing: Self.closed) }
        await withCheckedContinuation { continuation in
            pool.withLock { pool in
                pool.whenIdle.append(continuation)
                pool.endIfIdle()
            }
        }
    }
}
