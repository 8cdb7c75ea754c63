import ChatModel
import Foundation
import Testing

@testable import ChatCore

@Suite struct SessionsTests {
    private typealias Refreshing = ChatTransaction.Refreshing

    /// Ann, logged in on one device by the token `t0`.
    private static func world(_ database: TestDatabase) async throws -> (ChatWorld, UserID, SessionID) {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        let session = try await world.run { try $0.openSession(of: ann, on: "Phone", token: secret("t0")) }
        return (world, ann, session)
    }

    private static func refresh(_ token: String, for next: String, in world: ChatWorld) async throws -> Refreshing {
        try await world.run { try $0.refresh(secret(token), for: secret(next)) }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a token is changed for the next, and that for the next`(database: TestDatabase) async throws {
        let (world, ann, session) = try await Self.world(database)
        for number in 0..<5 {
            world.pass(.seconds(900))
            #expect(
                try await Self.refresh("t\(number)", for: "t\(number + 1)", in: world) == .rotated(session, of: ann))
            #expect(try await world.run { try $0.confirm(session) })
        }
        #expect(try await world.look { try $0.user(of: session) } == ann)
    }

    @Test(arguments: TestDatabase.allCases)
    func `of too many sessions the one that was not used for longest ends, and what is over goes after a day`(
        database: TestDatabase
    ) async throws {
        var limits = Limits()
        limits.sessionsOfUser = 3
        let world = try await ChatWorld(database, limits: limits)
        let ann = try await world.person("ann")
        var ids: [SessionID] = []
        for number in 0..<3 {
            world.pass(.seconds(1))
            ids.append(try await world.run { try $0.openSession(of: ann, on: "Phone", token: secret("t\(number)")) })
        }
        world.pass(.seconds(1))
        #expect(try await Self.refresh("t0", for: "next", in: world) == .rotated(ids[0], of: ann))
        // What hangs on a session goes with it.
        let phone = ids[0]
        _ = try await world.run {
            try $0.registerDevice(
                RegisterDeviceRequest(
                    platform: .ios, appID: "org.example.app", environment: .sandbox,
                    alertToken: String(repeating: "ab", count: 32)), of: ann, session: phone)
        }
        let (fourth, loggedOut) = try await world.run { chat in
            (try chat.openSession(of: ann, on: "Phone", token: secret("t3")), chat.changes.loggedOut)
        }
        #expect(loggedOut == [ann])
        let open = try await world.look { try $0.sessions(of: ann, current: nil).map(\.id) }
        #expect(Set(open) == [ids[0], ids[2], fourth])
        func rows() async throws -> Int { try await world.count("sessions") }
        #expect(try await rows() == 4)
        #expect(try await !world.run { try $0.sweepSessions() })
        #expect(try await rows() == 4)
        world.pass(.seconds(86_400))
        #expect(try await !world.run { try $0.sweepSessions() })
        #expect(try await rows() == 3)
        world.pass(.seconds(61 * 86_400))
        #expect(try await world.run { try $0.sweepSessions(atMost: 2) })
        #expect(try await !world.run { try $0.sweepSessions(atMost: 2) })
        #expect(try await rows() == 0)
    }

    /// The password is looked at outside the database, and others log in before.
    @Test(arguments: TestDatabase.allCases)
    func `who leaves or gets another password while theirs is looked at is not logged in`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let (ann, ben) = (try await world.person("ann"), try await world.person("ben"))
        let found = try await world.look { chat in try [ann, ben].compactMap { try chat.credentials(of: $0) } }
        try await world.run { chat in
            try chat.changePassword(of: ann, to: "another hash", keeping: nil)
            try chat.deactivate(ben)
        }
        // Nor does one that was looked at before take another's place.
        await #expect(throws: ChatError.wrongPassword) {
            try await world.run {
                try $0.changePassword(of: ann, from: found[0].passwordHash, to: "a thief's", keeping: nil)
            }
        }
        for credentials in found {
            let late = try await world.run { try $0.logIn(by: credentials, on: "Phone", token: secret("late")) }
            #expect(late == nil)
            #expect(try await world.look { try $0.sessions(of: credentials.user, current: nil) } == [])
        }
        let now = try #require(try await world.look { try $0.credentials(of: ann) })
        let opened = try await world.run { try $0.logIn(by: now, on: "Phone", token: secret("t0")) }
        let session = try #require(opened)
        #expect(try await world.look { try $0.user(of: session) } == ann)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a session of who has left is over, whatever it says itself`(database: TestDatabase) async throws {
        let (world, ann, session) = try await Self.world(database)
        try await world.run { chat in
            try chat.deactivate(ann)
            try chat.session.run("UPDATE sessions SET ended_at = NULL WHERE id = $1", .id(session))
        }
        #expect(try await world.look { try $0.user(of: session) } == nil)
        #expect(try await world.look { try $0.sessionsOver(among: [session]) } == [session])
        #expect(try await Self.refresh("t0", for: "t1", in: world) == .unknown)
    }

    @Test(arguments: TestDatabase.allCases)
    func `of many sessions it is told which are over`(database: TestDatabase) async throws {
        let (world, ann, session) = try await Self.world(database)
        let other = try await world.run { try $0.openSession(of: ann, on: "Tablet", token: secret("other")) }
        // More than a statement takes.
        let never = (0..<1_200).map { _ in SessionID(UUID()) }
        #expect(try await world.look { try $0.sessionsOver(among: [session] + never + [other]) } == Set(never))
        try await world.run { try $0.endSession(other, of: ann) }
        #expect(try await world.look { try $0.sessionsOver(among: [session, other]) } == [other])
        #expect(try await world.look { try $0.sessionsOver(among: []) }.isEmpty)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a token that nobody was given is unknown`(database: TestDatabase) async throws {
        let (world, ann, session) = try await Self.world(database)
        #expect(try await Self.refresh("other", for: "t1", in: world) == .unknown)
        #expect(try await world.look { try $0.user(of: session) } == ann)
        let never = SessionID(ann.uuid)
        #expect(try await world.look { try $0.user(of: never) } == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a token whose successor was used ends the session for both who have it`(
        database: TestDatabase
    ) async throws {
        let (world, ann, session) = try await Self.world(database)
        #expect(try await Self.refresh("t0", for: "t1", in: world) == .rotated(session, of: ann))
        #expect(try await world.run { try $0.confirm(session) })
        #expect(try await Self.refresh("t0", for: "stolen", in: world) == .reused)
        #expect(try await world.look { try $0.user(of: session) } == nil)
        for token in ["t0", "t1", "stolen"] {
            #expect(try await Self.refresh(token, for: "later", in: world) == .unknown, "\(token)")
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a token from long before ends the session, and no other`(database: TestDatabase) async throws {
        let (world, ann, session) = try await Self.world(database)
        let other = try await world.run { try $0.openSession(of: ann, on: "Tablet", token: secret("other")) }
        for number in 0..<4 {
            #expect(
                try await Self.refresh("t\(number)", for: "t\(number + 1)", in: world) == .rotated(session, of: ann))
        }
        // Even at once: the minute of grace is the last one's alone.
        #expect(try await Self.refresh("t1", for: "stolen", in: world) == .reused)
        #expect(try await world.look { try $0.user(of: session) } == nil)
        #expect(try await world.look { try $0.user(of: other) } == ann)
        #expect(try await Self.refresh("t4", for: "later", in: world) == .unknown)
    }

    @Test(arguments: TestDatabase.allCases)
    func `tokens of sessions that are over are forgotten with the next login`(database: TestDatabase) async throws {
        let (world, ann, session) = try await Self.world(database)
        for number in 0..<3 { _ = try await Self.refresh("t\(number)", for: "t\(number + 1)", in: world) }
        let kept: @Sendable (ChatTransaction) throws -> Int = { chat in
            try chat.session.rows("SELECT 1 FROM former_tokens").count
        }
        #expect(try await world.look(kept) == 2)
        try await world.run { chat in
            try chat.endSession(session, of: ann)
            _ = try chat.openSession(of: ann, on: "Phone", token: secret("u0"))
        }
        #expect(try await world.look(kept) == 0)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a token comes once more when its answer was lost`(database: TestDatabase) async throws {
        let (world, ann, session) = try await Self.world(database)
        #expect(try await Self.refresh("t0", for: "lost", in: world) == .rotated(session, of: ann))
        world.pass(.seconds(60))
        #expect(try await Self.refresh("t0", for: "t1", in: world) == .rotated(session, of: ann))
        // What arrived goes on.
        #expect(try await Self.refresh("t1", for: "t2", in: world) == .rotated(session, of: ann))
        #expect(try await world.look { try $0.user(of: session) } == ann)
    }

    /// A thief repeats the token before its owner has used what it gave: whoever of them comes second is found out.
    @Test(arguments: TestDatabase.allCases)
    func `a token that another answer has replaced is not lost, and ends the session for both`(
        database: TestDatabase
    ) async throws {
        for rounds in 0..<3 {
            let (world, ann, session) = try await Self.world(database)
            #expect(try await Self.refresh("t0", for: "t1", in: world) == .rotated(session, of: ann))
            #expect(try await Self.refresh("t0", for: "stolen 0", in: world) == .rotated(session, of: ann))
            for round in 0..<rounds {
                #expect(
                    try await Self.refresh("stolen \(round)", for: "stolen \(round + 1)", in: world)
                        == .rotated(session, of: ann))
            }
            #expect(try await Self.refresh("t1", for: "t2", in: world) == .reused)
            #expect(try await world.look { try $0.user(of: session) } == nil)
            #expect(try await Self.refresh("stolen \(rounds)", for: "x", in: world) == .unknown)
        }
    }

    /// Also where a token comes a third time.
    @Test(arguments: TestDatabase.allCases)
    func `each of the answers that were replaced is remembered`(database: TestDatabase) async throws {
        let (world, ann, session) = try await Self.world(database)
        for next in ["a", "b", "c"] {
            #expect(try await Self.refresh("t0", for: next, in: world) == .rotated(session, of: ann))
        }
        #expect(try await Self.refresh("a", for: "x", in: world) == .reused)
        #expect(try await world.look { try $0.user(of: session) } == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `after the grace a token that was used ends the session`(database: TestDatabase) async throws {
        let (world, ann, session) = try await Self.world(database)
        #expect(try await Self.refresh("t0", for: "t1", in: world) == .rotated(session, of: ann))
        world.pass(.milliseconds(60_001))
        #expect(try await Self.refresh("t0", for: "t2", in: world) == .reused)
        #expect(try await world.look { try $0.user(of: session) } == nil)
        #expect(try await Self.refresh("t1", for: "t3", in: world) == .unknown)
    }

    /// The grace begins with the first use: otherwise a token lives as long as somebody repeats it.
    @Test(arguments: TestDatabase.allCases)
    func `the grace does not grow by being used`(database: TestDatabase) async throws {
        let (world, ann, session) = try await Self.world(database)
        #expect(try await Self.refresh("t0", for: "t1", in: world) == .rotated(session, of: ann))
        world.pass(.seconds(50))
        #expect(try await Self.refresh("t0", for: "t2", in: world) == .rotated(session, of: ann))
        world.pass(.seconds(50))
        #expect(try await Self.refresh("t0", for: "t3", in: world) == .reused)
    }

    @Test(arguments: TestDatabase.allCases)
    func `each new token has to be used before the one before is void`(database: TestDatabase) async throws {
        let (world, _, session) = try await Self.world(database)
        let now = world.now
        #expect(try await !world.look { try $0.isConfirmed(session, byTokenOf: now) })
        #expect(try await world.run { try $0.confirm(session) })
        #expect(try await !world.run { try $0.confirm(session) })
        #expect(try await world.look { try $0.isConfirmed(session, byTokenOf: now) })
        _ = try await Self.refresh("t0", for: "t1", in: world)
        #expect(try await !world.look { try $0.isConfirmed(session, byTokenOf: now) })
        // An access token from before the refresh tells nothing of its answer.
        let before = now.advanced(by: .milliseconds(-1))
        #expect(try await world.look { try $0.isConfirmed(session, byTokenOf: before) })
    }

    @Test(arguments: TestDatabase.allCases)
    func `a session that nobody uses is over after its time, and lives on while it is used`(
        database: TestDatabase
    ) async throws {
        let (world, ann, session) = try await Self.world(database)
        let day = Duration.seconds(86_400)
        world.pass(day * 59)
        #expect(try await Self.refresh("t0", for: "t1", in: world) == .rotated(session, of: ann))
        world.pass(day * 59)
        #expect(try await world.look { try $0.user(of: session) } == ann)
        #expect(try await Self.refresh("t1", for: "t2", in: world) == .rotated(session, of: ann))
        world.pass(day * 60)
        #expect(try await world.look { try $0.user(of: session) } == nil)
        #expect(try await Self.refresh("t2", for: "t3", in: world) == .unknown)
        #expect(try await world.look { try $0.sessions(of: ann, current: nil) } == [])
    }

    @Test(arguments: TestDatabase.allCases)
    func `somebody sees their own sessions, the last used first`(database: TestDatabase) async throws {
        let (world, ann, phone) = try await Self.world(database)
        let opened = world.now
        _ = try await world.person("ben")
        let laptop = try await world.run { try $0.openSession(of: ann, on: " \n", token: secret("u0")) }
        let second = world.now
        world.pass(.seconds(30))
        _ = try await Self.refresh("t0", for: "t1", in: world)
        let sessions = try await world.look { try $0.sessions(of: ann, current: laptop) }
        #expect(
            sessions == [
                SessionInfo(id: phone, device: "Phone", createdAt: opened, lastUsedAt: world.now, isCurrent: false),
                SessionInfo(id: laptop, device: "unknown", createdAt: second, lastUsedAt: second, isCurrent: true),
            ])
    }

    @Test(arguments: TestDatabase.allCases)
    func `one logs out one's own devices, and nobody else's`(database: TestDatabase) async throws {
        let (world, ann, phone) = try await Self.world(database)
        let ben = try await world.person("ben")
        await #expect(throws: ChatError.notFound("session")) {
            try await world.run { try $0.endSession(phone, of: ben) }
        }
        try await world.run { try $0.endSession(phone, of: ann) }
        #expect(try await world.look { try $0.user(of: phone) } == nil)
        await #expect(throws: ChatError.notFound("session")) {
            try await world.run { try $0.endSession(phone, of: ann) }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `one logs out all devices, or all but one`(database: TestDatabase) async throws {
        let (world, ann, phone) = try await Self.world(database)
        let (laptop, bens) = try await world.run {
            (
                try $0.openSession(of: ann, on: "Laptop", token: secret("u0")),
                try $0.openSession(of: try $0.register(Self.ben)!, on: "Phone", token: secret("v0"))
            )
        }
        try await world.run { try $0.endSessions(of: ann, but: laptop) }
        #expect(try await world.look { try $0.sessions(of: ann, current: nil) }.map(\.id) == [laptop])
        #expect(try await Self.refresh("t0", for: "t1", in: world) == .unknown)
        try await world.run { try $0.endSessions(of: ann, but: nil) }
        let users = try await world.look { transaction in
            try [phone, laptop, bens].map { try transaction.user(of: $0) != nil }
        }
        #expect(users == [false, false, true])
    }

    private static let ben = NewAccount(email: "b@example.org", username: "ben", displayName: "B", passwordHash: "")
}
