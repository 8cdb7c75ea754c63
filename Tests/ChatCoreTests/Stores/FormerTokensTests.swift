import ChatModel
import Testing

@testable import ChatCore

/// Each refresh leaves a token of the past; the sweep keeps their number in bounds.
@Suite struct FormerTokensTests {
    private static func count(in world: ChatWorld) async throws -> Int {
        try await world.look { try $0.session.rows("SELECT token_hash FROM former_tokens").count }
    }

    /// Somebody who has refreshed so often on one device, once a minute.
    private static func refreshing(
        _ name: String, _ times: Int, in world: ChatWorld
    ) async throws -> (user: UserID, session: SessionID) {
        let user = try await world.person(name)
        let session = try await world.run { try $0.openSession(of: user, on: "Phone", token: secret("\(name) 0")) }
        for number in 0..<times {
            world.pass(.seconds(60))
            _ = try await world.run {
                try $0.refresh(secret("\(name) \(number)"), for: secret("\(name) \(number + 1)"))
            }
        }
        return (user, session)
    }

    @Test(arguments: TestDatabase.allCases)
    func `those of a session that is over go, and others stay`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ann = try await Self.refreshing("ann", 6, in: world)
        _ = try await Self.refreshing("bob", 4, in: world)
        #expect(try await Self.count(in: world) == 5 + 3)
        #expect(try await world.run { try !$0.sweepFormerTokens() })
        #expect(try await Self.count(in: world) == 5 + 3)
        try await world.run { try $0.endSession(ann.session, of: ann.user) }
        // In parts, until there is nothing left.
        #expect(try await world.run { try $0.sweepFormerTokens(atMost: 3) })
        #expect(try await Self.count(in: world) == 2 + 3)
        #expect(try await world.run { try !$0.sweepFormerTokens(atMost: 3) })
        #expect(try await Self.count(in: world) == 3)
    }

    @Test(arguments: TestDatabase.allCases)
    func `those of whoever never comes back go in the end`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        _ = try await Self.refreshing("ann", 6, in: world)
        world.pass(.seconds(59 * 86_400))
        _ = try await world.run { try $0.sweepFormerTokens() }
        #expect(try await Self.count(in: world) == 5)
        world.pass(.seconds(2 * 86_400))
        _ = try await world.run { try $0.sweepFormerTokens() }
        #expect(try await Self.count(in: world) == 0)
    }

    @Test(arguments: TestDatabase.allCases)
    func `of a session that refreshes without end the newest stay`(database: TestDatabase) async throws {
        var limits = Limits()
        limits.formerTokens = 3
        let world = try await ChatWorld(database, limits: limits)
        let ann = try await Self.refreshing("ann", 9, in: world)
        #expect(try await Self.count(in: world) == 8)
        _ = try await world.run { try $0.sweepFormerTokens() }
        #expect(try await Self.count(in: world) == 3)
        // One of the three still gives a thief away.
        #expect(try await world.run { try $0.refresh(secret("ann 1"), for: secret("x")) } == .unknown)
        #expect(try await world.look { try $0.user(of: ann.session) } == ann.user)
        #expect(try await world.run { try $0.refresh(secret("ann 6"), for: secret("x")) } == .reused)
        #expect(try await world.look { try $0.user(of: ann.session) } == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `sessions with too many are looked for when the others are done`(database: TestDatabase) async throws {
        var limits = Limits()
        limits.formerTokens = 3
        let world = try await ChatWorld(database, limits: limits)
        _ = try await Self.refreshing("ann", 9, in: world)
        let bob = try await Self.refreshing("bob", 6, in: world)
        try await world.run { try $0.endSession(bob.session, of: bob.user) }
        #expect(try await world.run { try $0.sweepFormerTokens(atMost: 3) })
        #expect(try await Self.count(in: world) == 8 + 2)
        #expect(try await world.run { try !$0.sweepFormerTokens(atMost: 3) })
        #expect(try await Self.count(in: world) == 3)
    }
}
