import ChatStorePostgres
import Dispatch
import Testing

@testable import ChatCore

/// PostgreSQL that is not there. What libpq gives has to be given back once: glibc ends a process that does so twice.
@Suite(.timeLimit(.minutes(2))) struct PostgresOutageTests {
    @Test func `a server that cannot be reached is said each time, and does no harm`() async {
        for _ in 0..<100 {
            await #expect(throws: DatabaseAway.self) {
                _ = try await PostgresChatDatabase(
                    "postgresql://nobody@/nothing?host=/nowhere", connections: 1, at: ChatWorld.start)
            }
        }
    }

    @Test func `one that is closed ends what is running, and is away for who waits and who comes later`() async throws {
        let address = try await PostgresServer.shared.emptyDatabase()
        let database = try await PostgresChatDatabase(address, connections: 1, at: ChatWorld.start)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let mayEnd = DispatchSemaphore(value: 0)
        let (ends, end) = AsyncStream.makeStream(of: String.self)
        let running = Task {
            try await database.write { session in
                begin.yield()
                mayEnd.wait()
                _ = try session.row("SELECT 1")
                end.yield("the transaction")
            }
        }
        for await _ in begun { break }
        let waiting = Task { try await database.read { try $0.row("SELECT 2") != nil } }
        while database.waitingTransactions == 0 { await Task.yield() }
        let closing = Task {
            await database.close()
            end.yield("the database")
            end.finish()
        }
        await #expect(throws: DatabaseAway.self) { _ = try await waiting.value }
        await #expect(throws: DatabaseAway.self) { _ = try await database.read { try $0.row("SELECT 3") != nil } }
        mayEnd.signal()
        await closing.value
        #expect(await ends.reduce(into: []) { $0.append($1) } == ["the transaction", "the database"])
        try await running.value
        // Once more does no harm.
        await database.close()
    }
}
