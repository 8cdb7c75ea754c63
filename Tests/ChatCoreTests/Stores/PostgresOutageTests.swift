import ChatStorePostgres
import Dispatch
import Testing

@testable import ChatCore

/// PostgreSQL that is not there. What libpq gives has to be given back once: glibc ends a process that does so twice.
@Suite struct PostgresOutageTests {
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
        async let running = database.write { session in
            begin.yield()
            mayEnd.wait()
            return try session.row("SELECT 1") != nil
        }
        for await _ in begun { break }
        let waiting = Task { try await database.read { try $0.row("SELECT 2") != nil } }
        while database.waitingTransactions == 0 { await Task.yield() }
        async let closed: Void = database.close(within: .seconds(60))
        await #expect(throws: DatabaseAway.self) { _ = try await waiting.value }
        await #expect(throws: DatabaseAway.self) { _ = try await database.read { try $0.row("SELECT 3") != nil } }
        mayEnd.signal()
        await closed
        let isDone = try await running
        #expect(isDone)
        // Once more does no harm.
        await database.close()
    }

    @Test func `one that is closed waits no longer than it may`() async throws {
        let address = try await PostgresServer.shared.emptyDatabase()
        let database = try await PostgresChatDatabase(address, connections: 1, at: ChatWorld.start)
        let mayEnd = DispatchSemaphore(value: 0)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        async let running = database.write { session in
            begin.yield()
            mayEnd.wait()
            return try session.row("SELECT 1") != nil
        }
        for await _ in begun { break }
        await database.close(within: .milliseconds(10))
        mayEnd.signal()
        let isDone = try await running
        #expect(isDone)
    }
}
