import ChatStorePostgres
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
}
