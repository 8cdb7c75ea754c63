package import ChatCore
package import ChatModel

/// The chat of a server: transactions of its database, each at the time at which it is begun, and word of what they
/// have changed to who follows it.
package struct ChatService: Sendable {
    package let database: any ChatDatabase
    package let limits: Limits
    package let lifetimes: Lifetimes
    package let now: @Sendable () -> Timestamp
    /// Told after something has changed, when it can be read.
    package var changed: @Sendable (ChatChanges) -> Void = { _ in }
    /// Shared by all copies of it.
    package let statistics = ChatStatistics()

    package init(
        database: any ChatDatabase, limits: Limits = Limits(), lifetimes: Lifetimes = Lifetimes(),
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.database = database
        self.limits = limits
        self.lifetimes = lifetimes
        self.now = now
    }

    /// Looks at one state of everything.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (ChatTransaction) throws -> Value
    ) async throws -> Value {
        let (time, limits, lifetimes) = (now(), limits, lifetimes)
        return try await statistics.reads.measure { [database] in
            try await database.read { session in
                try body(ChatTransaction(session, at: time, limits: limits, lifetimes: lifetimes))
            }
        }
    }

    /// Changes something, all or nothing; when this returns, it is kept.
    ///
    /// - Parameter body: may run more than once, and has no effect outside the transaction.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (ChatTransaction) throws -> Value
    ) async throws -> Value {
        let (time, limits, lifetimes) = (now(), limits, lifetimes)
        let (value, changes) = try await statistics.writes.measure { [database] in
            try await database.write { session in
                let transaction = ChatTransaction(session, at: time, limits: limits, lifetimes: lifetimes)
                return (try body(transaction), transaction.changes)
            }
        }
        statistics.count(changes.tally)
        if !changes.isEmpty { changed(changes) }
        return value
    }
}
