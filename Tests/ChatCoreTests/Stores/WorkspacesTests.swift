import ChatModel
import Testing

@testable import ChatCore

@Suite struct WorkspacesTests {
    @Test(arguments: TestDatabase.allCases)
    func `who makes a workspace owns it and is in its first channel`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        let (listing, channel) = try await world.run {
            try $0.createWorkspace(name: " Harbour ", slug: "Harbour-1", by: ann)
        }
        let workspace = Workspace(
            id: listing.workspace.id, name: "Harbour", slug: "harbour-1", createdAt: world.now, updatedAt: world.now)
        #expect(listing == WorkspaceListing(workspace: workspace, role: .owner, sequence: 2))
        #expect(
            channel
                == Channel(
                    id: channel.id, workspaceID: workspace.id, kind: .public, name: "general", createdBy: ann,
                    createdAt: world.now, updatedAt: world.now))
        #expect(try await world.look { try $0.workspaces(of: ann) } == [listing])
        #expect(try await world.look { try $0.workspace(workspace.id, for: ann) } == listing)
        #expect(
            try await world.look { try $0.joinedChannels(of: workspace.id, for: ann) }.map(\.channel) == [channel])
        #expect(try await world.missed(by: ann, in: workspace.id, after: 0) == [.memberJoined, .channelCreated])
    }

    @Test(arguments: TestDatabase.allCases)
    func `where registration is closed only owners of the server make workspaces`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let (ann, ben) = (try await world.person("ann"), try await world.person("ben"))
        let make = { @Sendable (user: UserID) in
            try await world.refusal { try $0.createWorkspace(name: "Harbour", slug: nil, by: user, whereOpen: false) }
        }
        #expect(try await make(ann) == nil)
        #expect(try await make(ben) == "server_owner_required")
        #expect(try await world.look { try $0.workspaces(of: ben) } == [])
        try await world.run { try $0.makeServerOwner(ben) }
        #expect(try await make(ben) == nil)
    }

    @Test(
        arguments: TestDatabase.allCases,
        [
            ("Harbour", "harbour"), ("Harbour & Crew!", "harbour-crew"), ("  A--B  ", "a-b"), ("42", "42"),
            ("Nürnberg", "n-rnberg"), ("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwx"),
        ])
    func `an address is made of the name where nobody chooses one`(
        database: TestDatabase, row: (name: String, slug: String)
    ) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        let made = try await world.run { try $0.createWorkspace(name: row.name, slug: nil, by: ann).listing }
        #expect(made.workspace.slug == row.slug)
        // Once more, it is another.
        let second = try await world.run { try $0.createWorkspace(name: row.name, slug: nil, by: ann).listing }
        #expect(second.workspace.slug != row.slug && second.workspace.slug.hasPrefix("w-"))
        #expect(second.workspace.name == made.workspace.name)
    }

    @Test(arguments: TestDatabase.allCases, ["雑談", "!!", "A"])
    func `a name without letters from a to z gives an address as well`(database: TestDatabase, name: String)
        async throws
    {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        let made = try await world.run { try $0.createWorkspace(name: name, slug: nil, by: ann).listing }
        #expect(made.workspace.slug.hasPrefix("w-") && made.workspace.slug.utf8.count == 14)
    }

    @Test(arguments: TestDatabase.allCases)
    func `an address that somebody chose is taken once`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        await #expect(
            throws: ChatError.conflict(
                "slug_taken", "This address is taken by another workspace.", field: "slug")
        ) { try await world.run { try $0.createWorkspace(name: "Other", slug: "HARBOUR", by: company.zoe) } }
        #expect(try await world.look { try $0.workspaces(of: company.zoe) } == [])
        for (code, name, slug) in [("invalid_name", " ", "other"), ("invalid_slug", "Other", "no spaces")] {
            let refusal = try await world.refusal { try $0.createWorkspace(name: name, slug: slug, by: company.zoe) }
            #expect(refusal == code)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `nobody is in more workspaces than they may`(database: TestDatabase) async throws {
        var limits = Limits()
        limits.workspacesOfUser = 2
        let world = try await ChatWorld(database, limits: limits)
        let ann = try await world.person("ann")
        for name in ["One", "Two"] { try await world.run { try $0.createWorkspace(name: name, slug: nil, by: ann) } }
        let refusal = try await world.refusal { try $0.createWorkspace(name: "Three", slug: nil, by: ann) }
        #expect(refusal == "too_many_workspaces")
        #expect(try await world.look { try $0.workspaces(of: ann) }.count == 2)
    }

    @Test(arguments: TestDatabase.allCases)
    func `somebody's workspaces come by name, with what they are in each`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        for name in ["alpha", "Zebra", "Anchor"] {
            try await world.run { try $0.createWorkspace(name: name, slug: nil, by: company.mia) }
        }
        let listings = try await world.look { try $0.workspaces(of: company.mia) }
        #expect(listings.map(\.workspace.name) == ["Anchor", "Harbour", "Zebra", "alpha"])
        #expect(listings.map(\.role) == [.owner, .member, .owner, .owner])
        #expect(listings[1].sequence == (try await world.sequence(of: company.workspace)))
    }

    @Test(arguments: TestDatabase.allCases)
    func `a workspace is absent for who is not in it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let absent = ChatError.notFound("workspace")
        await #expect(throws: absent) { try await world.look { try $0.workspace(company.workspace, for: company.zoe) } }
        await #expect(throws: absent) {
            try await world.run { try $0.renameWorkspace(company.workspace, to: "Mine", by: company.zoe) }
        }
        await #expect(throws: absent) {
            try await world.look { try $0.members(of: company.workspace, for: company.zoe) }
        }
        // As one that there is not.
        let nowhere = WorkspaceID(company.zoe.uuid)
        await #expect(throws: absent) { try await world.look { try $0.workspace(nowhere, for: company.olga) } }
        await #expect(throws: absent) { try await world.look { try $0.sequence(of: nowhere) } }
    }

    @Test(arguments: TestDatabase.allCases)
    func `admins rename a workspace, and everybody in it learns of it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        for user in [company.mia, company.gus] {
            await #expect(throws: ChatError(.role)) {
                try await world.run { try $0.renameWorkspace(company.workspace, to: "Pier", by: user) }
            }
        }
        #expect(
            try await world.refusal { try $0.renameWorkspace(company.workspace, to: "\n", by: company.olga) }
                == "invalid_name")
        let before = try await world.sequence(of: company.workspace)
        world.pass(.seconds(10))
        let renamed = try await world.run {
            try $0.renameWorkspace(company.workspace, to: " Pier ", by: company.adam)
        }
        #expect((renamed.workspace.name, renamed.workspace.slug) == ("Pier", "harbour"))
        #expect(renamed.workspace.updatedAt == world.now && renamed.workspace.createdAt < world.now)
        for user in [company.olga, company.mia, company.gus] {
            #expect(
                try await world.missed(by: user, in: company.workspace, after: before) == [.workspaceUpdated])
        }
        // Whoever has not seen that takes nothing back.
        #expect(try await world.look { try $0.version(of: company.workspace) } == 2)
        #expect(
            try await world.refusal {
                try $0.renameWorkspace(company.workspace, to: "Quay", ifVersion: 1, by: company.olga)
            } == "outdated")
        let last = try await world.run {
            try $0.renameWorkspace(company.workspace, to: "Quay", ifVersion: 2, by: company.olga)
        }
        #expect(last.workspace.name == "Quay")
    }
}
