import ChatModel
import ChatStoreSQLite
import Foundation
import LiveKitProtocol
import Logging
import Synchronization
import Testing

@testable import ChatCore
@testable import ChatServer

@Suite(.timeLimit(.minutes(1))) struct CallCenterTests {
    /// One that is away for some transactions.
    private struct AwayDatabase: ChatDatabase {
        final class Outage: Sendable { let left = Mutex(0) }

        let database: any ChatDatabase
        let outage: Outage

        var waitingTransactions: Int { database.waitingTransactions }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value { try await database.read(body) }

        func write<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value {
            let isAway = outage.left.withLock { left in
                left -= 1
                return left >= 0
            }
            if isAway { throw DatabaseAway("switched off") }
            return try await database.write(body)
        }
    }

    /// One of them does not answer.
    private final class HungRooms: CallRooms {
        let isOwn = false
        let done: AsyncStream<String>
        private let isDone: AsyncStream<String>.Continuation
        private let held: AsyncStream<Void>
        private let release: AsyncStream<Void>.Continuation

        init() {
            (done, isDone) = AsyncStream.makeStream(of: String.self)
            (held, release) = AsyncStream.makeStream(of: Void.self)
        }

        func open(_ room: String) async throws {}
        func token(for user: UserID, name: String, room: String) throws -> String { "" }
        func people(in room: String) async throws -> [UserID: String] { [:] }
        func end(_ room: String) async { isDone.yield("ended \(room)") }
        func remove(_ user: UserID, from room: String) async {
            if room == "hung" { for await _ in held {} }
            isDone.yield("left \(room)")
        }

        func answer() { release.finish() }
    }

    @Test func `a cluster that does not answer for one room holds up no other`() async throws {
        let rooms = HungRooms()
        let start = Timestamp(milliseconds: 1_790_000_000_000)
        let center = CallCenter(
            service: ChatService(database: try SQLiteChatDatabase(inMemoryAt: start), now: { start }), rooms: rooms,
            push: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let ann = UserID(UUID())
        var effects = CallEffects()
        effects.departures = [.init(room: "hung", user: ann), .init(room: "other", user: ann)]
        effects.endedRooms = ["over"]
        await center.changed(effects)
        var done: Set<String> = []
        for await text in rooms.done {
            done.insert(text)
            if done.count == 2 { break }
        }
        #expect(done == ["ended over", "left other"])
        rooms.answer()
        await center.stop()
    }

    @Test func `nothing is left of a server that has stopped`() async throws {
        weak var witness: HungRooms?
        try await {
            let rooms = HungRooms()
            witness = rooms
            let start = Timestamp(milliseconds: 1_790_000_000_000)
            let server = try await ChatServer(
                ChatServerConfiguration(),
                service: ChatService(database: try SQLiteChatDatabase(inMemoryAt: start), now: { start }),
                mailer: ServerFixture.MailBox(isDelivering: false), rooms: rooms,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await server.start()
            await server.stop()
        }()
        // A task may be about to let go of it.
        try await until { witness == nil }
    }

    @Test func `who has come once more to publish alone is in the room, too`() {
        let (ann, bob) = (UserID(UUID()), UserID(UUID()))
        let connections = [
            "\(ann)#screen": "PA_2", "\(ann)": "PA_1", "\(ann)#slides": "PA_3", "\(bob)#\u{301}": "PA_4",
            "recorder": "PA_5",
        ]
        #expect([UserID: String](inRoom: connections) == [ann: "PA_1", bob: "PA_4"])
    }

    @Test func `what a room tells while the database is away is written when it is back`() async throws {
        let start = Timestamp(milliseconds: 1_790_000_000_000)
        let outage = AwayDatabase.Outage()
        let service = ChatService(
            database: AwayDatabase(database: try SQLiteChatDatabase(inMemoryAt: start), outage: outage),
            now: { start })
        let room = CallRoomName.random()
        let call = try await service.write { chat in
            let user = try #require(
                try chat.register(
                    NewAccount(email: "ann@example.org", username: "ann", displayName: "Ann", passwordHash: "x")))
            let (_, general) = try chat.createWorkspace(name: "Harbour", slug: "harbour", by: user)
            return try chat.startCall(.init(kind: .room, media: .audio, room: room), in: general.id, by: user).call.id
        }
        let center = CallCenter(
            service: service, rooms: nil, push: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var event = LiveKitWebhookEvent()
        event.event = "room_finished"
        event.room.name = room
        outage.left.withLock { $0 = 3 }
        await center.take(event)
        #expect(try await service.read { try $0.call(call) }.endedAt == start)
        await center.stop()
    }

    /// A machine that was without power may be back before its clock is.
    @Test(arguments: [Duration.seconds(60), .seconds(-1_200)])
    func `calls of an earlier process end, and those that have begun before all ports are taken go on`(
        later: Duration
    ) async throws {
        let clock = Mutex(Timestamp(milliseconds: 1_790_000_000_000))
        let database = try SQLiteChatDatabase(inMemoryAt: clock.withLock { $0 })
        let service = ChatService(database: database, now: { clock.withLock { $0 } })
        let (ann, channels) = try await service.write { chat in
            let user = try #require(
                try chat.register(
                    NewAccount(email: "ann@example.org", username: "ann", displayName: "Ann", passwordHash: "x")))
            return (
                user,
                try ["harbour", "quay"].map { try chat.createWorkspace(name: $0, slug: $0, by: user).1.id }
            )
        }
        @Sendable func call(in channel: ChannelID) async throws -> CallID {
            try await service.write {
                try $0.startCall(
                    .init(kind: .room, media: .audio, room: CallRoomName.random()), in: channel, by: ann
                ).call.id
            }
        }
        let former = try await call(in: channels[0])
        clock.withLock { $0 = $0.advanced(by: later) }
        let center = CallCenter(
            service: service, rooms: nil, push: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await center.open()
        let present = try await call(in: channels[1])
        let before = try await service.read { try $0.call(former) }
        #expect(before.endedAt == nil)
        try await center.start()
        let (ended, running) = try await service.read { (try $0.call(former), try $0.call(present)) }
        #expect(ended.endReason == .failed && running.endedAt == nil)
        await center.stop()
    }
}
