import ChatModel
import Synchronization
import Testing

@testable import ChatCore
@testable import ChatServer

/// Where the push that takes a number away comes to nothing, the number goes when its owner next reads.
@Suite(.timeLimit(.minutes(1))) struct KeptNumberTests {
    private typealias World = PushCenterTests.World

    private static let clear = #"{"aps":{"badge":0}}"#

    private func text(_ push: Push) -> String { String(decoding: push.payload, as: UTF8.self) }

    private func isTakenForClear(in world: World) async throws -> Bool {
        let bob = world.bob
        return try await world.chat.read { try $0.pushAddresses(of: bob).map(\.iconIsClear) } == [true]
    }

    /// Bob's device shows a number, he has read everything, and this becomes of the push that says so.
    private func numberIsShown(
        _ center: PushCenter, in world: World, whileApple answer: APNsOutcome
    ) async throws -> Message {
        let message = try await world.say("hello")
        await center.changed(world.word(of: message))
        #expect(text(await world.apple.sent(1)[0]).contains(#""badge":1"#))
        world.apple.answer(answer)
        await center.changed(try await world.read(message))
        #expect(text(await world.apple.sent(2)[1]) == Self.clear)
        return message
    }

    private func waits(_ center: PushCenter) async throws {
        try await until { center.statistics.retried == 1 && center.statistics.inFlight == 0 }
    }

    @Test func `one that was outdated is made anew when that is read, too`() async throws {
        let world = try await World()
        let center = try await world.center()
        _ = try await numberIsShown(center, in: world, whileApple: .tryAgain(reason: "Shutdown", after: .seconds(30)))
        try await waits(center)
        // This comes to Bob's socket: no push says another number.
        world.online.withLock { $0 = [world.bob] }
        let second = try await world.say("to the socket")
        await center.changed(world.word(of: second))
        world.clock.pass(.seconds(30))
        await center.tick()
        try await until { center.statistics.failed == ["outdated": 1] }
        await center.changed(try await world.read(second))
        #expect(text(await world.apple.sent(3)[2]) == Self.clear)
        await center.stop()
        #expect(world.apple.sent.count == 3)
    }

    @Test func `one that was refused is not sent over and over, but with what is read next`() async throws {
        let world = try await World()
        let center = try await world.center()
        let message = try await numberIsShown(center, in: world, whileApple: .refused(reason: "BadTopic"))
        try await until { try await !isTakenForClear(in: world) }
        for _ in 0..<2 {
            await center.tick()
            await center.hasLookedAtIcons()
        }
        #expect(world.apple.sent.count == 2)
        await center.changed(try await world.read(message))
        #expect(text(await world.apple.sent(3)[2]) == Self.clear)
        await center.stop()
        #expect(try await isTakenForClear(in: world))
    }

    @Test func `one that has waited for too long is forgotten by nobody`() async throws {
        let world = try await World()
        let center = try await world.center()
        let message = try await numberIsShown(
            center, in: world, whileApple: .tryAgain(reason: "Shutdown", after: .seconds(30)))
        try await waits(center)
        world.clock.pass(.seconds(86_400))
        await center.tick()
        try await until { center.statistics.failed == ["expired": 1] }
        await center.changed(try await world.read(message))
        #expect(text(await world.apple.sent(3)[2]) == Self.clear)
        await center.stop()
    }

    @Test func `one that waits when a server ends is made anew by the next`() async throws {
        let world = try await World()
        let first = try await world.center()
        let message = try await numberIsShown(
            first, in: world, whileApple: .tryAgain(reason: "Shutdown", after: .seconds(30)))
        try await waits(first)
        #expect(try await isTakenForClear(in: world))
        await first.stop()
        #expect(try await !isTakenForClear(in: world))
        let second = try await world.center()
        await second.changed(try await world.read(message))
        #expect(text(await world.apple.sent(3)[2]) == Self.clear)
        await second.stop()
        #expect(world.apple.sent.count == 3)
    }

    // MARK: Databases

    /// One that goes away and comes back.
    private final class LeavingDatabase: ChatDatabase {
        enum State {
            case answers
            case isAway
            /// What it writes it keeps, and nobody hears of it.
            case losesAnswers
        }

        struct Fault: Error {}

        private let database: any ChatDatabase
        private let state = Mutex(State.answers)

        init(_ database: any ChatDatabase) { self.database = database }

        func becomes(_ new: State) { state.withLock { $0 = new } }

        private func check(_ bad: State) throws {
            if state.withLock({ $0 == bad }) { throw Fault() }
        }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value {
            try check(.isAway)
            return try await database.read(body)
        }

        func write<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value {
            try check(.isAway)
            let value = try await database.write(body)
            try check(.losesAnswers)
            return value
        }

        var waitingTransactions: Int { 0 }
    }

    private func leaving(_ world: World) -> (database: LeavingDatabase, chat: ChatService) {
        let (database, clock) = (LeavingDatabase(world.chat.database), world.clock)
        return (database, ChatService(database: database, now: { clock.now }))
    }

    @Test func `while the database is away one reader is asked for, not each`() async throws {
        let world = try await World()
        let (database, chat) = leaving(world)
        let center = try await world.center(of: chat)
        var changes = ChatChanges()
        for user in [world.ann, world.bob] {
            changes.marks[user] = ReadMark(channelID: world.direct, lastRead: 0)
        }
        database.becomes(.isAway)
        await center.changed(changes)
        try await until { chat.statistics.reads.failures.value > 0 }
        try await until { await !center.isClearingIcons }
        #expect(chat.statistics.reads.failures.value == 1)
        #expect(await center.readers == [world.ann, world.bob])
        database.becomes(.answers)
        await center.tick()
        let sent = await world.apple.sent(2)
        #expect(Set(sent.map(\.address.user)) == [world.ann, world.bob] && sent.allSatisfy { text($0) == Self.clear })
        await center.stop()
    }

    @Test func `an icon that was taken for clear by a transaction whose answer was lost is looked at again`()
        async throws
    {
        let world = try await World()
        let (database, chat) = leaving(world)
        let center = try await world.center(of: chat)
        let word = try await world.read(try await world.say("hello"))
        database.becomes(.losesAnswers)
        await center.changed(word)
        try await until { try await isTakenForClear(in: world) }
        try await until { await !center.isClearingIcons }
        database.becomes(.answers)
        await center.tick()
        #expect(text(await world.apple.sent(1)[0]) == Self.clear)
        await center.stop()
        #expect(try await isTakenForClear(in: world))
    }
}
