import ChatModel
import Testing

@testable import ChatCore

/// Who is in a channel.
@Suite struct ComingAndGoingTests {
    @Test(arguments: TestDatabase.allCases)
    func `members find and join a public channel, and what was said before is no news`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", .public, of: company.mia, in: company)
        let said = try await world.say("hello @channel", in: crew, by: company.mia)
        #expect(try await world.listing(of: crew, for: company.adam).membership == nil)
        let before = try await world.sequence(of: company.workspace)
        let joined = try await world.run { try $0.joinChannel(crew, by: company.adam) }
        #expect(
            joined.membership
                == ChannelMembership(
                    joinedAt: world.now, lastRead: said.sequence, unread: 0, mentions: 0, notifications: .all))
        #expect(joined.memberCount == 2)
        // Again is the same as once.
        #expect(try await world.run { try $0.joinChannel(crew, by: company.adam) } == joined)
        for (user, kinds) in [
            (company.mia, [ChatChange.Kind.channelJoined]), (company.adam, [.channelJoined]), (company.olga, []),
        ] {
            #expect(try await world.missed(by: user, in: company.workspace, after: before) == kinds)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `nobody joins what they cannot see, and guests nothing`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let secret = try await world.channel("secret", of: company.mia, in: company)
        let direct = try await world.run {
            try $0.openDirect(with: [company.adam], in: company.workspace, by: company.mia).listing.channel.id
        }
        let nowhere = ChannelID(company.workspace.uuid)
        for (channel, user) in [
            (secret, company.olga), (direct, company.olga), (company.general, company.gus),
            (company.general, company.zoe), (nowhere, company.olga),
        ] {
            await #expect(throws: ChatError.notFound("channel")) {
                try await world.run { try $0.joinChannel(channel, by: user) }
            }
        }
        #expect(try await world.refusal { try $0.joinChannel(direct, by: company.mia) } == "direct_message")
        try await world.run { try $0.add(company.gus, to: company.general, by: company.mia) }
        #expect(try await world.refusal { try $0.joinChannel(company.general, by: company.gus) } == "role_required")
    }

    @Test(arguments: TestDatabase.allCases)
    func `who leaves is told, and so are those who stay`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, with: company.adam, in: company)
        let before = try await world.sequence(of: company.workspace)
        try await world.run { try $0.leaveChannel(crew, by: company.adam) }
        for user in [company.mia, company.adam] {
            #expect(try await world.missed(by: user, in: company.workspace, after: before) == [.channelLeft])
        }
        #expect(try await world.missed(by: company.olga, in: company.workspace, after: before) == [])
        await #expect(throws: ChatError.notFound("channel")) {
            try await world.look { try $0.channel(crew, for: company.adam) }
        }
        #expect(try await world.listing(of: crew, for: company.mia).memberCount == 1)
        #expect(try await world.refusal { try $0.leaveChannel(crew, by: company.adam) } == "channel_not_found")
        // A public one they still see.
        try await world.run { try $0.leaveChannel(company.general, by: company.adam) }
        #expect(try await world.listing(of: company.general, for: company.adam).membership == nil)
        #expect(try await world.refusal { try $0.leaveChannel(company.general, by: company.adam) } == "not_in_channel")
    }

    @Test(arguments: TestDatabase.allCases, [false, true])
    func `a private channel is archived with whoever goes last, and a public one stays open`(
        database: TestDatabase, isRemoved: Bool
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, with: company.adam, in: company)
        let open = try await world.channel("open", .public, of: company.mia, in: company)
        try await world.say("for later", in: crew, by: company.mia)
        let call = try await world.run {
            try $0.startCall(.init(kind: .room, media: .video, room: "call-1"), in: crew, by: company.mia).call
        }
        @Sendable func isArchived(_ channel: ChannelID) async throws -> Bool {
            try await world.look { try $0.channel(channel).isArchived }
        }
        try await world.run { try $0.leaveChannel(crew, by: company.adam) }
        #expect(try await !isArchived(crew))
        let before = try await world.sequence(of: company.workspace)
        try await world.run { chat in
            if isRemoved {
                try chat.removeMember(company.mia, from: company.workspace, by: company.olga)
            } else {
                for channel in [crew, open] { try chat.leaveChannel(channel, by: company.mia) }
            }
        }
        #expect(try await isArchived(crew))
        #expect(try await !isArchived(open))
        #expect(try await world.look { try $0.call(call.id).endedAt } == world.now)
        // Nobody who is there hears of it; the name stays taken, as of all that are archived.
        let missed = try await world.missed(by: company.adam, in: company.workspace, after: before)
        #expect(missed?.contains(.channelUpdated) == false)
        #expect(
            try await world.refusal {
                try $0.createChannel(.private, name: "crew", in: company.workspace, by: company.olga)
            } == "name_taken")
    }

    @Test(arguments: TestDatabase.allCases)
    func `of a private channel only who has left the server is no reason to keep it open`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, with: company.adam, in: company)
        try await world.run { try $0.deactivate(company.adam) }
        #expect(try await world.look { try !$0.channel(crew).isArchived })
        try await world.run { try $0.leaveChannel(crew, by: company.mia) }
        #expect(try await world.look { try $0.channel(crew).isArchived })
    }

    @Test(arguments: TestDatabase.allCases)
    func `nobody leaves a conversation that is named by who is in it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let direct = try await world.run {
            try $0.openDirect(with: [company.adam], in: company.workspace, by: company.mia).listing.channel.id
        }
        let bodies: [@Sendable (ChatTransaction) throws -> Void] = [
            { try $0.leaveChannel(direct, by: company.mia) },
            { try $0.add(company.olga, to: direct, by: company.mia) },
            { try $0.remove(company.adam, from: direct, by: company.mia) },
            { try $0.remove(company.mia, from: direct, by: company.mia) },
            { _ = try $0.changeChannel(direct, .init(name: "us"), by: company.mia) },
            { _ = try $0.changeChannel(direct, .init(topic: "us"), by: company.mia) },
            { _ = try $0.setArchived(true, direct, by: company.mia) },
        ]
        for body in bodies { #expect(try await world.refusal(of: body) == "direct_message") }
    }

    @Test(arguments: TestDatabase.allCases)
    func `who is in a channel brings others in`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, with: company.gus, in: company)
        let gone = try await world.member("gone", of: company)
        try await world.run { try $0.deactivate(gone) }
        let before = try await world.sequence(of: company.workspace)
        let rows: [(UserID, UserID, String?)] = [
            (company.adam, company.mia, nil), (company.adam, company.mia, nil),
            (company.olga, company.gus, "role_required"), (company.olga, company.olga, "channel_not_found"),
            (company.zoe, company.mia, "user_not_found"), (gone, company.mia, "user_not_found"),
        ]
        for (person, user, code) in rows {
            #expect(try await world.refusal { try $0.add(person, to: crew, by: user) } == code)
        }
        // Who was in it already is not brought in again.
        #expect(try await world.missed(by: company.adam, in: company.workspace, after: before) == [.channelJoined])
        let people = try await world.look { try $0.people(in: crew, for: company.gus) }
        #expect(people.items.map(\.username) == ["adam", "gus", "mia"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `who made a channel and admins take others out`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let ben = try await world.member("ben", of: company)
        let crew = try await world.channel(
            "crew", of: company.mia, with: company.adam, company.gus, ben, in: company)
        let before = try await world.sequence(of: company.workspace)
        let rows: [(UserID, UserID, String?)] = [
            (company.gus, ben, "not_yours"), (company.adam, company.gus, "not_yours"),
            (company.gus, company.olga, "channel_not_found"), (company.olga, company.mia, "user_not_found"),
            (company.gus, company.mia, nil), (company.mia, company.adam, nil),
            (company.mia, company.adam, "user_not_found"),
            (ben, ben, nil),
        ]
        for (person, user, code) in rows {
            #expect(try await world.refusal { try $0.remove(person, from: crew, by: user) } == code)
        }
        #expect(try await world.look { try $0.people(in: crew, for: company.adam) }.items.map(\.username) == ["adam"])
        #expect(try await world.missed(by: company.gus, in: company.workspace, after: before) == [.channelLeft])
    }

    @Test(arguments: TestDatabase.allCases)
    func `who is in a channel comes by username, in pages`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let first = try await world.look { try $0.people(in: company.general, for: company.mia, limit: 2) }
        let cursor = try #require(first.after)
        let second = try await world.look {
            try $0.people(in: company.general, for: company.mia, after: cursor, limit: 2)
        }
        #expect(first.items.map(\.username) == ["adam", "mia"] && second.items.map(\.username) == ["olga"])
        #expect(second.after == nil)
        let wrong = try await world.refusal {
            try $0.people(in: company.general, for: company.mia, after: Cursor("s1"))
        }
        #expect(wrong == "invalid_cursor")
        await #expect(throws: ChatError.notFound("channel")) {
            try await world.look { try $0.people(in: company.general, for: company.gus) }
        }
    }
}
