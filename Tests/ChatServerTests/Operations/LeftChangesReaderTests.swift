import ChatCore
import ChatModel
import ChatStoreSQLite
import Logging
import Synchronization
import Testing

@testable import ChatServer

/// `roost admin` and a server on one database.
@Suite struct LeftChangesReaderTests {
    private static let start = Timestamp(milliseconds: 1_795_435_200_000)

    private final class Told: Sendable {
        let all = Mutex<[ChatChanges]>([])
        var changes: [ChatChanges] { all.withLock { $0 } }
    }

    private struct Place {
        let service: ChatService
        let admin: Administration
        let reader: LeftChangesReader
        let told = Told()

        init() throws {
            let database = try SQLiteChatDatabase(inMemoryAt: start)
            var service = ChatService(database: database, now: { start })
            service.changed = { [told] changes in told.all.withLock { $0.append(changes) } }
            self.service = service
            admin = Administration(
                service: ChatService(database: database, now: { start }), serverURL: "http://localhost:8080")
            reader = LeftChangesReader(service: service, logger: Logger(label: "test"))
        }

        func person(_ name: String) async throws -> UserID {
            let made = try await service.write {
                try $0.register(
                    NewAccount(
                        email: "\(name)@example.org", username: name, displayName: name, passwordHash: "a hash"))
            }
            return try #require(made)
        }
    }

    @Test func `who is deactivated while they talk is to be put out of the room by the server`() async throws {
        let place = try Place()
        let (ann, bob) = (try await place.person("ann"), try await place.person("bob"))
        let room = CallRoomName.random()
        try await place.service.write { chat in
            let (listing, general) = try chat.createWorkspace(name: "Harbour", slug: "harbour", by: ann)
            try chat.makeOwner(bob, of: listing.workspace.id)
            _ = try chat.joinChannel(general.id, by: bob)
            _ = try chat.startCall(.init(kind: .room, media: .audio, room: room), in: general.id, by: ann)
            try chat.take(.joined(ann, sid: "PA_1"), of: room)
            try chat.take(.joined(bob, sid: "PA_2"), of: room)
        }
        let before = place.told.changes.count
        try await place.admin.deactivate("bob")
        #expect(place.told.changes.count == before)
        try await place.reader.look()
        let told = place.told.changes.dropFirst(before)
        #expect(told.count == 1)
        #expect(told.first?.calls.departures == [.init(room: room, user: bob)])
        #expect(told.first?.loggedOut == [bob])
        try await place.reader.look()
        #expect(place.told.changes.count == before + 1)
    }

    @Test func `a server is told of a workspace that is deleted elsewhere, whose rows are gone by then`() async throws {
        let place = try Place()
        let ann = try await place.person("ann")
        let workspace = try await place.service.write { chat in
            try chat.createWorkspace(name: "Harbour", slug: "harbour", by: ann).listing.workspace.id
        }
        let before = place.told.changes.count
        try await place.admin.deleteWorkspace("harbour")
        #expect(try await place.service.write { try !$0.takeAwayWorkspaceLeftovers() })
        try await place.reader.look()
        let told = place.told.changes.dropFirst(before).filter { !$0.isEmpty }
        #expect(told.map(\.workspaces) == [[workspace]] && told.map(\.hasDeletedWorkspaces) == [true])
    }

    @Test func `who is made an owner elsewhere has come into the workspace`() async throws {
        let place = try Place()
        let (ann, bob) = (try await place.person("ann"), try await place.person("bob"))
        let workspace = try await place.service.write { chat in
            try chat.createWorkspace(name: "Harbour", slug: "harbour", by: ann).listing.workspace.id
        }
        let before = place.told.changes.count
        try await place.admin.makeOwner("bob", of: "harbour")
        try await place.reader.look()
        let told = place.told.changes.dropFirst(before)
        #expect(told.map(\.arrivals) == [[bob]] && told.map(\.workspaces) == [[workspace]])
    }
}
