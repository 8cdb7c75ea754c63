import ChatModel
import Testing

@testable import ChatCore

/// Writing, editing and deleting.
@Suite struct MessagesTests {
    @Test(arguments: TestDatabase.allCases)
    func `what is sent is what is read`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let before = try await world.sequence(of: company.workspace)
        let text = " Hello @olga, @ADAM, @zoe, @gus and @here \n"
        let message = try await world.say(text, in: company.general, by: company.mia)
        #expect(
            message
                == Message(
                    id: message.id, workspaceID: company.workspace, channelID: company.general,
                    user: try await world.profile(of: company.mia), content: text, sequence: before + 1,
                    createdAt: world.now, mentions: Mentions(userIDs: [company.olga, company.adam], isHere: true)))
        #expect(try await world.look { try $0.message(message.id, for: company.adam) } == message)
        #expect(try await world.listing(of: company.general, for: company.mia).lastMessage == message.sequence)
    }

    @Test(arguments: TestDatabase.allCases)
    func `sends a message once however often the client sends it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let new = ChatTransaction.NewMessage(content: "hello", clientID: "c-1")
        let first = try await world.run { try $0.send(new, to: company.general, by: company.mia) }
        #expect(first.isNew && first.message.clientID == "c-1")
        let before = try await world.sequence(of: company.workspace)
        world.pass(.seconds(60))
        let again = try await world.run {
            try $0.send(.init(content: "other words", clientID: "c-1"), to: company.general, by: company.mia)
        }
        #expect(!again.isNew && again.message == first.message)
        #expect(try await world.sequence(of: company.workspace) == before)
        // The name is the client's own, and the channel's.
        let others = try await world.run { try $0.send(new, to: company.general, by: company.adam) }
        #expect(others.isNew && others.message.id != first.message.id)
        let crew = try await world.channel("crew", of: company.mia, in: company)
        #expect(try await world.run { try $0.send(new, to: crew, by: company.mia).isNew })
        let nameless = try await world.run { transaction in
            try (0..<2).map { _ in
                try transaction.send(.init(content: "hello"), to: company.general, by: company.mia).message.id
            }
        }
        #expect(Set(nameless).count == 2)
    }

    @Test(arguments: TestDatabase.allCases)
    func `what was sent and deleted is not sent again`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let new = ChatTransaction.NewMessage(content: "hello", clientID: "c-1")
        let first = try await world.run { try $0.send(new, to: company.general, by: company.mia).message }
        try await world.run { try $0.delete(first.id, by: company.mia) }
        let again = try await world.run { try $0.send(new, to: company.general, by: company.mia) }
        #expect(!again.isNew && again.message.id == first.id && again.message.content == "")
    }

    @Test(arguments: TestDatabase.allCases)
    func `what may not be sent is not sent`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", .public, of: company.mia, with: company.gus, in: company)
        let elsewhere = try await world.say("hello", in: company.general, by: company.mia)
        let rows: [(UserID, ChatTransaction.NewMessage, String)] = [
            (company.mia, .init(content: " \n"), "invalid_content"),
            (company.mia, .init(content: String(repeating: "x", count: 12_001)), "message_too_long"),
            (company.mia, .init(content: "x", clientID: ""), "invalid_client_id"),
            (company.mia, .init(content: "x", clientID: "a b"), "invalid_client_id"),
            (company.mia, .init(content: "x", clientID: "é"), "invalid_client_id"),
            (company.mia, .init(content: "x", clientID: String(repeating: "x", count: 65)), "invalid_client_id"),
            (company.mia, .init(content: "x", threadID: elsewhere.id), "thread_not_found"),
            (company.mia, .init(content: "x", threadID: MessageID(crew.uuid)), "thread_not_found"),
            (company.adam, .init(content: "x"), "not_in_channel"),
            (company.zoe, .init(content: "x"), "channel_not_found"),
            // Guests do not call everybody.
            (company.gus, .init(content: "@channel"), "role_required"),
            (company.gus, .init(content: "hello @here"), "role_required"),
        ]
        let before = try await world.sequence(of: company.workspace)
        for (user, new, code) in rows {
            #expect(try await world.refusal { try $0.send(new, to: crew, by: user) } == code)
        }
        #expect(try await world.sequence(of: company.workspace) == before)
        try await world.say("hello `@channel`", in: crew, by: company.gus)
    }

    // MARK: Threads

    @Test(arguments: TestDatabase.allCases)
    func `a message counts its answers, which are no messages of the channel's own`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let root = try await world.say("root", in: company.general, by: company.mia)
        let one = try await world.say("one", in: company.general, by: company.olga, thread: root.id)
        let two = try await world.say("two", in: company.general, by: company.mia, thread: root.id)
        var expected = root
        (expected.replyCount, expected.lastReplyAt) = (2, two.createdAt)
        #expect(try await world.look { try $0.message(root.id, for: company.mia) } == expected)
        #expect(
            try await world.look { try $0.history(of: company.general, .newest, for: company.mia) }.items == [expected])
        #expect(try await world.look { try $0.replies(to: root.id, .newest, for: company.mia) }.items == [one, two])
        let nested = try await world.refusal {
            try $0.send(.init(content: "x", threadID: one.id), to: company.general, by: company.mia)
        }
        #expect(nested == "invalid_thread_id")
        try await world.run { try $0.delete(two.id, by: company.mia) }
        (expected.replyCount, expected.lastReplyAt) = (1, one.createdAt)
        #expect(try await world.look { try $0.message(root.id, for: company.mia) } == expected)
        try await world.run { try $0.delete(one.id, by: company.adam) }
        #expect(try await world.look { try $0.message(root.id, for: company.mia) } == root)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a name that nobody has is for the one that it begins with`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (mia, general) = (company.mia, company.general)
        let ann = try await world.member("ann", of: company)
        let lee = try await world.member("ann.lee", of: company)
        let rows: [(String, [UserID])] = [
            ("@ann.Thanks", [ann]), ("_@ann_", [ann]), ("_look, @ann__", [ann]), ("wait...@ann", [ann]),
            ("@ann, and @ann.Thanks", [ann]), ("@ann.Lee", [lee]), ("@ann.lee_", [lee]), ("@ann.lee.Thanks", [lee]),
            ("bob@ann.org", []), ("@nobody.ann", []),
        ]
        for (text, people) in rows {
            #expect(try await world.say(text, in: general, by: mia).mentions.userIDs == people, "\(text)")
        }
        // Who has the name is meant by it, also where they are not to learn of it.
        let room = try await world.channel("room", of: mia, with: ann, in: company)
        #expect(try await world.say("@ann.lee", in: room, by: mia).mentions.userIDs == [])
        let other = try await world.member("ann_", of: company)
        #expect(try await world.say("_@ann_", in: general, by: mia).mentions.userIDs == [other])
    }

    // MARK: Editing

    @Test(arguments: TestDatabase.allCases)
    func `who wrote a message edits it, and nobody else`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let message = try await world.say("hello @olga", in: company.general, by: company.mia)
        let before = try await world.sequence(of: company.workspace)
        world.pass(.seconds(30))
        let edited = try await world.run { try $0.edit(message.id, to: "bye @adam", ifVersion: 1, by: company.mia) }
        var expected = message
        (expected.content, expected.editedAt, expected.version) = ("bye @adam", world.now, 2)
        expected.mentions = Mentions(userIDs: [company.adam])
        #expect(edited == expected)
        #expect(try await world.missed(by: company.olga, in: company.workspace, after: before) == [.messageEdited])
        let rows: [(String, Int64?, UserID, String)] = [
            ("x", nil, company.olga, "not_yours"), ("x", nil, company.adam, "not_yours"),
            ("x", nil, company.gus, "message_not_found"), ("x", nil, company.zoe, "message_not_found"),
            ("x", 1, company.mia, "outdated"), (" ", 2, company.mia, "invalid_content"),
        ]
        for (content, version, user, code) in rows {
            let refusal = try await world.refusal {
                try $0.edit(message.id, to: content, ifVersion: version, by: user)
            }
            #expect(refusal == code)
        }
        #expect(try await world.look { try $0.message(message.id, for: company.mia) } == expected)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a guest does not call everybody by an edit, and keeps a call that was allowed`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let message = try await world.say("hello @here", in: company.general, by: company.mia)
        _ = try await world.run {
            try $0.changeRole(of: company.mia, in: company.workspace, to: .guest, by: company.olga)
        }
        let refusal = try await world.refusal { try $0.edit(message.id, to: "@here @channel", by: company.mia) }
        #expect(refusal == "role_required")
        let edited = try await world.run { try $0.edit(message.id, to: "hello again @here", by: company.mia) }
        #expect(edited.mentions == Mentions(isHere: true))
    }

    // MARK: Deleting

    @Test(arguments: TestDatabase.allCases)
    func `what is deleted is gone from the log as well`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let message = try await world.say("secret words @olga", in: company.general, by: company.mia)
        _ = try await world.run {
            _ = try $0.edit(message.id, to: "secret again", by: company.mia)
            _ = try $0.setPinned(true, message.id, by: company.mia)
            return try $0.react("👍", to: message.id, by: company.olga)
        }
        let other = try await world.say("secret of another", in: company.general, by: company.mia)
        world.pass(.seconds(1))
        try await world.run { try $0.delete(message.id, by: company.mia) }
        let events = try await world.look { try $0.events(of: company.workspace, after: message.sequence - 1) }
        #expect(events.map(\.kind) == [.reactionAdded, .messageSent, .messageDeleted])
        #expect(events.filter { $0.data.contains("secret") }.map(\.sequence) == [other.sequence])
        let left = try await world.look { try $0.message(message.id, for: company.olga) }
        var expected = message
        (expected.content, expected.deletedAt, expected.version) = ("", world.now, 3)
        (expected.mentions, expected.editedAt) = (Mentions(), left.editedAt)
        #expect(left == expected)
        #expect(try await world.look { try $0.pins(of: company.general, for: company.olga) } == [])
        #expect(
            try await world.look { try $0.history(of: company.general, .newest, for: company.olga) }.items == [other])
    }

    @Test(arguments: TestDatabase.allCases)
    func `what is edited away is gone from the log as well`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let message = try await world.say("my password is tuna", in: company.general, by: company.mia)
        let other = try await world.say("tuna of another", in: company.general, by: company.mia)
        try await world.run {
            _ = try $0.setPinned(true, message.id, by: company.mia)
            _ = try $0.edit(message.id, to: "tuna, as I said", by: company.mia)
            _ = try $0.edit(message.id, to: "never mind", by: company.mia)
        }
        let events = try await world.look { try $0.events(of: company.workspace, after: message.sequence - 1) }
        // However often it was edited, two are left: the second says everything.
        #expect(events.map(\.kind) == [.messageSent, .messageSent, .messageEdited])
        #expect(events.filter { $0.data.contains("tuna") }.map(\.sequence) == [other.sequence])
        #expect(events.filter { $0.data.contains("never mind") }.count == 2)
        #expect(events.last?.data.contains(#""pinned_at":""#) == true)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a deleted message stays deleted`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let message = try await world.say("hello", in: company.general, by: company.mia)
        try await world.run { try $0.delete(message.id, by: company.mia) }
        let bodies: [@Sendable (ChatTransaction) throws -> Void] = [
            { try $0.delete(message.id, by: company.mia) },
            { _ = try $0.edit(message.id, to: "x", by: company.mia) },
            { _ = try $0.react("👍", to: message.id, by: company.mia) },
            { _ = try $0.setPinned(true, message.id, by: company.mia) },
        ]
        for body in bodies { #expect(try await world.refusal(of: body) == "message_not_found") }
    }

    @Test(arguments: TestDatabase.allCases)
    func `admins and who wrote it delete a message, in an archived channel too`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel(
            "crew", .public, of: company.mia, with: company.adam, company.gus, in: company)
        let mias = try await world.say("mine", in: crew, by: company.mia)
        let guests = try await world.say("theirs", in: crew, by: company.gus)
        let third = try await world.say("third", in: crew, by: company.mia)
        _ = try await world.run { try $0.setArchived(true, crew, by: company.mia) }
        let rows: [(MessageID, UserID, String?)] = [
            (mias.id, company.gus, "not_yours"), (guests.id, company.mia, "not_yours"),
            (mias.id, company.olga, "not_in_channel"), (mias.id, company.zoe, "message_not_found"),
            (MessageID(crew.uuid), company.adam, "message_not_found"),
            (mias.id, company.mia, nil), (guests.id, company.gus, nil), (third.id, company.adam, nil),
        ]
        for (message, user, code) in rows {
            #expect(try await world.refusal { try $0.delete(message, by: user) } == code)
        }
    }
}
