import ChatCore
import ChatModel
import Synchronization
import Testing

@testable import ChatServer

/// What is done after an answer.
@Suite struct LaterWorkTests {
    /// Lets nobody through until it is opened.
    private final class Gate: Sendable {
        private let state = Mutex((isOpen: true, waiting: [CheckedContinuation<Void, Never>]()))

        func close() { state.withLock { $0.isOpen = false } }

        func open() {
            let waiting = state.withLock { state in
                state.isOpen = true
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }

        func pass() async {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    if !state.isOpen { state.waiting.append(continuation) }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
        }
    }

    /// A database whose writers wait at a gate, as they do for a slow disk.
    private struct SlowDatabase: ChatDatabase {
        let database: any ChatDatabase
        let gate: Gate

        var waitingTransactions: Int { database.waitingTransactions }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value { try await database.read(body) }

        func write<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value {
            await gate.pass()
            return try await database.write(body)
        }
    }

    @Test func `who asks for a letter is answered before anything is written, and the server ends after it`()
        async throws
    {
        let gate = Gate()
        let fixture = try await ServerFixture { SlowDatabase(database: $0, gate: gate) }
        _ = try await fixture.login("ada")
        _ = await fixture.mails.next()
        gate.close()
        for route in ["forgot_password", "resend_verification"] {
            for name in ["ada", "nobody"] {
                let answer = try await fixture.ask("POST", "/auth/\(route)", EmailRequest(email: "\(name)@example.org"))
                #expect(answer.status == 202 && answer.body.isEmpty)
            }
        }
        #expect(fixture.mails.count == 0)
        gate.open()
        await fixture.server.finish()
        #expect(fixture.mails.count == 2)
        #expect(
            await [fixture.mails.next().subject, fixture.mails.next().subject].sorted() == [
                "Choose a new password", "Confirm your e-mail address",
            ])
    }

    @Test func `more than so much at a time is refused before anything is done`() async {
        let (gate, work) = (Gate(), LaterWork(most: 2))
        gate.close()
        for _ in 0..<2 {
            #expect(throws: Never.self) { try work.demandRoom() }
            work.begin { await gate.pass() }
        }
        #expect(throws: ChatError.busy) { try work.demandRoom() }
        gate.open()
        await work.finish()
        #expect(throws: Never.self) { try work.demandRoom() }
        await work.finish()
    }
}
