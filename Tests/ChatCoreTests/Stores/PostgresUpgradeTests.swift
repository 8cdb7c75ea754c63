import ChatModel
import ChatStorePostgres
import Synchronization
import Testing

@testable import ChatCore

/// A database whose tables a newer server changes while an older one serves it.
@Suite struct PostgresUpgradeTests {
    /// As a version was that knew nothing of these steps.
    private static let undoing = [
        "ALTER TABLE files DROP COLUMN awaits_look", "DROP TABLE registrations",
        "ALTER TABLE devices DROP COLUMN icon_is_clear", "ALTER TABLE workspaces DROP COLUMN version",
        "ALTER TABLE notification_settings DROP COLUMN version", "ALTER TABLE mentions DROP COLUMN by_here",
        """
        DELETE FROM schema_steps WHERE name IN
            ('awaited_pictures', 'registrations', 'icons', 'versions', 'mentions_by_here', 'search_words',
             'unspaced_scripts')
        """,
    ]

    private final class Progress: Sendable {
        let isOver = Mutex(false)
        let tries = Mutex(0)
    }

    /// Each of PostgreSQL's processes looks for a deadlock when it has waited for so long: the newer server does so
    /// last, so that the older one is who gives way in each that there is.
    private static func address(_ address: String, deadlocksAfter time: String) -> String {
        address.replacing("options='", with: "options='-c deadlock_timeout=\(time) ")
    }

    @Test func `an older server goes on while the tables change, and nothing of its is tried twice`() async throws {
        let address = try await PostgresServer.shared.emptyDatabase()
        let older = try await PostgresChatDatabase(
            Self.address(address, deadlocksAfter: "100ms"), connections: 4, at: ChatWorld.start)
        let workspace = try await older.write { session in
            let chat = ChatTransaction(session, at: ChatWorld.start)
            let new = NewAccount(email: "a@example.org", username: "ann", displayName: "Ann", passwordHash: "hash")
            let ann = try #require(try chat.register(new))
            let (listing, general) = try chat.createWorkspace(name: "Harbour", slug: "harbour", by: ann)
            for _ in 0..<100 { _ = try chat.send(.init(content: "one two"), to: general.id, by: ann) }
            for statement in Self.undoing { try session.run(statement) }
            return listing.workspace.id
        }
        let progress = Progress()
        let (beginnings, beginning) = AsyncStream<Void>.makeStream()
        let done = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    defer { beginning.yield() }
                    var done = 0
                    repeat {
                        try await older.write { session in
                            progress.tries.withLock { $0 += 1 }
                            try ChatTransaction(session, at: ChatWorld.start).lock(workspace)
                            try session.run("UPDATE messages SET version = version + 1 WHERE sequence = 1")
                        }
                        done += 1
                        if done == 1 { beginning.yield() }
                    } while done < 20_000 && !progress.isOver.withLock({ $0 })
                    return done
                }
            }
            defer { progress.isOver.withLock { $0 = true } }
            var begun = 0
            for await _ in beginnings {
                begun += 1
                if begun == 4 { break }
            }
            _ = try await PostgresChatDatabase(
                Self.address(address, deadlocksAfter: "1min"), connections: 1, at: ChatWorld.start)
            progress.isOver.withLock { $0 = true }
            return try await group.reduce(0, +)
        }
        #expect(done >= 4 && progress.tries.withLock { $0 } == done)
        // It has all of them now.
        _ = try await PostgresChatDatabase(address, connections: 1, at: ChatWorld.start, migrates: false)
    }
}
