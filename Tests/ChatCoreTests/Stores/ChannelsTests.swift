import ChatModel
import Testing

@testable import ChatCore

@Suite struct ChannelsTests {
    private static let absent = ChatError.notFound("channel")

    // MARK: Making them

    @Test(arguments: TestDatabase.allCases, [ChannelKind.public, .private])
    func `who makes a channel is in it`(database: TestDatabase, kind: ChannelKind) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let before = try await world.sequence(of: company.workspace)
        let made = try await world.run {
            try $0.createChannel(
                kind, name: "Crew", topic: " Winds ", purpose: "", in: company.workspace, by: company.mia)
        }
        let channel = Channel(
            id: made.channel.id, workspaceID: company.workspace, kind: kind, name: "crew", topic: "Winds",
            createdBy: company.mia, createdAt: world.now, updatedAt: world.now)
        let membership = ChannelMembership(
            joinedAt: world.now, lastRead: 0, unread: 0, mentions: 0, notifications: .all)
        #expect(
            made == ChannelListing(channel: channel, memberCount: 1, lastMessage: 0, membership: membership))
        #expect(try await world.listing(of: channel.id, for: company.mia) == made)
        // Of a private one nobody else learns, of a public one guests do not.
        let told = [company.mia, company.olga, company.gus]
        for (user, isTold) in zip(told, [true, kind == .public, false]) {
            #expect(
                try await world.missed(by: user, in: company.workspace, after: before)
                    == (isTold ? [.channelCreated] : []))
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a channel that may not be made is not made`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let rows: [(ChannelKind, String, UserID, String)] = [
            (.direct, "crew", company.mia, "invalid_kind"), (.group, "crew", company.mia, "invalid_kind"),
            (.public, "two words", company.mia, "invalid_name"), (.public, "crew", company.gus, "role_required"),
            (.private, "crew", company.gus, "role_required"), (.public, "crew", company.zoe, "workspace_not_found"),
            (.public, "General", company.mia, "name_taken"), (.private, "general", company.mia, "name_taken"),
        ]
        let before = try await world.sequence(of: company.workspace)
        for (kind, name, user, code) in rows {
            let refusal = try await world.refusal {
                try $0.createChannel(kind, name: name, in: company.workspace, by: user)
            }
            #expect(refusal == code)
        }
        #expect(try await world.sequence(of: company.workspace) == before)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a name is taken in one workspace, also by what is archived`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, in: company)
        _ = try await world.run { try $0.setArchived(true, crew, by: company.mia) }
        let again = try await world.refusal {
            try $0.createChannel(.public, name: "CREW", in: company.workspace, by: company.olga)
        }
        #expect(again == "name_taken")
        let other = try await world.run { try $0.createWorkspace(name: "Other", slug: nil, by: company.zoe).listing }
        _ = try await world.run { try $0.createChannel(.public, name: "crew", in: other.workspace.id, by: company.zoe) }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a name that is refused by now stays with the channel that has it, and finds it`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, in: company)
        let name = "crew\u{200D}"
        try await world.run { chat in
            try chat.session.run("UPDATE channels SET name = $2 WHERE id = $1", .id(crew), .text(name))
        }
        let listing = try await world.run {
            try $0.changeChannel(crew, .init(name: name, topic: "Ropes"), by: company.mia)
        }
        #expect(listing.channel.name == name && listing.channel.topic == "Ropes")
        #expect(try await world.look { try $0.channel(named: name, in: company.workspace) } == crew)
        let refusal = try await world.refusal {
            try $0.createChannel(.public, name: "general\u{200D}", in: company.workspace, by: company.mia)
        }
        #expect(refusal == "invalid_name")
    }

    @Test(arguments: TestDatabase.allCases)
    func `a workspace has as many channels as it may have`(database: TestDatabase) async throws {
        var limits = Limits()
        limits.channelsOfWorkspace = 2
        let world = try await ChatWorld(database, limits: limits)
        let company = try await world.company()
        // Conversations are none of them.
        _ = try await world.run { try $0.openDirect(with: [company.mia], in: company.workspace, by: company.olga) }
        _ = try await world.channel("crew", of: company.mia, in: company)
        let refusal = try await world.refusal {
            try $0.createChannel(.public, name: "deck", in: company.workspace, by: company.olga)
        }
        #expect(refusal == "too_many_channels")
        _ = try await world.run { try $0.openDirect(with: [company.adam], in: company.workspace, by: company.olga) }
    }

    @Test(arguments: TestDatabase.allCases)
    func `somebody begins as many conversations as they may, and others as before`(
        database: TestDatabase
    ) async throws {
        var limits = Limits()
        limits.conversationsOfPerson = 2
        let world = try await ChatWorld(database, limits: limits)
        let company = try await world.company()
        let (workspace, olga, adam, mia) = (company.workspace, company.olga, company.adam, company.mia)
        for people in [[mia], [adam]] {
            _ = try await world.run { try $0.openDirect(with: people, in: workspace, by: olga) }
        }
        let refusal = try await world.refusal { try $0.openDirect(with: [adam, mia], in: workspace, by: olga) }
        #expect(refusal == "too_many_conversations")
        // What is there is found, and others are let begin.
        #expect(try await world.run { try $0.openDirect(with: [mia], in: workspace, by: olga).isNew } == false)
        #expect(try await world.run { try $0.openDirect(with: [olga, adam], in: workspace, by: mia).isNew })
        _ = try await world.channel("crew", of: olga, in: company)
    }

    // MARK: Direct and group messages

    @Test(arguments: TestDatabase.allCases)
    func `the same people find the same conversation`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let before = try await world.sequence(of: company.workspace)
        let (made, isNew) = try await world.run {
            try $0.openDirect(with: [company.olga], in: company.workspace, by: company.mia)
        }
        #expect(isNew && made.channel.kind == .direct && made.channel.name == nil)
        #expect(made.channel.userIDs == [company.olga, company.mia] && made.memberCount == 2)
        let (found, isFoundNew) = try await world.run {
            try $0.openDirect(with: [company.mia, company.olga, company.mia], in: company.workspace, by: company.olga)
        }
        #expect(!isFoundNew && found.channel == made.channel)
        for (user, kinds) in [(company.olga, [ChatChange.Kind.channelCreated]), (company.adam, [])] {
            #expect(try await world.missed(by: user, in: company.workspace, after: before) == kinds)
        }
        await #expect(throws: Self.absent) {
            try await world.look { try $0.channel(made.channel.id, for: company.adam) }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `there are notes to oneself, and groups of up to nine`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        var people: [UserID] = []
        for number in 0..<9 { people.append(try await world.member("p\(number)", of: company)) }
        let everybody = people
        let notes = try await world.run {
            try $0.openDirect(with: [], in: company.workspace, by: company.mia).listing
        }
        #expect(notes.channel.kind == .direct && notes.channel.userIDs == [company.mia] && notes.memberCount == 1)
        let group = try await world.run {
            try $0.openDirect(with: Array(everybody.prefix(8)), in: company.workspace, by: company.mia).listing
        }
        #expect(group.channel.kind == .group && group.memberCount == 9)
        #expect(group.channel.userIDs == [company.mia] + everybody.prefix(8))
        let refusal = try await world.refusal {
            try $0.openDirect(with: everybody, in: company.workspace, by: company.mia)
        }
        #expect(refusal == "invalid_user_ids")
    }

    @Test(arguments: TestDatabase.allCases)
    func `nobody writes to who is not there for them`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let gone = try await world.member("gone", of: company)
        try await world.run { try $0.deactivate(gone) }
        let rows: [(UserID, UserID, String?)] = [
            (company.zoe, company.mia, "user_not_found"), (gone, company.mia, "user_not_found"),
            (UserID(company.workspace.uuid), company.mia, "user_not_found"),
            (company.mia, company.zoe, "workspace_not_found"),
            // A guest to whom they share no channel with; members to any guest.
            (company.mia, company.gus, "user_not_found"), (company.gus, company.olga, nil),
        ]
        for (person, user, code) in rows {
            let refusal = try await world.refusal {
                try $0.openDirect(with: [person], in: company.workspace, by: user)
            }
            #expect(refusal == code)
        }
        try await world.run { try $0.add(company.gus, to: company.general, by: company.mia) }
        #expect(
            try await world.refusal { try $0.openDirect(with: [company.mia], in: company.workspace, by: company.gus) }
                == nil)
    }

    // MARK: Changing them

    @Test(arguments: TestDatabase.allCases)
    func `what is named of a channel changes, and everybody who sees it is told`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        try await world.run { try $0.add(company.gus, to: company.general, by: company.mia) }
        let former = try await world.listing(of: company.general, for: company.mia).channel
        let before = try await world.sequence(of: company.workspace)
        world.pass(.seconds(5))
        let changed = try await world.run {
            try $0.changeChannel(company.general, .init(topic: " Winds ", purpose: "Sailing"), by: company.mia)
        }
        var expected = former
        (expected.topic, expected.purpose) = ("Winds", "Sailing")
        (expected.updatedAt, expected.version) = (world.now, 2)
        #expect(changed.channel == expected)
        for user in [company.olga, company.gus] {
            #expect(try await world.missed(by: user, in: company.workspace, after: before) == [.channelUpdated])
        }
        let bare = try await world.run {
            try $0.changeChannel(company.general, .init(name: "Lobby", topic: ""), by: company.adam)
        }
        #expect((bare.channel.name, bare.channel.topic, bare.channel.purpose) == ("lobby", "", "Sailing"))
    }

    @Test(arguments: TestDatabase.allCases)
    func `who has seen another version changes nothing`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let general = company.general
        let first = try await world.run {
            try $0.changeChannel(general, .init(topic: "One"), ifVersion: 1, by: company.mia)
        }
        #expect(first.channel.version == 2)
        await #expect(throws: ChatError.outdated) {
            try await world.run { try $0.changeChannel(general, .init(topic: "Two"), ifVersion: 1, by: company.olga) }
        }
        #expect(try await world.listing(of: general, for: company.mia).channel.topic == "One")
        let second = try await world.run {
            try $0.changeChannel(general, .init(topic: "Two"), ifVersion: 2, by: company.olga)
        }
        #expect((second.channel.topic, second.channel.version) == ("Two", 3))
    }

    @Test(arguments: TestDatabase.allCases)
    func `a change of nothing is none, whoever asks`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        try await world.run { try $0.add(company.gus, to: company.general, by: company.mia) }
        let before = try await world.sequence(of: company.workspace)
        for user in [company.gus, company.mia] {
            _ = try? await world.run { try $0.changeChannel(company.general, .init(), by: user) }
        }
        #expect(try await world.listing(of: company.general, for: company.mia).channel.version == 1)
        #expect(try await world.sequence(of: company.workspace) == before)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a channel is renamed by who made it and by admins, to a name that is free`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, with: company.adam, company.gus, in: company)
        let rows: [(ChannelID, String, UserID, String?)] = [
            (crew, "a", company.mia, nil), (crew, "b", company.adam, nil), (crew, "B", company.adam, nil),
            (crew, "c", company.gus, "not_yours"), (crew, "c", company.olga, "channel_not_found"),
            (company.general, "c", company.mia, "not_yours"), (crew, "general", company.mia, "name_taken"),
            (crew, "not this", company.mia, "invalid_name"),
        ]
        for (channel, name, user, code) in rows {
            let refusal = try await world.refusal { try $0.changeChannel(channel, .init(name: name), by: user) }
            #expect(refusal == code, "\(name)")
        }
        let long = String(repeating: "x", count: 251)
        let topic = try await world.refusal { try $0.changeChannel(crew, .init(topic: long), by: company.mia) }
        let purpose = try await world.refusal { try $0.changeChannel(crew, .init(purpose: long), by: company.mia) }
        let guest = try await world.refusal { try $0.changeChannel(crew, .init(topic: "x"), by: company.gus) }
        #expect([topic, purpose, guest] == ["invalid_topic", "invalid_purpose", "role_required"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `an archived channel is read, and opened again by who may close it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", .public, of: company.mia, with: company.adam, in: company)
        let said = try await world.say("hello", in: crew, by: company.mia)
        #expect(try await world.refusal { try $0.setArchived(true, crew, by: company.olga) } == "not_in_channel")
        let archived = try await world.run { try $0.setArchived(true, crew, by: company.mia) }
        #expect(archived.channel.isArchived && archived.channel.version == 2)
        let refusals: [@Sendable (ChatTransaction) throws -> Void] = [
            { _ = try $0.send(.init(content: "more"), to: crew, by: company.mia) },
            { _ = try $0.edit(said.id, to: "less", by: company.mia) },
            { _ = try $0.react("👍", to: said.id, by: company.adam) },
            { _ = try $0.setPinned(true, said.id, by: company.mia) },
            { _ = try $0.changeChannel(crew, .init(topic: "x"), by: company.mia) },
            { _ = try $0.joinChannel(crew, by: company.olga) },
            { try $0.add(company.olga, to: crew, by: company.mia) },
            { _ = try $0.setArchived(true, crew, by: company.mia) },
        ]
        for body in refusals { #expect(try await world.refusal(of: body) == "channel_archived") }
        #expect(try await world.look { try $0.history(of: crew, .newest, for: company.olga) }.items == [said])
        let before = try await world.sequence(of: company.workspace)
        let open = try await world.run { try $0.setArchived(false, crew, by: company.adam) }
        #expect(!open.channel.isArchived && open.channel.version == 3)
        // What is open already is not opened.
        #expect(try await world.run { try $0.setArchived(false, crew, by: company.adam) }.channel.version == 3)
        #expect(try await world.missed(by: company.olga, in: company.workspace, after: before) == [.channelUpdated])
        try await world.say("more", in: crew, by: company.mia)
    }
}
