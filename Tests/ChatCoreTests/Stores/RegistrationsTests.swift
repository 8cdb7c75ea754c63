import ChatModel
import Testing

@testable import ChatCore

/// What is asked for by people whose address is not confirmed.
@Suite struct RegistrationsTests {
    private static func new(_ name: String, email: String? = nil) -> NewAccount {
        NewAccount(
            email: email ?? "\(name)@example.org", username: name, displayName: "Somebody",
            passwordHash: "hash of \(name)")
    }

    private static func enroll(
        _ name: String, email: String? = nil, invitation: String? = nil, in world: ChatWorld
    ) async throws -> Bool {
        world.pass(.seconds(1))
        return try await world.run {
            try $0.enroll(new(name, email: email), with: secret(name), invitation: invitation.map { secret($0) })
        }
    }

    private static func confirm(_ name: String, isOpen: Bool = true, in world: ChatWorld) async throws -> UserID? {
        try await world.run { try $0.confirm(registrationWith: secret(name), whereOpen: isOpen) }
    }

    private static func users(of world: ChatWorld) async throws -> [String] {
        try await world.look { try $0.accounts().map(\.profile.username) }
    }

    @Test(arguments: TestDatabase.allCases)
    func `there is nobody until the address is confirmed, and then somebody, once`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        #expect(try await !Self.enroll("ann", email: " Ann@Example.org ", in: world))
        #expect(try await world.look { try $0.isServerNew() })
        #expect(try await world.look { try $0.credentials(of: "ann") } == nil)
        #expect(try await Self.users(of: world) == [])
        let ann = try #require(try await Self.confirm("ann", in: world))
        let profile = Profile(
            id: ann, username: "ann", displayName: "Somebody", createdAt: world.now, updatedAt: world.now)
        #expect(
            try await world.look { try $0.account(of: ann) }
                == Account(profile: profile, email: "Ann@Example.org", isEmailVerified: true, isServerOwner: true))
        #expect(
            try await world.look { try $0.credentials(of: "ann@example.org") }
                == Credentials(user: ann, passwordHash: "hash of ann", isEmailVerified: true))
        #expect(try await Self.confirm("ann", in: world) == nil)
        #expect(try await world.look { try $0.passwordHash(ofRegistrationAs: "ann") } == nil)
    }

    /// All that whoever registers can find out afterwards.
    @Test(arguments: TestDatabase.allCases)
    func `an address that has an account and one that has none leave the same behind`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        #expect(try await Self.enroll("known", email: "ANN@example.org", in: world))
        #expect(try await !Self.enroll("new", email: "new@example.org", in: world))
        for name in ["known", "new"] {
            let taken = "username_taken"
            #expect(try await world.look { try $0.passwordHash(ofRegistrationAs: name) } == "hash of \(name)")
            #expect(try await world.refusal { try $0.enroll(Self.new(name), with: secret("x")) } == taken)
            #expect(try await world.refusal { try $0.register(Self.new(name, email: "x@example.org")) } == taken)
            #expect(try await world.refusal { try $0.changeProfile(of: ann, .init(username: name)) } == taken)
            #expect(try await world.look { try $0.credentials(of: name) } == nil)
        }
        for (email, name) in [("ann@example.org", "known"), ("NEW@example.org", "new")] {
            #expect(try await world.look { try $0.passwordHash(ofRegistrationAs: email) } == "hash of \(name)")
        }
        #expect(try await Self.users(of: world) == ["ann"])
        // A user's own name is theirs.
        #expect(try await world.refusal { try $0.changeProfile(of: ann, .init(username: "ann")) } == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a registration of an address that has an account is never confirmed`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        _ = try await Self.enroll("known", email: "ann@example.org", in: world)
        let renewed = try await world.run {
            try $0.renewRegistration(of: "ann@example.org", with: secret("renewed"))
        }
        #expect(renewed == nil)
        await #expect(throws: ChatError.linkUsed) { try await Self.confirm("known", in: world) }
        // Nor when she has left.
        try await world.run { try $0.deactivate(ann) }
        await #expect(throws: ChatError.linkUsed) { try await Self.confirm("known", in: world) }
        #expect(try await Self.users(of: world) == ["ann"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `of several registrations of an address one becomes an account, and the others stay what they were`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        for name in ["one", "two", "three"] {
            #expect(try await !Self.enroll(name, email: "ann@example.org", in: world))
        }
        let hash = { @Sendable (chat: ChatTransaction) in try chat.passwordHash(ofRegistrationAs: "ann@example.org") }
        #expect(try await world.look(hash) == "hash of one")
        #expect(try await Self.confirm("two", in: world) != nil)
        await #expect(throws: ChatError.linkUsed) { try await Self.confirm("one", in: world) }
        #expect(try await world.look(hash) == "hash of one")
        #expect(try await world.look { try $0.passwordHash(ofRegistrationAs: "three") } == "hash of three")
        #expect(try await Self.users(of: world) == ["two"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `a link lasts three days, and another one is for the last who has registered`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        _ = try await Self.enroll("one", email: "ann@example.org", in: world)
        _ = try await Self.enroll("two", email: "ann@example.org", in: world)
        world.pass(.seconds(3 * 86_400))
        await #expect(throws: ChatError.linkExpired) { try await Self.confirm("two", in: world) }
        let renewed = try await world.run {
            try $0.renewRegistration(of: "ANN@example.org", with: secret("renewed"))
        }
        #expect(renewed?.username == "two" && renewed?.email == "ann@example.org")
        #expect(try await Self.confirm("two", in: world) == nil)
        #expect(try await Self.confirm("renewed", in: world) != nil)
        #expect(try await Self.users(of: world) == ["two"])
        #expect(
            try await world.run { try $0.renewRegistration(of: "nobody@example.org", with: secret("x")) } == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a renewed link lasts no longer than what was registered`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        func renew(_ name: String) async throws -> String? {
            try await world.run {
                try $0.renewRegistration(of: "\(name)@example.org", with: secret("renewed"))?.username
            }
        }
        let (hour, week) = (Duration.seconds(3_600), Duration.seconds(7 * 86_400))
        _ = try await Self.enroll("one", in: world)
        world.pass(week - hour)
        #expect(try await renew("one") == "one")
        world.pass(hour - .milliseconds(1))
        _ = try await world.run { try $0.sweepRegistrations() }
        #expect(try await Self.confirm("renewed", in: world) != nil)
        _ = try await Self.enroll("two", in: world)
        world.pass(week - hour)
        #expect(try await renew("two") == "two")
        world.pass(hour)
        await #expect(throws: ChatError.linkExpired) { try await Self.confirm("renewed", in: world) }
        // What is about to go has no other link.
        #expect(try await renew("two") == nil)
        _ = try await world.run { try $0.sweepRegistrations() }
        #expect(try await Self.confirm("renewed", in: world) == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `what nobody confirms for a week goes, and its name is free`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        _ = try await Self.enroll("known", email: "ann@example.org", in: world)
        _ = try await Self.enroll("one", in: world)
        world.pass(.seconds(7 * 86_400) - .milliseconds(1))
        _ = try await Self.enroll("late", in: world)
        world.pass(.zero - .seconds(1))
        #expect(try await world.run { try $0.sweepRegistrations(atMost: 1) })
        #expect(try await world.refusal { try $0.enroll(Self.new("known"), with: secret("x")) } == nil)
        #expect(try await world.refusal { try $0.enroll(Self.new("one"), with: secret("y")) } == "username_taken")
        world.pass(.milliseconds(1))
        #expect(try await world.run { try $0.sweepRegistrations(atMost: 1) })
        #expect(try await world.run { try !$0.sweepRegistrations(atMost: 1) })
        #expect(try await world.refusal { try $0.enroll(Self.new("one"), with: secret("y")) } == nil)
        #expect(try await world.refusal { try $0.enroll(Self.new("late"), with: secret("z")) } == "username_taken")
        // Who has an account without a letter stays.
        #expect(try await world.look { try $0.credentials(of: "ann")?.user } == ann)
    }

    @Test(arguments: TestDatabase.allCases)
    func `an invitation is accepted when the address is confirmed, and not before`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        try await world.run {
            _ = try $0.invite(
                .init(maximumUses: 1), with: secret("link"), to: company.workspace, by: company.mia)
        }
        let before = try await world.sequence(of: company.workspace)
        _ = try await Self.enroll("known", email: "zoe@example.org", invitation: "link", in: world)
        _ = try await Self.enroll("one", invitation: "link", in: world)
        _ = try await Self.enroll("two", invitation: "link", in: world)
        #expect(try await world.sequence(of: company.workspace) == before)
        #expect(try await world.look { try $0.invitation(with: secret("link")).invitation.uses } == 0)
        let one = try #require(try await Self.confirm("one", isOpen: false, in: world))
        #expect(try await world.look { try $0.workspaces(of: one).map(\.role) } == [.member])
        // Used up: of use only where one needs none.
        await #expect(
            throws: ChatError(
                .gone, code: "invitation_over", "This invitation was used up, withdrawn, or is too old.")
        ) { try await Self.confirm("two", isOpen: false, in: world) }
        #expect(try await world.look { try $0.credentials(of: "two") } == nil)
        let two = try #require(try await Self.confirm("two", in: world))
        #expect(try await world.look { try $0.workspaces(of: two) } == [])
    }

    @Test(arguments: TestDatabase.allCases)
    func `where registration is closed the first who confirms an address owns the server, and others are too late`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        _ = try await Self.enroll("one", in: world)
        _ = try await Self.enroll("two", in: world)
        let two = try #require(try await Self.confirm("two", isOpen: false, in: world))
        #expect(try await world.look { try $0.account(of: two) }.isServerOwner)
        await #expect(throws: ChatError.registrationClosed) {
            try await Self.confirm("one", isOpen: false, in: world)
        }
        #expect(try await Self.users(of: world) == ["two"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `what is no address, username or name is not kept`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let wrong = [
            ("invalid_email", NewAccount(email: "ann", username: "ann", displayName: "Ann", passwordHash: "")),
            ("invalid_username", NewAccount(email: "a@b.c", username: "a", displayName: "Ann", passwordHash: "")),
            ("invalid_display_name", NewAccount(email: "a@b.c", username: "ann", displayName: " ", passwordHash: "")),
        ]
        for (code, account) in wrong {
            #expect(try await world.refusal { try $0.enroll(account, with: secret("link")) } == code)
        }
        #expect(try await Self.confirm("link", in: world) == nil)
    }
}
