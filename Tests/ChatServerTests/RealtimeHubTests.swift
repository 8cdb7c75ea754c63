import ChatModel
import ChatStoreSQLite
import Foundation
import Logging
import Testing

@testable import ChatCore
@testable import ChatServer

@Suite(.timeLimit(.minutes(2))) struct RealtimeHubTests {
    @Test func `who was back in between is gone only when the whole time has passed anew`() async throws {
        // On a machine that stands still they may be away for too long in between.
        for patience in [Duration.milliseconds(600), .seconds(8)] where try await comesAndGoes(patience) { return }
        Issue.record("the machine stood still for eight seconds")
    }

    /// - Returns: false where it could not be seen.
    private func comesAndGoes(_ patience: Duration) async throws -> Bool {
        let start = Timestamp(milliseconds: 1_790_000_000_000)
        let service = ChatService(database: try SQLiteChatDatabase(inMemoryAt: start), now: { start })
        let (gone, going) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
        let hub = RealtimeHub(
            service: service, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, patience: patience,
            gone: { _ in going.yield(.now) })
        let caller = Caller(user: UserID(UUID()), session: SessionID(UUID()))
        var (left, longest) = (ContinuousClock.now, Duration.zero)
        // So often that what is due after each time is spread over a while, in which they are away for good.
        for number in 0..<100 {
            let connection = RealtimeConnection(.present(caller), counters: RealtimeCounters()) { _, _ in }
            await hub.connect(connection, caller, resume: [:])
            if number > 0 { longest = max(longest, .now - left) }
            left = .now
            await hub.disconnect(connection, of: caller.user)
        }
        guard longest < patience else {
            going.finish()
            await hub.close()
            return false
        }
        for await moment in gone {
            #expect(moment - left >= patience)
            break
        }
        // Once for all of them.
        try await Task.sleep(for: patience)
        going.finish()
        for await _ in gone { Issue.record("gone twice") }
        await hub.close()
        return true
    }

    /// A hub over a database with a workspace of Ann's and Bob's, and the time, which the test moves.
    private struct Place {
        let hub: RealtimeHub
        let service: ChatService
        let clock = ServerFixture.Clock()
        let gone: AsyncStream<UserID>
        let going: AsyncStream<UserID>.Continuation
        let ann: UserID
        let bob: UserID
        let workspace: WorkspaceID

        init() async throws {
            let clock = clock
            let service = ChatService(database: try SQLiteChatDatabase(inMemoryAt: clock.now), now: { clock.now })
            let (gone, going) = AsyncStream.makeStream(of: UserID.self)
            (self.service, self.gone, self.going) = (service, gone, going)
            hub = RealtimeHub(
                service: service, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                gone: { going.yield($0) })
            (ann, bob) = (try await Self.person("ann", service), try await Self.person("bob", service))
            workspace = try await Self.workspace("harbour", of: ann, with: bob, service)
        }

        private static func person(_ name: String, _ service: ChatService) async throws -> UserID {
            try await service.write { chat in
                try #require(
                    try chat.register(
                        NewAccount(
                            email: "\(name)@example.org", username: name, displayName: name, passwordHash: "x")))
            }
        }

        static func workspace(
            _ slug: String, of owner: UserID, with other: UserID, _ service: ChatService
        ) async throws -> WorkspaceID {
            try await service.write { chat in
                let (listing, general) = try chat.createWorkspace(name: slug, slug: slug, by: owner)
                try chat.insertMember(other, as: .member, into: listing.workspace.id)
                try chat.put(other, into: general.id, in: listing.workspace.id)
                return listing.workspace.id
            }
        }

        func connect(_ user: UserID) async -> RealtimeConnection {
            let caller = Caller(user: user, session: SessionID(UUID()))
            let connection = RealtimeConnection(.present(caller), counters: RealtimeCounters()) { _, _ in }
            await hub.connect(connection, caller, resume: [:])
            return connection
        }
    }

    @Test func `a workspace that somebody comes into without a word of it is followed all the same`() async throws {
        let place = try await Place()
        let first = await place.connect(place.bob)
        let other = try await Place.workspace("shipyard", of: place.ann, with: place.bob, place.service)
        // This one finds it, and the one before does not for that.
        let second = await place.connect(place.bob)
        func follows(_ connection: RealtimeConnection) async -> Bool {
            await place.hub.workspaces[other]?.isFollowed(by: connection, of: place.bob) == true
        }
        #expect(await !follows(first))
        #expect(await follows(second))
        await place.hub.followWhatWasNotTold()
        for _ in 0..<10_000 where await !follows(first) { try await Task.sleep(for: .milliseconds(1)) }
        #expect(await follows(first))
        await place.hub.close()
    }

    @Test func `who cannot be heard for want of a link is not taken for gone from their calls`() async throws {
        let place = try await Place()
        let node = NodeID(UUID())
        func came(_ version: UInt64) -> NodeMessage {
            NodeMessage(node: node, version: version, word: .everybody([place.workspace: [place.bob]]))
        }
        await place.hub.take(came(1))
        place.clock.advance(by: .seconds(61))
        #expect(await place.hub.beat(isLinked: false).isEmpty)
        // It was there all the time. Now it dies.
        await place.hub.take(came(2))
        place.clock.advance(by: .seconds(16))
        #expect(await place.hub.beat(isLinked: true).isEmpty)
        place.going.finish()
        var gone: [UserID] = []
        for await user in place.gone { gone.append(user) }
        #expect(gone == [place.bob])
        await place.hub.close()
    }

    @Test func `who is told of no more when others are heard again has gone, after all`() async throws {
        let place = try await Place()
        await place.hub.take(
            NodeMessage(node: NodeID(UUID()), version: 1, word: .everybody([place.workspace: [place.bob, place.ann]])))
        place.clock.advance(by: .seconds(61))
        _ = await place.hub.beat(isLinked: false)
        await place.hub.linked()
        await place.hub.take(
            NodeMessage(node: NodeID(UUID()), version: 1, word: .everybody([place.workspace: [place.ann]])))
        place.clock.advance(by: .seconds(10))
        _ = await place.hub.beat(isLinked: true)
        place.clock.advance(by: .seconds(4))
        _ = await place.hub.beat(isLinked: true)
        // Others have had their time to say who is at them.
        place.clock.advance(by: .seconds(7))
        await place.hub.take(
            NodeMessage(node: NodeID(UUID()), version: 1, word: .everybody([place.workspace: [place.ann]])))
        _ = await place.hub.beat(isLinked: true)
        place.going.finish()
        var gone: [UserID] = []
        for await user in place.gone { gone.append(user) }
        #expect(gone == [place.bob])
        await place.hub.close()
    }
}
