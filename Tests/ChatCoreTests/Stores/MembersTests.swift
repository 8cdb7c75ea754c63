import ChatModel
import Testing

@testable import ChatCore

@Suite struct MembersTests {
    private static func names(
        for user: UserID, startingWith prefix: String = "", of company: Company, in world: ChatWorld
    ) async throws -> [String] {
        try await world.look { try $0.members(of: company.workspace, for: user, startingWith: prefix) }.items
            .map(\.user.username)
    }

    // MARK: Lists

    @Test(arguments: TestDatabase.allCases)
    func `members see everybody by username, guests only with whom they share a channel`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        for user in [company.olga, company.adam, company.mia] {
            #expect(try await Self.names(for: user, of: company, in: world) == ["adam", "gus", "mia", "olga"])
        }
        #expect(try await Self.names(for: company.gus, of: company, in: world) == ["gus"])
        _ = try await world.channel("pier", of: company.mia, with: company.gus, in: company)
        #expect(try await Self.names(for: company.gus, of: company, in: world) == ["gus", "mia"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `a channel shared elsewhere shows a guest nobody here`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        try await world.run {
            let other = try $0.createWorkspace(name: "Other", slug: nil, by: company.adam)
            try $0.insertMember(company.gus, as: .member, into: other.listing.workspace.id)
            try $0.put(company.gus, into: other.channel.id, in: other.listing.workspace.id)
        }
        #expect(try await Self.names(for: company.gus, of: company, in: world) == ["gus"])
        // Nor does it let them write here to who is hidden here.
        await #expect(throws: ChatError.notFound("user")) {
            try await world.run { try $0.openDirect(with: [company.adam], in: company.workspace, by: company.gus) }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `the list comes in pages`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let first = try await world.look { try $0.members(of: company.workspace, for: company.mia, limit: 3) }
        let cursor = try #require(first.after)
        let second = try await world.look {
            try $0.members(of: company.workspace, for: company.mia, after: cursor, limit: 3)
        }
        #expect(first.items.map(\.user.username) == ["adam", "gus", "mia"])
        #expect(first.items.map(\.role) == [.admin, .guest, .member])
        #expect(second.items.map(\.user.username) == ["olga"])
        #expect(first.before == nil && second.before == nil && second.after == nil)
        let exact = try await world.look { try $0.members(of: company.workspace, for: company.mia, limit: 4) }
        #expect(exact.items.count == 4 && exact.after == nil)
        let wrong = try await world.refusal {
            try $0.members(of: company.workspace, for: company.mia, after: Cursor("s1"))
        }
        #expect(wrong == "invalid_cursor")
    }

    @Test(arguments: TestDatabase.allCases)
    func `who types the beginning of a username or of a name finds them`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        try await world.run {
            _ = try $0.changeProfile(of: company.mia, .init(displayName: "Östen Åk"))
            _ = try $0.changeProfile(of: company.adam, .init(displayName: "100% Olsen"))
        }
        let rows: [(String, [String])] = [
            ("o", ["olga"]), ("OL", ["olga"]), ("m", ["mia"]), ("gu", ["gus"]), ("100%", ["adam"]),
            ("100% o", ["adam"]),
            ("lsen", []), ("%", []), ("_", []), ("!", []), ("10_%", []), ("Öst", ["mia"]), ("öst", ["mia"]),
        ]
        for (prefix, found) in rows {
            let names = try await Self.names(for: company.olga, startingWith: prefix, of: company, in: world)
            #expect(names == found, "\(prefix)")
        }
    }

    // MARK: Roles

    @Test(arguments: TestDatabase.allCases)
    func `an owner gives every role, and everybody who sees them is told`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        for role in [Role.admin, .guest, .owner, .member] {
            let before = try await world.sequence(of: company.workspace)
            let changed = try await world.run {
                try $0.changeRole(of: company.mia, in: company.workspace, to: role, by: company.olga)
            }
            #expect(changed.role == role && changed.user.id == company.mia)
            #expect(try await world.look { try $0.role(of: company.mia, in: company.workspace) } == role)
            for user in [company.adam, company.mia] {
                #expect(
                    try await world.missed(by: user, in: company.workspace, after: before) == [.memberUpdated])
            }
            #expect(try await world.missed(by: company.gus, in: company.workspace, after: before) == [])
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `nobody changes the role of who is not below them`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let second = try await world.member("second", of: company)
        try await world.run {
            _ = try $0.changeRole(of: second, in: company.workspace, to: .admin, by: company.olga)
        }
        let rows: [(by: UserID, of: UserID, to: Role, answer: ChatError?)] = [
            (company.adam, company.mia, .guest, nil), (company.adam, company.mia, .admin, nil),
            (company.adam, company.olga, .member, ChatError(.role)), (company.adam, second, .member, ChatError(.role)),
            (company.adam, company.gus, .owner, ChatError(.role)), (company.gus, company.gus, .admin, ChatError(.role)),
            (company.olga, company.zoe, .member, .notFound("member")),
            (company.zoe, company.gus, .admin, .notFound("workspace")),
        ]
        for row in rows {
            let answer = try await world.refusal {
                try $0.changeRole(of: row.of, in: company.workspace, to: row.to, by: row.by)
            }
            #expect(answer == row.answer?.code)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a workspace keeps an owner`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        await #expect(throws: ChatError.lastOwner) {
            try await world.run {
                try $0.changeRole(of: company.olga, in: company.workspace, to: .member, by: company.olga)
            }
        }
        await #expect(throws: ChatError.lastOwner) {
            try await world.run { try $0.removeMember(company.olga, from: company.workspace, by: company.olga) }
        }
        // To stay what one is changes nothing.
        try await world.run {
            _ = try $0.changeRole(of: company.olga, in: company.workspace, to: .owner, by: company.olga)
            _ = try $0.changeRole(of: company.adam, in: company.workspace, to: .owner, by: company.olga)
            _ = try $0.changeRole(of: company.olga, in: company.workspace, to: .member, by: company.olga)
        }
        #expect(try await world.look { try $0.role(of: company.olga, in: company.workspace) } == .member)
        await #expect(throws: ChatError.lastOwner) {
            try await world.run { try $0.removeMember(company.adam, from: company.workspace, by: company.adam) }
        }
    }

    // MARK: Going

    @Test(arguments: TestDatabase.allCases)
    func `who is removed loses the workspace and its channels, and the others are told`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let pier = try await world.channel("pier", of: company.olga, with: company.mia, in: company)
        let direct = try await world.run {
            try $0.openDirect(with: [company.olga], in: company.workspace, by: company.mia).listing.channel.id
        }
        let before = try await world.sequence(of: company.workspace)
        try await world.run { try $0.removeMember(company.mia, from: company.workspace, by: company.adam) }
        for channel in [company.general, pier, direct] {
            await #expect(throws: ChatError.notFound("channel")) {
                try await world.look { try $0.channel(channel, for: company.mia) }
            }
        }
        #expect(try await world.look { try $0.workspaces(of: company.mia) } == [])
        await #expect(throws: ChatError.notFound("workspace")) {
            try await world.look { try $0.missedEvents(of: company.workspace, after: before, by: company.mia) }
        }
        #expect(
            try await world.missed(by: company.olga, in: company.workspace, after: before)
                == [.channelLeft, .channelLeft, .memberLeft])
        #expect(try await world.listing(of: pier, for: company.olga).memberCount == 1)
        // What two said to each other stays for the one who is there.
        #expect(try await world.listing(of: direct, for: company.olga).channel.userIDs == [company.olga, company.mia])
    }

    @Test(arguments: TestDatabase.allCases)
    func `a guest who is removed is told of it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let before = try await world.sequence(of: company.workspace)
        try await world.run { try $0.removeMember(company.gus, from: company.workspace, by: company.adam) }
        let events = try await world.look { try $0.events(of: company.workspace, after: before) }
        #expect(events.map(\.kind) == [.memberLeft, .memberLeft])
        #expect(events.map(\.audience) == [.members, .user(company.gus)])
    }

    @Test(arguments: TestDatabase.allCases)
    func `anybody may go, and admins remove whoever is below them`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let rows: [(by: UserID, of: UserID, answer: ChatError?)] = [
            (company.mia, company.gus, ChatError(.role)), (company.gus, company.mia, ChatError(.role)),
            (company.adam, company.olga, ChatError(.role)), (company.adam, company.zoe, .notFound("member")),
            (company.zoe, company.mia, .notFound("workspace")), (company.zoe, company.zoe, .notFound("workspace")),
            (company.mia, company.mia, nil), (company.adam, company.gus, nil), (company.olga, company.adam, nil),
            (company.olga, company.adam, .notFound("member")),
        ]
        for row in rows {
            let answer = try await world.refusal {
                try $0.removeMember(row.of, from: company.workspace, by: row.by)
            }
            #expect(answer == row.answer?.code)
        }
        #expect(try await Self.names(for: company.olga, of: company, in: world) == ["olga"])
    }
}
