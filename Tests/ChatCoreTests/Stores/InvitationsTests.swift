import ChatModel
import Testing

@testable import ChatCore

@Suite struct InvitationsTests {
    private static let over = ChatError(
        .gone, code: "invitation_over", "This invitation was used up, withdrawn, or is too old.")

    private static func invite(
        _ new: ChatTransaction.NewInvitation, by user: UserID, _ token: String = "link", to company: Company,
        in world: ChatWorld
    ) async throws -> Invitation {
        try await world.run { try $0.invite(new, with: secret(token), to: company.workspace, by: user) }
    }

    private static func accept(_ token: String = "link", by user: UserID, in world: ChatWorld) async throws -> Role {
        try await world.run { try $0.accept(invitationWith: secret(token), by: user).role }
    }

    private static func channels(of user: UserID, in company: Company, _ world: ChatWorld) async throws -> [String] {
        try await world.look { try $0.joinedChannels(of: company.workspace, for: user) }.compactMap(\.channel.name)
    }

    @Test(arguments: TestDatabase.allCases)
    func `whoever has a link comes in, and into the first channel`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let pier = try await world.channel("pier", of: company.mia, in: company)
        let invitation = try await Self.invite(
            .init(channelIDs: [pier, pier]), by: company.mia, to: company, in: world)
        #expect(
            invitation
                == Invitation(
                    id: invitation.id, email: nil, role: .member, channelIDs: [pier], createdBy: company.mia,
                    createdAt: world.now, expiresAt: world.now.advanced(by: .seconds(14 * 86_400)), uses: 0,
                    maximumUses: nil))
        let shown = try await world.look {
            let shown = try $0.invitation(with: secret("link"))
            return (shown.workspace.name, shown.invitation)
        }
        #expect(shown == ("Harbour", invitation))
        let before = try await world.sequence(of: company.workspace)
        #expect(try await Self.accept(by: company.zoe, in: world) == .member)
        #expect(try await Self.channels(of: company.zoe, in: company, world) == ["general", "pier"])
        #expect(
            try await world.missed(by: company.mia, in: company.workspace, after: before)
                == [.memberJoined, .channelJoined, .channelJoined])
        let listed = try await world.look { try $0.invitations(of: company.workspace, for: company.adam) }
        #expect(listed.map(\.uses) == [1])
    }

    @Test(arguments: TestDatabase.allCases)
    func `who is in the workspace already stays what they are, and uses nothing up`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        _ = try await Self.invite(.init(role: .admin, maximumUses: 1), by: company.olga, to: company, in: world)
        let before = try await world.sequence(of: company.workspace)
        #expect(try await Self.accept(by: company.gus, in: world) == .guest)
        #expect(try await Self.accept(by: company.olga, in: world) == .owner)
        #expect(try await world.sequence(of: company.workspace) == before)
        #expect(try await Self.accept(by: company.zoe, in: world) == .admin)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a guest comes into the channels of the invitation, and into nothing else`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let pier = try await world.channel("pier", of: company.mia, in: company)
        let closed = try await world.channel("closed", .public, of: company.mia, in: company)
        _ = try await Self.invite(
            .init(role: .guest, channelIDs: [pier, closed]), by: company.mia, to: company, in: world)
        try await world.run { _ = try $0.setArchived(true, closed, by: company.mia) }
        #expect(try await Self.accept(by: company.zoe, in: world) == .guest)
        #expect(try await Self.channels(of: company.zoe, in: company, world) == ["pier"])
        await #expect(throws: ChatError.notFound("channel")) {
            try await world.look { try $0.channel(company.general, for: company.zoe) }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `who came by a link comes into the oldest public channel, whatever it is called`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        _ = try await world.channel("aaa", .public, of: company.mia, in: company)
        _ = try await Self.invite(.init(), by: company.mia, to: company, in: world)
        try await world.run { _ = try $0.changeChannel(company.general, .init(name: "lobby"), by: company.olga) }
        _ = try await Self.accept(by: company.zoe, in: world)
        #expect(try await Self.channels(of: company.zoe, in: company, world) == ["lobby"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `an invitation by e-mail is for that address, once`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let yan = try await world.person("yan")
        let invitation = try await Self.invite(
            .init(email: " ZOE@Example.org ", maximumUses: 50), by: company.adam, to: company, in: world)
        #expect(invitation.email == "zoe@example.org" && invitation.maximumUses == 1)
        await #expect(
            throws: ChatError.forbidden("other_address", "This invitation is for another address than yours.")
        ) { try await Self.accept(by: yan, in: world) }
        #expect(try await Self.accept(by: company.zoe, in: world) == .member)
        await #expect(throws: Self.over) { try await Self.accept(by: company.zoe, in: world) }
        #expect(try await world.look { try $0.invitations(of: company.workspace, for: company.adam) } == [])
    }

    @Test(arguments: TestDatabase.allCases)
    func `an invitation is used up`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (xia, yan) = (try await world.person("xia"), try await world.person("yan"))
        _ = try await Self.invite(.init(maximumUses: 2), by: company.mia, to: company, in: world)
        _ = try await Self.accept(by: xia, in: world)
        _ = try await Self.accept(by: yan, in: world)
        await #expect(throws: Self.over) { try await Self.accept(by: company.zoe, in: world) }
        #expect(try await world.refusal { try $0.invitation(with: secret("link")).invitation } == "invitation_over")
        #expect(try await world.look { try $0.workspaces(of: company.zoe) } == [])
    }

    @Test(arguments: TestDatabase.allCases)
    func `an invitation is withdrawn by an admin, and once`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let bob = try await world.member("bob", of: company)
        let id = try await Self.invite(.init(), by: company.mia, to: company, in: world).id
        for user in [bob, company.gus] {
            await #expect(throws: ChatError(.notOwn)) {
                try await world.run { try $0.revokeInvitation(id, in: company.workspace, by: user) }
            }
        }
        await #expect(throws: ChatError.notFound("workspace")) {
            try await world.run { try $0.revokeInvitation(id, in: company.workspace, by: company.zoe) }
        }
        // Not by an admin of another workspace.
        let other = try await world.run { try $0.createWorkspace(name: "Other", slug: nil, by: company.zoe).listing }
        await #expect(throws: ChatError.notFound("invitation")) {
            try await world.run { try $0.revokeInvitation(id, in: other.workspace.id, by: company.zoe) }
        }
        try await world.run { try $0.revokeInvitation(id, in: company.workspace, by: company.adam) }
        await #expect(throws: Self.over) { try await Self.accept(by: company.zoe, in: world) }
        await #expect(throws: ChatError.notFound("invitation")) {
            try await world.run { try $0.revokeInvitation(id, in: company.workspace, by: company.adam) }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `who made an invitation sees it and withdraws it, and sees and withdraws no other`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let own = try await Self.invite(.init(), by: company.mia, "own", to: company, in: world)
        world.pass(.seconds(1))
        let other = try await Self.invite(.init(), by: company.olga, "other", to: company, in: world)
        #expect(try await world.look { try $0.invitations(of: company.workspace, for: company.mia) } == [own])
        await #expect(throws: ChatError(.notOwn)) {
            try await world.run { try $0.revokeInvitation(other.id, in: company.workspace, by: company.mia) }
        }
        // Nor does it tell whether there is one of this name.
        await #expect(throws: ChatError(.notOwn)) {
            try await world.run { try $0.revokeInvitation($0.makeID(), in: company.workspace, by: company.mia) }
        }
        try await world.run { try $0.revokeInvitation(own.id, in: company.workspace, by: company.mia) }
        await #expect(throws: Self.over) { try await Self.accept("own", by: company.zoe, in: world) }
        await #expect(throws: ChatError.notFound("invitation")) {
            try await world.run { try $0.revokeInvitation(own.id, in: company.workspace, by: company.mia) }
        }
        #expect(try await world.look { try $0.invitations(of: company.workspace, for: company.mia) } == [])
        #expect(try await world.look { try $0.invitations(of: company.workspace, for: company.adam) } == [other])
    }

    @Test(arguments: TestDatabase.allCases)
    func `an invitation is over after its time`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let yan = try await world.person("yan")
        _ = try await Self.invite(.init(), by: company.mia, to: company, in: world)
        world.pass(.seconds(14 * 86_400) - .milliseconds(1))
        #expect(try await Self.accept(by: yan, in: world) == .member)
        world.pass(.milliseconds(1))
        await #expect(throws: Self.over) { try await Self.accept(by: company.zoe, in: world) }
        #expect(try await world.look { try $0.invitations(of: company.workspace, for: company.olga) } == [])
        await #expect(throws: Self.over) { try await Self.accept("never given", by: company.zoe, in: world) }
    }

    @Test(arguments: TestDatabase.allCases)
    func `admins see the invitations that work, newest first`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let first = try await Self.invite(.init(), by: company.mia, "1", to: company, in: world)
        world.pass(.seconds(1))
        let second = try await Self.invite(.init(role: .admin), by: company.olga, "2", to: company, in: world)
        for user in [company.olga, company.adam] {
            #expect(
                try await world.look { try $0.invitations(of: company.workspace, for: user) } == [second, first])
        }
        for (user, answer) in [
            (company.gus, ChatError(.role)), (company.zoe, ChatError.notFound("workspace")),
        ] {
            await #expect(throws: answer) {
                try await world.look { try $0.invitations(of: company.workspace, for: user) }
            }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `nobody invites as more than they are, nor into what they may not`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let hidden = try await world.channel("hidden", of: company.adam, in: company)
        let open = try await world.channel("open", .public, of: company.adam, in: company)
        let elsewhere = try await world.run { try $0.createWorkspace(name: "Mine", slug: nil, by: company.mia).channel }
        let general = company.general
        let rows: [(UserID, ChatTransaction.NewInvitation, String?)] = [
            (company.gus, .init(), "role_required"), (company.zoe, .init(), "workspace_not_found"),
            (company.mia, .init(role: .admin), "role_required"), (company.adam, .init(role: .owner), "role_required"),
            (company.mia, .init(role: .guest), "invalid_channel_ids"),
            (company.mia, .init(channelIDs: [hidden]), "channel_not_found"),
            (company.mia, .init(channelIDs: [open]), "not_in_channel"),
            (company.mia, .init(channelIDs: [elsewhere.id]), "channel_not_found"),
            (company.mia, .init(channelIDs: [ChannelID](repeating: general, count: 51)), "invalid_channel_ids"),
            (company.mia, .init(maximumUses: 0), "invalid_maximum_uses"),
            (company.mia, .init(maximumUses: 10_001), "invalid_maximum_uses"),
            (company.mia, .init(email: "zoe"), "invalid_email"),
            (company.mia, .init(role: .guest, channelIDs: [general]), nil), (company.olga, .init(role: .owner), nil),
        ]
        for (index, (user, new, code)) in rows.enumerated() {
            let refusal = try await world.refusal {
                try $0.invite(new, with: secret("link \(index)"), to: company.workspace, by: user)
            }
            #expect(refusal == code, "row \(index)")
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `the links of who has left the server lead nowhere, in any workspace, and those of others stay good`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let other = try await world.run { try $0.createWorkspace(name: "Own", slug: nil, by: company.adam).listing }
        _ = try await Self.invite(.init(role: .admin), by: company.adam, "admin", to: company, in: world)
        _ = try await Self.invite(.init(), by: company.mia, "mias", to: company, in: world)
        try await world.run {
            _ = try $0.invite(.init(role: .owner), with: secret("own"), to: other.workspace.id, by: company.adam)
            try $0.deactivate(company.adam)
        }
        for token in ["admin", "own"] {
            await #expect(throws: Self.over) { try await Self.accept(token, by: company.zoe, in: world) }
        }
        try await world.run { try $0.reactivate(company.adam) }
        await #expect(throws: Self.over) { try await Self.accept("admin", by: company.zoe, in: world) }
        #expect(try await Self.accept("mias", by: company.zoe, in: world) == .member)
    }

    @Test(arguments: TestDatabase.allCases)
    func `who is out of a private channel lets nobody else into it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (xia, yan) = (try await world.person("xia"), try await world.person("yan"))
        let closed = try await world.channel("closed", of: company.olga, with: company.mia, in: company)
        let pier = try await world.channel("pier", of: company.mia, in: company)
        _ = try await Self.invite(.init(channelIDs: [closed, pier]), by: company.mia, "both", to: company, in: world)
        for (token, channels) in [("closed", [closed]), ("either", [closed, pier])] {
            _ = try await Self.invite(
                .init(role: .guest, channelIDs: channels), by: company.mia, token, to: company, in: world)
        }
        _ = try await Self.invite(.init(channelIDs: [closed]), by: company.olga, "olgas", to: company, in: world)
        try await world.run { try $0.remove(company.mia, from: closed, by: company.olga) }
        await #expect(throws: Self.over) { try await Self.accept("closed", by: company.zoe, in: world) }
        #expect(try await Self.accept("either", by: company.zoe, in: world) == .guest)
        #expect(try await Self.channels(of: company.zoe, in: company, world) == ["pier"])
        #expect(try await Self.accept("both", by: xia, in: world) == .member)
        #expect(try await Self.channels(of: xia, in: company, world) == ["general", "pier"])
        // Those of others stay good.
        #expect(try await Self.accept("olgas", by: yan, in: world) == .member)
        #expect(try await Self.channels(of: yan, in: company, world) == ["closed", "general"])
    }

    /// To the database they are two, and to who compares characters one.
    @Test(arguments: TestDatabase.allCases)
    func `an address in another of Unicode's forms is another address`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        _ = try await Self.invite(.init(email: "zo\u{eb}@example.org"), by: company.adam, to: company, in: world)
        let people = try await world.run { chat in
            try [("zoe2", "zoe\u{308}@example.org"), ("zoe3", "Zo\u{eb}@example.org")].compactMap { name, email in
                try chat.register(NewAccount(email: email, username: name, displayName: name, passwordHash: ""))
            }
        }
        try #require(people.count == 2)
        let refusal = try await world.refusal { try $0.accept(invitationWith: secret("link"), by: people[0]) }
        #expect(refusal == "other_address")
        #expect(try await Self.accept(by: people[1], in: world) == .member)
    }

    @Test(arguments: TestDatabase.allCases)
    func `who is in as many workspaces as they may comes into no other`(database: TestDatabase) async throws {
        var limits = Limits()
        limits.workspacesOfUser = 1
        let world = try await ChatWorld(database, limits: limits)
        let company = try await world.company()
        _ = try await Self.invite(.init(maximumUses: 1), by: company.mia, to: company, in: world)
        try await world.run { _ = try $0.createWorkspace(name: "Own", slug: nil, by: company.zoe) }
        let refusal = try await world.refusal { try $0.accept(invitationWith: secret("link"), by: company.zoe) }
        #expect(refusal == "too_many_workspaces")
        #expect(try await world.look { try $0.invitation(with: secret("link")).invitation.uses } == 0)
    }

    @Test(arguments: TestDatabase.allCases)
    func `nobody has more open than they may, and what is long over goes`(database: TestDatabase) async throws {
        var limits = Limits()
        limits.invitationsOfPerson = 2
        let world = try await ChatWorld(database, limits: limits)
        let company = try await world.company()
        let first = try await Self.invite(
            .init(channelIDs: [company.general]), by: company.mia, "1", to: company, in: world)
        _ = try await Self.invite(.init(), by: company.mia, "2", to: company, in: world)
        #expect(
            try await world.refusal {
                try $0.invite(.init(), with: secret("3"), to: company.workspace, by: company.mia)
            } == "too_many_invitations")
        _ = try await Self.invite(.init(), by: company.adam, "4", to: company, in: world)
        try await world.run { try $0.revokeInvitation(first.id, in: company.workspace, by: company.adam) }
        _ = try await Self.invite(.init(), by: company.mia, "5", to: company, in: world)
        #expect(try await world.count("invitations") == 4)
        world.pass(.seconds(27 * 86_400))
        #expect(try await !world.run { try $0.sweepInvitations() })
        #expect(try await world.count("invitations") == 4)
        world.pass(.seconds(86_401))
        #expect(try await world.run { try $0.sweepInvitations(atMost: 2) })
        #expect(try await !world.run { try $0.sweepInvitations() })
        #expect(try await world.count("invitations") == 0)
    }
}
