import ChatCore
import ChatModel
import ChatStoreSQLite
import Synchronization
import Testing

@testable import ChatServer

/// Whether the database answers, as balancers ask every second or so.
@Suite(.timeLimit(.minutes(1))) struct DatabaseProbeTests {
    private static let start = Timestamp(milliseconds: 1_790_000_000_000)

    /// A database that answers when it is let, and counts who asks.
    private final class SlowDatabase: ChatDatabase {
        private let database: SQLiteChatDatabase
        private let isHeld = Atomic(true)
        let questions = Atomic(0)

        init() throws { database = try SQLiteChatDatabase(inMemoryAt: start) }

        func release() { isHeld.store(false, ordering: .relaxed) }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value {
            questions.add(1, ordering: .relaxed)
            while isHeld.load(ordering: .relaxed) { try? await Task.sleep(for: .milliseconds(5)) }
            return try await database.read(body)
        }

        func write<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value { try await database.write(body) }

        var waitingTransactions: Int { 0 }
    }

    /// One that has gone.
    private struct BrokenDatabase: ChatDatabase {
        struct Fault: Error {}

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value { throw Fault() }

        func write<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value { throw Fault() }

        var waitingTransactions: Int { 0 }
    }

    private static func probe(_ database: any ChatDatabase) -> DatabaseProbe {
        DatabaseProbe(ChatService(database: database, now: { start }))
    }

    @Test func `one that does not answer is asked once, however many want to know`() async throws {
        let database = try SlowDatabase()
        let probe = Self.probe(database)
        for _ in 0..<3 { #expect(await probe.runningCalls(within: .milliseconds(20)) == nil) }
        while database.questions.load(ordering: .relaxed) == 0 { await Task.yield() }
        #expect(database.questions.load(ordering: .relaxed) == 1)
        database.release()
        #expect(await probe.runningCalls(within: .seconds(50)) == 0)
        // The next one is a question of its own.
        let asked = database.questions.load(ordering: .relaxed)
        #expect(await probe.runningCalls(within: .seconds(50)) == 0)
        #expect(database.questions.load(ordering: .relaxed) == asked + 1)
    }

    @Test func `one that fails is not there`() async {
        let probe = Self.probe(BrokenDatabase())
        for _ in 0..<2 { #expect(await probe.runningCalls(within: .seconds(50)) == nil) }
    }

    @Test func `faults of the database are counted, refusals are not`() async throws {
        let broken = ChatService(database: BrokenDatabase(), now: { Self.start })
        await #expect(throws: BrokenDatabase.Fault.self) { try await broken.read { _ in 1 } }
        await #expect(throws: BrokenDatabase.Fault.self) { try await broken.write { _ in 1 } }
        #expect(broken.statistics.reads.failures.value == 1 && broken.statistics.writes.failures.value == 1)
        let service = ChatService(database: try SQLiteChatDatabase(inMemoryAt: Self.start), now: { Self.start })
        await #expect(throws: ChatError.self) { try await service.write { try $0.user(named: "nobody") } }
        #expect(service.statistics.writes.failures.value == 0)
        #expect(service.statistics.writes.durations.snapshot.count == 1)
    }
}
