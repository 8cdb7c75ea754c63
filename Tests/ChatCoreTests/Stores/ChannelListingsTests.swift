import ChatModel
import Testing

@testable import ChatCore

/// What is unread, and who wants to know of it.
@Suite struct ChannelListingsTests {
    /// What somebody's list counts of a channel.
    private static func counts(of channel: ChannelID, for user: UserID, in world: ChatWorld) async throws -> [Int] {
        let membership = try #require(try await world.listing(of: channel, for: user).membership)
        return [membership.unread, membership.mentions]
    }

    // MARK: Lists

    @Test(arguments: TestDatabase.allCases)
    func `somebody's channels come by name, conversations last`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        for name in ["zoo", "équipe", "alpha"] { _ = try await world.channel(name, of: company.mia, in: company) }
        _ = try await world.channel("hidden", of: company.olga, in: company)
        let direct = try await world.run {
            try $0.openDirect(with: [company.olga], in: company.workspace, by: company.mia).listing
        }
        let listings = try await world.look { try $0.joinedChannels(of: company.workspace, for: company.mia) }
        #expect(listings.map(\.channel.name) == ["alpha", "general", "zoo", "équipe", nil])
        #expect(listings.last == direct)
        #expect(try await world.look { try $0.joinedChannels(of: company.workspace, for: company.gus) } == [])
        await #expect(throws: ChatError.notFound("workspace")) {
            try await world.look { try $0.joinedChannels(of: company.workspace, for: company.zoe) }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `public channels come in pages by name, to guests only those they are in`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        for name in ["zoo", "alpha", "crew"] {
            _ = try await world.channel(name, .public, of: company.mia, in: company)
        }
        _ = try await world.channel("hidden", of: company.adam, in: company)
        let first = try await world.look {
            try $0.publicChannels(of: company.workspace, for: company.adam, limit: 3)
        }
        let cursor = try #require(first.after)
        let second = try await world.look {
            try $0.publicChannels(of: company.workspace, for: company.adam, after: cursor, limit: 3)
        }
        #expect(first.items.map(\.channel.name) == ["alpha", "crew", "general"])
        #expect(first.items.map { $0.membership != nil } == [false, false, true])
        #expect(second.items.map(\.channel.name) == ["zoo"] && second.after == nil)
        #expect(try await world.look { try $0.publicChannels(of: company.workspace, for: company.gus) }.items == [])
        try await world.run { try $0.add(company.gus, to: company.general, by: company.mia) }
        #expect(
            try await world.look { try $0.publicChannels(of: company.workspace, for: company.gus) }.items
                .map(\.channel.name) == ["general"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `what is private is absent for who is not in it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, in: company)
        for user in [company.olga, company.gus, company.zoe] {
            let bodies: [@Sendable (ChatTransaction) throws -> Void] = [
                { _ = try $0.channel(crew, for: user) },
                { _ = try $0.people(in: crew, for: user) },
                { _ = try $0.history(of: crew, .newest, for: user) },
                { _ = try $0.pins(of: crew, for: user) },
                { _ = try $0.read(crew, upTo: 1, by: user) },
                { _ = try $0.setNotifications(.none, of: crew, by: user) },
                { _ = try $0.changeChannel(crew, .init(topic: "x"), by: user) },
                { _ = try $0.setArchived(true, crew, by: user) },
                { _ = try $0.send(.init(content: "x"), to: crew, by: user) },
                { try $0.add(user, to: crew, by: user) },
                { try $0.remove(company.mia, from: crew, by: user) },
                { try $0.leaveChannel(crew, by: user) },
            ]
            for body in bodies { #expect(try await world.refusal(of: body) == "channel_not_found") }
        }
    }

    // MARK: Unread

    @Test(arguments: TestDatabase.allCases)
    func `what others say is unread until it is read`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let general = company.general
        var said: [Message] = []
        for text in ["one", "two @mia", "three @channel", "four @olga"] {
            said.append(try await world.say(text, in: general, by: company.adam))
        }
        try await world.say("mine", in: general, by: company.mia)
        #expect(try await Self.counts(of: general, for: company.mia, in: world) == [4, 2])
        #expect(try await Self.counts(of: general, for: company.olga, in: world) == [5, 2])
        // One's own are never unread.
        #expect(try await Self.counts(of: general, for: company.adam, in: world) == [1, 0])
        for (message, left) in zip(said, [[3, 2], [2, 1], [1, 0], [0, 0]]) {
            let mark = try await world.run { try $0.read(general, upTo: message.sequence, by: company.mia) }
            #expect(mark == ReadMark(channelID: general, lastRead: message.sequence))
            #expect(try await Self.counts(of: general, for: company.mia, in: world) == left)
        }
        // Back, to find it unread again.
        let back = said[0].sequence
        _ = try await world.run { try $0.read(general, upTo: back, by: company.mia) }
        #expect(try await Self.counts(of: general, for: company.mia, in: world) == [3, 2])
        #expect(try await Self.counts(of: general, for: company.olga, in: world) == [5, 2])
    }

    @Test(arguments: TestDatabase.allCases)
    func `whom @here calls are those who were there`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (general, adam, mia, olga) = (company.general, company.adam, company.mia, company.olga)
        let message = try await world.run {
            try $0.send(
                .init(content: "@here and @olga", peopleHere: [adam, olga, mia, company.zoe]), to: general, by: adam
            ).message
        }
        #expect(message.mentions == Mentions(userIDs: [olga], isHere: true))
        #expect(try await Self.counts(of: general, for: mia, in: world) == [1, 1])
        #expect(try await Self.counts(of: general, for: olga, in: world) == [1, 1])
        #expect(try await world.look { try $0.badge(of: mia) } == 1)
        // Who came later has something to read, and was not called.
        let late = try await world.member("lea", of: company)
        _ = try await world.run { try $0.read(general, upTo: 0, by: late) }
        #expect(try await Self.counts(of: general, for: late, in: world) == [1, 0])
        #expect(try await world.look { try $0.badge(of: late) } == 0)
        // An edit calls nobody anew, unless it says @here for the first time. Who was named was there, too.
        let edited = try await world.run { try $0.edit(message.id, to: "@here", peopleHere: [late], by: adam) }
        #expect(edited.mentions == Mentions(isHere: true))
        #expect(try await Self.counts(of: general, for: mia, in: world) == [1, 1])
        #expect(try await Self.counts(of: general, for: olga, in: world) == [1, 1])
        #expect(try await Self.counts(of: general, for: late, in: world) == [1, 0])
        _ = try await world.run { try $0.edit(message.id, to: "no more", by: adam) }
        #expect(try await Self.counts(of: general, for: mia, in: world) == [1, 0])
        _ = try await world.run { try $0.edit(message.id, to: "@here", peopleHere: [late], by: adam) }
        #expect(try await Self.counts(of: general, for: mia, in: world) == [1, 0])
        #expect(try await Self.counts(of: general, for: late, in: world) == [1, 1])
    }

    @Test(arguments: TestDatabase.allCases)
    func `who is named and was not there is called no longer when the name goes`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (general, adam, mia, olga) = (company.general, company.adam, company.mia, company.olga)
        let message = try await world.run {
            try $0.send(.init(content: "@here and @olga", peopleHere: [mia]), to: general, by: adam).message
        }
        #expect(try await Self.counts(of: general, for: olga, in: world) == [1, 1])
        let named = try await world.run { try $0.edit(message.id, to: "@here, @olga and @mia", by: adam) }
        #expect(named.mentions == Mentions(userIDs: [olga, mia], isHere: true))
        #expect(try await world.look { try $0.badge(of: mia) } == 1)
        let edited = try await world.run { try $0.edit(message.id, to: "@here", peopleHere: [olga], by: adam) }
        #expect(edited.mentions == Mentions(isHere: true))
        #expect(try await Self.counts(of: general, for: olga, in: world) == [1, 0])
        #expect(try await Self.counts(of: general, for: mia, in: world) == [1, 1])
    }

    /// Of those nobody knows who was there: they called everybody.
    @Test(arguments: TestDatabase.allCases)
    func `an @here of an older server that is not read stays a mention`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (general, adam, mia, olga) = (company.general, company.adam, company.mia, company.olga)
        let read = try await world.say("@here", in: general, by: adam)
        _ = try await world.run { try $0.read(general, upTo: read.sequence, by: mia) }
        let named = try await world.say("@here and @olga", in: general, by: adam)
        let gone = try await world.say("@here", in: general, by: adam)
        let root = try await world.say("@here and @channel", in: general, by: adam)
        try await world.say("@here", in: general, by: adam, thread: root.id)
        try await world.run { chat in
            try chat.delete(gone.id, by: adam)
            try chat.session.run("ALTER TABLE mentions DROP COLUMN by_here")
            try chat.session.run("DELETE FROM schema_steps WHERE name = 'mentions_by_here'")
            try Schema.take(try Schema.missingSteps(of: chat.session), of: chat.session, at: chat.now)
        }
        for (user, expected) in [(mia, [2, 2]), (olga, [3, 3]), (adam, [0, 0])] {
            #expect(try await Self.counts(of: general, for: user, in: world) == expected)
            #expect(try await world.look { try $0.badge(of: user) } == expected[1])
        }
        #expect(
            try await world.look { try $0.message(named.id, for: mia).mentions }
                == Mentions(userIDs: [olga], isHere: true))
        _ = try await world.run { try $0.edit(named.id, to: "@here", by: adam) }
        #expect(try await Self.counts(of: general, for: olga, in: world) == [3, 3])
    }

    @Test(arguments: TestDatabase.allCases)
    func `who names themselves is not called`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        try await world.say("I am @mia", in: company.general, by: company.mia)
        #expect(try await Self.counts(of: company.general, for: company.mia, in: world) == [0, 0])
    }

    @Test(arguments: TestDatabase.allCases)
    func `answers in threads are no part of what a channel counts`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let general = company.general
        let root = try await world.say("one", in: general, by: company.adam)
        try await world.say("answer", in: general, by: company.adam, thread: root.id)
        let named = try await world.say("@mia and @channel", in: general, by: company.adam, thread: root.id)
        let unread = try await world.listing(of: general, for: company.mia)
        #expect(unread.lastMessage == root.sequence && unread.membership?.unread == 1)
        // Whoever has read everything has nothing left to read.
        _ = try await world.run { try $0.read(general, upTo: named.sequence, by: company.mia) }
        #expect(try await Self.counts(of: general, for: company.mia, in: world) == [0, 0])
    }

    @Test(arguments: TestDatabase.allCases)
    func `a deleted message is not unread, and an edit calls whom it names`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let general = company.general
        let first = try await world.say("one @mia", in: general, by: company.adam)
        let second = try await world.say("two @channel", in: general, by: company.adam)
        #expect(try await Self.counts(of: general, for: company.mia, in: world) == [2, 2])
        try await world.run { try $0.delete(second.id, by: company.adam) }
        #expect(try await Self.counts(of: general, for: company.mia, in: world) == [1, 1])
        try await world.run { _ = try $0.edit(first.id, to: "one @olga", by: company.adam) }
        #expect(try await Self.counts(of: general, for: company.mia, in: world) == [1, 0])
        #expect(try await Self.counts(of: general, for: company.olga, in: world) == [1, 1])
        try await world.run { try $0.delete(first.id, by: company.adam) }
        #expect(try await Self.counts(of: general, for: company.olga, in: world) == [0, 0])
    }

    @Test(arguments: TestDatabase.allCases)
    func `counting ends at a thousand`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let general = company.general
        try await world.run { transaction in
            for _ in 0...ChannelMembership.unreadLimit {
                _ = try transaction.send(.init(content: "@channel"), to: general, by: company.adam)
            }
        }
        #expect(try await Self.counts(of: general, for: company.mia, in: world) == [1_000, 1_000])
    }

    // MARK: Marks

    @Test(arguments: TestDatabase.allCases)
    func `a mark is told once, and goes no further than the newest message`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let general = company.general
        let said = try await world.say("one", in: general, by: company.adam)
        let mark = ReadMark(channelID: general, lastRead: said.sequence)
        #expect(try await world.run { try $0.read(general, upTo: .max, by: company.mia) } == mark)
        #expect(try await world.run { try $0.read(general, upTo: said.sequence, by: company.mia) } == nil)
        #expect(try await world.run { try $0.read(general, upTo: .max, by: company.mia) } == nil)
        let crew = try await world.channel("crew", of: company.mia, in: company)
        #expect(
            try await world.look { try $0.readMarks(of: company.mia, in: company.workspace) }
                == [mark, ReadMark(channelID: crew, lastRead: 0)])
        // Nobody else learns how far somebody has read.
        let before = try await world.sequence(of: company.workspace)
        _ = try await world.run { try $0.read(general, upTo: 0, by: company.mia) }
        #expect(try await world.sequence(of: company.workspace) == before)
    }

    @Test(arguments: TestDatabase.allCases)
    func `who only looks at a channel has no mark and no level in it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", .public, of: company.mia, in: company)
        #expect(try await world.refusal { try $0.read(crew, upTo: 1, by: company.adam) } == "not_in_channel")
        #expect(
            try await world.refusal { try $0.setNotifications(.all, of: crew, by: company.adam) } == "not_in_channel")
        #expect(try await world.refusal { try $0.read(crew, upTo: -1, by: company.mia) } == "invalid_last_read")
    }

    @Test(arguments: TestDatabase.allCases)
    func `everybody has a level of notifications of their own`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let general = company.general
        for level in [NotificationLevel.mentions, .none, .all] {
            try await world.run { try $0.setNotifications(level, of: general, by: company.mia) }
            #expect(try await world.listing(of: general, for: company.mia).membership?.notifications == level)
            #expect(try await world.listing(of: general, for: company.olga).membership?.notifications == .all)
        }
    }
}
