import ChatModel
import Testing

@testable import ChatCore

@Suite struct ReactionsAndPinsTests {
    // MARK: Reactions

    @Test(arguments: TestDatabase.allCases)
    func `people answer a message with emoji, each once with each`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let message = try await world.say("hello", in: company.general, by: company.mia)
        let before = try await world.sequence(of: company.workspace)
        for (emoji, user) in [
            ("👍", company.olga), (":ok:", company.olga), ("👍", company.mia), ("👍", company.olga),
        ] {
            world.pass(.seconds(1))
            _ = try await world.run { try $0.react(emoji, to: message.id, by: user) }
        }
        var expected = message
        expected.reactions = [
            Reaction(emoji: "👍", userIDs: [company.olga, company.mia]),
            Reaction(emoji: ":ok:", userIDs: [company.olga]),
        ]
        #expect(try await world.look { try $0.message(message.id, for: company.adam) } == expected)
        #expect(
            try await world.missed(by: company.adam, in: company.workspace, after: before)
                == [.reactionAdded, .reactionAdded, .reactionAdded])
    }

    @Test(arguments: TestDatabase.allCases)
    func `one takes back one's own, and everybody learns what is left`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let message = try await world.say("hello", in: company.general, by: company.mia)
        for user in [company.olga, company.mia] {
            _ = try await world.run { try $0.react("👍", to: message.id, by: user) }
            world.pass(.seconds(1))
        }
        let before = try await world.sequence(of: company.workspace)
        let left = try await world.run { try $0.unreact("👍", to: message.id, by: company.olga) }
        #expect(left.reactions == [Reaction(emoji: "👍", userIDs: [company.mia])])
        // Nobody takes back what is another's, or what there is not.
        #expect(try await world.run { try $0.unreact("👍", to: message.id, by: company.adam) } == left)
        #expect(try await world.run { try $0.unreact("👎", to: message.id, by: company.mia) } == left)
        #expect(try await world.run { try $0.unreact("👍", to: message.id, by: company.mia) } == message)
        let events = try await world.look { try $0.events(of: company.workspace, after: before) }
        let changes = try events.map { try EventsTests.event($0).change }
        let expected = [(company.olga, [company.mia]), (company.mia, [])].map { user, left in
            ChatChange.reactionRemoved(
                ReactionChange(
                    messageID: message.id, channelID: company.general, userID: user,
                    reaction: Reaction(emoji: "👍", userIDs: left)))
        }
        #expect(changes == expected)
    }

    @Test(arguments: TestDatabase.allCases)
    func `emoji that look the same are one, and those of before can be taken back`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, adam, mia) = (company.olga, company.adam, company.mia)
        let message = try await world.say("hello", in: company.general, by: mia)
        let (bare, whole) = ("❤", "❤\u{FE0F}")
        _ = try await world.run { try $0.react(bare, to: message.id, by: olga) }
        world.pass(.seconds(1))
        let both = try await world.run { try $0.react(whole, to: message.id, by: mia) }
        #expect(both.reactions == [Reaction(emoji: whole, userIDs: [olga, mia])])

        // As a version before has kept them.
        for (form, user) in [(bare, adam), (bare, mia), ("👍\u{E0061}", adam)] {
            world.pass(.seconds(1))
            try await world.run {
                try $0.session.run(
                    "INSERT INTO reactions (message_id, emoji, user_id, created_at) VALUES ($1, $2, $3, $4)",
                    .id(message.id), .text(form), .id(user), .time($0.now))
            }
        }
        let all = try await world.look { try $0.message(message.id, for: mia) }
        #expect(
            all.reactions == [
                Reaction(emoji: whole, userIDs: [olga, mia, adam]), Reaction(emoji: "👍\u{E0061}", userIDs: [adam]),
            ])
        let before = try await world.sequence(of: company.workspace)
        #expect(try await world.run { try $0.react(whole, to: message.id, by: adam) } == all)
        _ = try await world.run { try $0.unreact("👍\u{E0061}", to: message.id, by: adam) }
        let left = try await world.run { try $0.unreact(whole, to: message.id, by: mia) }
        #expect(left.reactions == [Reaction(emoji: whole, userIDs: [olga, adam])])
        #expect(try await world.run { try $0.unreact(bare, to: message.id, by: olga) }.reactions.map(\.count) == [1])
        #expect(try await world.run { try $0.unreact(whole, to: message.id, by: adam) }.reactions == [])
        #expect(
            try await world.missed(by: olga, in: company.workspace, after: before)
                == [.reactionRemoved, .reactionRemoved, .reactionRemoved, .reactionRemoved])
        #expect(try await world.count("reactions") == 0)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a message has as many emoji as it may have`(database: TestDatabase) async throws {
        var limits = Limits()
        limits.emojiOfMessage = 2
        let world = try await ChatWorld(database, limits: limits)
        let company = try await world.company()
        let message = try await world.say("hello", in: company.general, by: company.mia)
        let rows: [(String, UserID, String?)] = [
            ("👍", company.mia, nil), ("👎", company.mia, nil), ("🎉", company.mia, "too_many_emoji"),
            ("👍", company.olga, nil), ("hello", company.olga, "invalid_emoji"),
            ("👍", company.gus, "message_not_found"), ("👍", company.zoe, "message_not_found"),
        ]
        for (emoji, user, code) in rows {
            #expect(try await world.refusal { try $0.react(emoji, to: message.id, by: user) } == code)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `who only looks at a channel answers nothing in it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", .public, of: company.mia, in: company)
        let message = try await world.say("hello", in: crew, by: company.mia)
        let bodies: [@Sendable (ChatTransaction) throws -> Void] = [
            { _ = try $0.react("👍", to: message.id, by: company.olga) },
            { _ = try $0.unreact("👍", to: message.id, by: company.olga) },
            { _ = try $0.setPinned(true, message.id, by: company.olga) },
            { try $0.delete(message.id, by: company.olga) },
        ]
        for body in bodies { #expect(try await world.refusal(of: body) == "not_in_channel") }
        #expect(try await world.look { try $0.message(message.id, for: company.olga) } == message)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a message of what somebody cannot see is absent`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, in: company)
        let message = try await world.say("hello", in: crew, by: company.mia)
        for user in [company.olga, company.gus, company.zoe] {
            let bodies: [@Sendable (ChatTransaction) throws -> Void] = [
                { _ = try $0.message(message.id, for: user) },
                { _ = try $0.replies(to: message.id, .newest, for: user) },
                { _ = try $0.edit(message.id, to: "x", by: user) },
                { try $0.delete(message.id, by: user) },
                { _ = try $0.react("👍", to: message.id, by: user) },
                { _ = try $0.unreact("👍", to: message.id, by: user) },
                { _ = try $0.setPinned(true, message.id, by: user) },
                { _ = try $0.message(MessageID(crew.uuid), for: user) },
            ]
            for body in bodies { #expect(try await world.refusal(of: body) == "message_not_found") }
        }
    }

    // MARK: Pins

    @Test(arguments: TestDatabase.allCases)
    func `a channel keeps its pins, the latest first`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, with: company.gus, in: company)
        var said: [Message] = []
        for text in ["one", "two", "three"] { said.append(try await world.say(text, in: crew, by: company.mia)) }
        let (one, two, three) = (said[0], said[1], said[2])
        let before = try await world.sequence(of: company.workspace)
        for message in [three, one, two] {
            world.pass(.seconds(1))
            let pinned = try await world.run { try $0.setPinned(true, message.id, by: company.gus) }
            #expect(pinned.pinnedAt == world.now && pinned.version == 1)
        }
        // Again is the same as once.
        world.pass(.seconds(1))
        _ = try await world.run { try $0.setPinned(true, three.id, by: company.mia) }
        #expect(
            try await world.look { try $0.pins(of: crew, for: company.mia) }.map(\.id) == [two.id, one.id, three.id])
        #expect(try await world.run { try $0.setPinned(false, one.id, by: company.mia) } == one)
        #expect(try await world.run { try $0.setPinned(false, one.id, by: company.mia) } == one)
        #expect(try await world.look { try $0.pins(of: crew, for: company.gus) }.map(\.id) == [two.id, three.id])
        #expect(
            try await world.missed(by: company.gus, in: company.workspace, after: before)
                == [.messagePinned, .messagePinned, .messagePinned, .messageUnpinned])
    }

    @Test(arguments: TestDatabase.allCases)
    func `a channel has as many pins as it may have`(database: TestDatabase) async throws {
        var limits = Limits()
        limits.pinsOfChannel = 2
        let world = try await ChatWorld(database, limits: limits)
        let company = try await world.company()
        var said: [Message] = []
        for text in ["one", "two", "three"] {
            said.append(try await world.say(text, in: company.general, by: company.mia))
        }
        let (one, three) = (said[0].id, said[2].id)
        for message in said.prefix(2) {
            _ = try await world.run { try $0.setPinned(true, message.id, by: company.mia) }
        }
        #expect(try await world.refusal { try $0.setPinned(true, three, by: company.mia) } == "too_many_pins")
        // What is pinned already is no more than there was, and what is deleted is pinned no more.
        #expect(try await world.refusal { try $0.setPinned(true, one, by: company.mia) } == nil)
        try await world.run { try $0.delete(one, by: company.mia) }
        #expect(try await world.refusal { try $0.setPinned(true, three, by: company.mia) } == nil)
    }
}
