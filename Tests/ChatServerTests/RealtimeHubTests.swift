import ChatModel
import ChatStoreSQLite
import Foundation
import Logging
import Testing

@testable import ChatCore
@testable import ChatServer

@Suite(.timeLimit(.minutes(2))) struct RealtimeHubTests {
    @Test func `who was back in between is gone only when the whole time has passed anew`() async throws {
        let start = Timestamp(milliseconds: 1_790_000_000_000)
        let service = ChatService(database: try SQLiteChatDatabase(inMemoryAt: start), now: { start })
        let patience = Duration.milliseconds(600)
        let (gone, going) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
        let hub = RealtimeHub(
            service: service, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, patience: patience,
            gone: { _ in going.yield(.now) })
        let caller = Caller(user: UserID(UUID()), session: SessionID(UUID()))
        func connect() async -> RealtimeConnection {
            let connection = RealtimeConnection(.present(caller), counters: RealtimeCounters()) { _, _ in }
            await hub.connect(connection, caller, resume: [:])
            return connection
        }
        await hub.disconnect(await connect(), of: caller.user)
        let second = await connect()
        try await Task.sleep(for: .milliseconds(300))
        let left = ContinuousClock.now
        await hub.disconnect(second, of: caller.user)
        for await moment in gone {
            #expect(moment - left >= patience)
            break
        }
        // Once for both times.
        try await Task.sleep(for: patience)
        going.finish()
        for await _ in gone { Issue.record("gone twice") }
        await hub.close()
    }
}
