import ChatModel
import Testing

@testable import ChatCore

@Suite struct AccountsTests {
    private static func new(_ name: String, email: String? = nil) -> NewAccount {
        NewAccount(
            email: email ?? "\(name)@example.org", username: name, displayName: "Somebody", passwordHash: "hash")
    }

    @Test(arguments: TestDatabase.allCases)
    func `the first account owns the server, and no other`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        #expect(try await world.look { try $0.isServerNew() })
        let ann = try #require(
            try await world.run {
                try $0.register(
                    NewAccount(
                        email: " Ann@Example.org ", username: "Ann", displayName: " Ann Lee ", passwordHash: "hash"))
            })
        #expect(try await !world.look { try $0.isServerNew() })
        let profile = Profile(
            id: ann, username: "ann", displayName: "Ann Lee", createdAt: world.now, updatedAt: world.now)
        #expect(
            try await world.look { try $0.account(of: ann) }
                == Account(profile: profile, email: "Ann@Example.org", isEmailVerified: false, isServerOwner: true))
        let ben = try await world.person("ben")
        #expect(try await !world.look { try $0.account(of: ben) }.isServerOwner)
    }

    @Test(arguments: TestDatabase.allCases)
    func `an address has one account, whatever its capitals`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        _ = try await world.person("ann")
        #expect(try await world.run { try $0.register(Self.new("annika", email: "ANN@example.ORG")) } == nil)
        #expect(try await world.look { try $0.credentials(of: "annika") } == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a username is taken once, whatever its capitals`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        _ = try await world.person("ann")
        let taken = ChatError.conflict("username_taken", "This username is taken.", field: "username")
        await #expect(throws: taken) {
            try await world.run { try $0.register(Self.new("ANN", email: "other@example.org")) }
        }
        #expect(try await world.look { try $0.credentials(of: "other@example.org") } == nil)
    }

    /// Otherwise a name that is known to be taken tells of any address whether it has an account.
    @Test(arguments: TestDatabase.allCases)
    func `a taken username is answered the same for known and unknown addresses`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        _ = try await world.person("ann")
        for email in ["ann@example.org", "nobody@example.org"] {
            let refusal = try await world.refusal { try $0.register(Self.new("ann", email: email)) }
            #expect(refusal == "username_taken", "\(email)")
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `what is no address, username or name makes no account`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let wrong = [
            ("invalid_email", NewAccount(email: "ann", username: "ann", displayName: "Ann", passwordHash: "")),
            ("invalid_username", NewAccount(email: "a@b.c", username: "a", displayName: "Ann", passwordHash: "")),
            ("invalid_display_name", NewAccount(email: "a@b.c", username: "ann", displayName: " ", passwordHash: "")),
        ]
        for (code, account) in wrong {
            #expect(try await world.refusal { try $0.register(account) } == code)
        }
        #expect(try await world.look { try $0.isServerNew() })
    }

    @Test(arguments: TestDatabase.allCases)
    func `people are found by address and by username`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        let expected = Credentials(user: ann, passwordHash: "hash of ann", isEmailVerified: false)
        for name in ["ann", "ANN", "ann@example.org", "Ann@Example.ORG"] {
            #expect(try await world.look { try $0.credentials(of: name) } == expected, "\(name)")
        }
        #expect(try await world.look { try $0.credentials(of: ann) } == expected)
        for name in ["", "ben", "ann@example", "%"] {
            #expect(try await world.look { try $0.credentials(of: name) } == nil, "\(name)")
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `another password ends all sessions but the one, and links that were sent`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let (ann, ben) = (try await world.person("ann"), try await world.person("ben"))
        let (phone, laptop, bens) = try await world.run {
            try $0.openEmailToken(secret("link"), for: .reset, of: ann)
            return (
                try $0.openSession(of: ann, on: "Phone", token: secret("1")),
                try $0.openSession(of: ann, on: "Laptop", token: secret("2")),
                try $0.openSession(of: ben, on: "Phone", token: secret("3"))
            )
        }
        try await world.run { try $0.changePassword(of: ann, to: "another", keeping: laptop) }
        #expect(try await world.look { try $0.credentials(of: ann) }?.passwordHash == "another")
        let users = try await world.look { transaction in
            try [phone, laptop, bens].map { try transaction.user(of: $0) }
        }
        #expect(users == [nil, ann, ben])
        #expect(try await world.refusal { try $0.useEmailToken(secret("link"), for: .reset) } == "link_used")
    }

    @Test(arguments: TestDatabase.allCases)
    func `a profile changes in what is named, and all of its workspaces are told`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let second = try await world.run {
            try $0.createWorkspace(name: "Second", slug: nil, by: company.mia).listing
        }
        let before = try await world.sequence(of: company.workspace)
        world.pass(.seconds(5))
        let account = try await world.run {
            try $0.changeProfile(
                of: company.mia, .init(displayName: " Mia M. ", status: .away, statusText: " at lunch "))
        }
        let expected = Profile(
            id: company.mia, username: "mia", displayName: "Mia M.", status: .away, statusText: "at lunch",
            createdAt: account.profile.createdAt, updatedAt: world.now)
        #expect(account.profile == expected)
        #expect(try await world.profile(of: company.mia) == expected)
        #expect(try await world.missed(by: company.olga, in: company.workspace, after: before) == [.userUpdated])
        #expect(
            try await world.missed(by: company.mia, in: second.workspace.id, after: second.sequence)
                == [.userUpdated])
        let bare = try await world.run {
            try $0.changeProfile(of: company.mia, .init(username: "MIA2", statusText: ""))
        }
        #expect(
            bare.profile.username == "mia2" && bare.profile.displayName == "Mia M." && bare.profile.statusText == "")
    }

    @Test(arguments: TestDatabase.allCases)
    func `a profile that stays what it is is told to nobody`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let changes = ChatTransaction.ProfileChanges(
            username: "mia", displayName: "Mia M.", status: .away, statusText: "at lunch")
        let account = try await world.run { try $0.changeProfile(of: company.mia, changes) }
        let before = try await world.sequence(of: company.workspace)
        world.pass(.seconds(5))
        let same = ChatTransaction.ProfileChanges(
            username: "MIA", displayName: " Mia M. ", status: .away, statusText: " at lunch ")
        for changes in [.init(), .init(status: .away), changes, same] as [ChatTransaction.ProfileChanges] {
            #expect(try await world.run { try $0.changeProfile(of: company.mia, changes) } == account)
        }
        #expect(try await world.profile(of: company.mia).updatedAt == account.profile.updatedAt)
        #expect(try await world.sequence(of: company.workspace) == before)
        // A name that somebody else has is refused all the same.
        #expect(
            try await world.refusal { try $0.changeProfile(of: company.mia, .init(username: "olga")) }
                == "username_taken")
    }

    @Test func `of two changes of a profile at once neither is lost`() async throws {
        let world = try await ChatWorld(.postgres)
        let ann = try await world.person("ann")
        let (isChanged, changed) = AsyncStream<Void>.makeStream()
        async let first = world.run { chat in
            defer { changed.finish() }
            let account = try chat.changeProfile(of: ann, .init(displayName: "Ann Lee"))
            changed.yield()
            // Until the other one waits for this transaction's end.
            for _ in 0..<1_000 {
                let waiting = "SELECT 1 FROM pg_locks WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
                if try chat.session.row(waiting) != nil { break }
                _ = try chat.session.row("SELECT 1 FROM (SELECT pg_sleep(0.01)) slept")
            }
            return account
        }
        for await _ in isChanged { break }
        let second = try await world.run { try $0.changeProfile(of: ann, .init(statusText: "at lunch")) }
        #expect(try await first.profile.displayName == "Ann Lee")
        #expect(second.profile.displayName == "Ann Lee" && second.profile.statusText == "at lunch")
    }

    @Test(arguments: TestDatabase.allCases)
    func `a name that is refused by now stays with who has it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        try await world.run { chat in
            try chat.session.run("UPDATE users SET display_name = $2 WHERE id = $1", .id(ann), .text("\u{3164}"))
        }
        let change = ChatTransaction.ProfileChanges(displayName: "\u{3164}", status: .away)
        #expect(try await world.run { try $0.changeProfile(of: ann, change) }.profile.status == .away)
        #expect(
            try await world.refusal { try $0.changeProfile(of: ann, .init(displayName: "\u{115F}")) }
                == "invalid_display_name")
    }

    @Test(arguments: TestDatabase.allCases)
    func `a profile takes no name of another, nor what is no name`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        _ = try await world.person("ben")
        let changes: [(String?, ChatTransaction.ProfileChanges)] = [
            ("username_taken", .init(username: "Ben")), ("invalid_username", .init(username: "here")),
            ("invalid_display_name", .init(displayName: "\n")),
            ("invalid_status_text", .init(statusText: String(repeating: "x", count: 101))),
            (nil, .init(username: "ann")),
        ]
        for (code, change) in changes {
            #expect(try await world.refusal { try $0.changeProfile(of: ann, change) } == code)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a profile is absent for who shares no workspace, and a guest's also no channel`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let gus = try await world.profile(of: company.gus)
        #expect(try await world.look { try $0.profile(of: company.gus, seenBy: company.mia) } == gus)
        #expect(try await world.look { try $0.profile(of: company.gus, seenBy: company.gus) } == gus)
        for (user, reader) in [
            (company.gus, company.zoe), (company.zoe, company.olga), (company.mia, company.gus),
        ] {
            await #expect(throws: ChatError.notFound("user")) {
                try await world.look { try $0.profile(of: user, seenBy: reader) }
            }
        }
        try await world.run { try $0.add(company.gus, to: company.general, by: company.mia) }
        #expect(try await world.look { try $0.profile(of: company.mia, seenBy: company.gus) }.username == "mia")
    }

    @Test(arguments: TestDatabase.allCases)
    func `who leaves the server is known by name, and comes in no more`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let before = try await world.sequence(of: company.workspace)
        let session = try await world.run {
            try $0.openEmailToken(secret("link"), for: .verify, of: company.mia)
            return try $0.openSession(of: company.mia, on: "Phone", token: secret("1"))
        }
        try await world.run { try $0.deactivate(company.mia) }
        #expect(try await world.profile(of: company.mia).isDeactivated)
        #expect(try await world.look { try $0.credentials(of: "mia") } == nil)
        #expect(try await world.look { try $0.credentials(of: company.mia) } == nil)
        #expect(try await world.look { try $0.user(of: session) } == nil)
        #expect(try await world.refusal { try $0.useEmailToken(secret("link"), for: .verify) } == "link_used")
        #expect(try await world.missed(by: company.olga, in: company.workspace, after: before) == [.userUpdated])
        #expect(
            try await world.refusal { try $0.register(Self.new("mia", email: "new@example.org")) } == "username_taken")
        #expect(try await world.run { try $0.register(Self.new("mia2", email: "mia@example.org")) } == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `the only owner of others' workspace stays`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        await #expect(throws: ChatError.lastOwner) { try await world.run { try $0.deactivate(company.olga) } }
        #expect(try await !world.profile(of: company.olga).isDeactivated)
        // Alone, there is nobody to leave behind.
        try await world.run {
            _ = try $0.createWorkspace(name: "Alone", slug: nil, by: company.zoe)
            try $0.deactivate(company.zoe)
        }
        _ = try await world.run {
            try $0.changeRole(of: company.adam, in: company.workspace, to: .owner, by: company.olga)
        }
        try await world.run { try $0.deactivate(company.olga) }
        #expect(try await world.profile(of: company.olga).isDeactivated)
    }

    /// One who left the server cannot own anything for the others.
    @Test(arguments: TestDatabase.allCases)
    func `an owner who has left the server is none to rely on`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        try await world.run {
            _ = try $0.changeRole(of: company.adam, in: company.workspace, to: .owner, by: company.olga)
            try $0.deactivate(company.adam)
        }
        await #expect(throws: ChatError.lastOwner) { try await world.run { try $0.deactivate(company.olga) } }
        await #expect(throws: ChatError.lastOwner) {
            try await world.run { try $0.removeMember(company.olga, from: company.workspace, by: company.olga) }
        }
    }
}
