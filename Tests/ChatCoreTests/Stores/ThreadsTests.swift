import ChatModel
import Testing

@testable import ChatCore

@Suite struct ThreadsTests {
    private static func threads(
        of user: UserID, _ company: Company, in world: ChatWorld, isUnread: Bool = false
    ) async throws -> [ThreadListing] {
        try await world.look { try $0.threads(of: company.workspace, isUnread: isUnread, for: user).items }
    }

    private static func unread(of user: UserID, _ company: Company, in world: ChatWorld) async throws -> Int {
        try await world.look { try $0.workspace(company.workspace, for: user).unreadThreads }
    }

    @Test(arguments: TestDatabase.allCases)
    func `who began a thread or wrote in it follows it, the newest answer first`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, adam, mia, general) = (company.olga, company.adam, company.mia, company.general)
        let first = try await world.say("one", in: general, by: olga)
        let second = try await world.say("two", in: general, by: olga)
        #expect(try await Self.threads(of: olga, company, in: world) == [])
        let reply = try await world.say("a", in: general, by: mia, thread: first.id)
        try await world.say("b", in: general, by: adam, thread: second.id)
        let last = try await world.say("c", in: general, by: adam, thread: second.id)

        let list = try await Self.threads(of: olga, company, in: world)
        #expect(list.map(\.message.id) == [second.id, first.id])
        #expect(list.map(\.unread) == [2, 1] && list.map(\.lastRead) == [0, 0])
        #expect(list.map(\.lastReply) == [last.sequence, reply.sequence] && list[0].message.replyCount == 2)
        #expect(try await Self.unread(of: olga, company, in: world) == 2)
        // Whoever answers has read so far.
        let mias = try await Self.threads(of: mia, company, in: world)
        #expect(mias.map(\.message.id) == [first.id] && mias.map(\.unread) == [0])
        #expect(try await Self.unread(of: mia, company, in: world) == 0)
        #expect(try await Self.threads(of: company.gus, company, in: world) == [])

        // In pages.
        let page = try await world.look { try $0.threads(of: company.workspace, for: olga, limit: 1) }
        #expect(page.items == [list[0]])
        let next = try await world.look {
            try $0.threads(of: company.workspace, for: olga, after: page.after, limit: 1)
        }
        #expect(next.items == [list[1]] && next.after == nil)
        #expect(
            try await world.refusal { try $0.threads(of: company.workspace, for: company.zoe) } == "workspace_not_found"
        )
        #expect(
            try await world.refusal { try $0.threads(of: company.workspace, for: olga, after: Cursor("x")) }
                == "invalid_cursor")
    }

    @Test(arguments: TestDatabase.allCases)
    func `what one has read of a thread is kept, and told to one's devices`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, mia, general) = (company.olga, company.mia, company.general)
        let parent = try await world.say("one", in: general, by: olga)
        let first = try await world.say("a", in: general, by: mia, thread: parent.id)
        let last = try await world.say("b", in: general, by: mia, thread: parent.id)
        func read(_ sequence: Int64, by user: UserID) async throws -> ThreadMark? {
            try await world.run {
                try $0.readThread(parent.id, upTo: sequence, by: user)
                return $0.changes.threadMarks[user]
            }
        }
        let mark = ThreadMark(threadID: parent.id, channelID: general, lastRead: first.sequence, isFollowing: true)
        #expect(try await read(first.sequence, by: olga) == mark)
        #expect(try await read(first.sequence, by: olga) == nil)
        #expect(try await Self.threads(of: olga, company, in: world, isUnread: true).map(\.unread) == [1])
        // Not beyond the newest answer, and back.
        #expect(try await read(.max, by: olga)?.lastRead == last.sequence)
        #expect(try await Self.threads(of: olga, company, in: world, isUnread: true) == [])
        #expect(try await Self.unread(of: olga, company, in: world) == 0)
        #expect(try await read(0, by: olga)?.lastRead == 0)
        #expect(try await Self.unread(of: olga, company, in: world) == 1)
        #expect(try await read(last.sequence, by: company.adam) == nil)

        // What is deleted is not unread.
        _ = try await read(first.sequence, by: olga)
        try await world.run { try $0.delete(last.id, by: mia) }
        #expect(try await Self.unread(of: olga, company, in: world) == 0)
        #expect(try await Self.threads(of: olga, company, in: world).map(\.lastReply) == [first.sequence])
        try await world.run { try $0.delete(first.id, by: mia) }
        #expect(try await Self.threads(of: olga, company, in: world) == [])

        #expect(
            try await world.refusal { try $0.readThread(parent.id, upTo: -1, by: olga) } == "invalid_last_read")
        #expect(
            try await world.refusal { try $0.readThread(parent.id, upTo: 1, by: company.gus) } == "message_not_found")
    }

    @Test(arguments: TestDatabase.allCases)
    func `one's own answers are not unread`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, mia, general) = (company.olga, company.mia, company.general)
        let parent = try await world.say("one", in: general, by: olga)
        let reply = try await world.say("a", in: general, by: mia, thread: parent.id)
        let own = try await world.say("b", in: general, by: olga, thread: parent.id)
        func unread(from sequence: Int64) async throws -> [Int] {
            try await world.run { try $0.readThread(parent.id, upTo: sequence, by: olga) }
            let list = try await Self.threads(of: olga, company, in: world, isUnread: true)
            #expect(try await Self.unread(of: olga, company, in: world) == list.count)
            return list.map(\.unread)
        }
        #expect(try await unread(from: reply.sequence) == [])
        #expect(try await unread(from: 0) == [1])
        #expect(try await unread(from: own.sequence) == [])
        // Nor is what is left of them alone.
        try await world.run { try $0.delete(reply.id, by: mia) }
        #expect(try await unread(from: 0) == [])
        #expect(try await Self.threads(of: olga, company, in: world).map(\.unread) == [0])
    }

    @Test(arguments: TestDatabase.allCases)
    func `one follows and turns away, until one writes again`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, adam, mia, general) = (company.olga, company.adam, company.mia, company.general)
        let parent = try await world.say("one", in: general, by: olga)
        let reply = try await world.say("a", in: general, by: mia, thread: parent.id)
        let mark = try await world.run {
            try $0.setFollowing(true, thread: parent.id, by: adam)
            return $0.changes.threadMarks[adam]
        }
        #expect(
            mark
                == ThreadMark(threadID: parent.id, channelID: general, lastRead: reply.sequence, isFollowing: true))
        try await world.say("b", in: general, by: mia, thread: parent.id)
        #expect(try await Self.threads(of: adam, company, in: world).map(\.unread) == [1])

        try await world.run { try $0.setFollowing(false, thread: parent.id, by: olga) }
        try await world.say("c", in: general, by: mia, thread: parent.id)
        #expect(try await Self.threads(of: olga, company, in: world) == [])
        #expect(try await Self.unread(of: olga, company, in: world) == 0)
        try await world.say("d", in: general, by: olga, thread: parent.id)
        #expect(try await Self.threads(of: olga, company, in: world).map(\.unread) == [0])

        // What is in a thread has none, and who is not in the channel follows nothing in it.
        #expect(
            try await world.refusal { try $0.setFollowing(true, thread: reply.id, by: adam) } == "invalid_thread_id")
        let open = try await world.channel("open", .public, of: olga, in: company)
        let there = try await world.say("x", in: open, by: olga)
        #expect(try await world.refusal { try $0.setFollowing(true, thread: there.id, by: mia) } == "not_in_channel")
        #expect(
            try await world.refusal { try $0.setFollowing(true, thread: there.id, by: company.gus) }
                == "message_not_found")
        // Who leaves the channel sees its threads no more.
        try await world.run { try $0.leaveChannel(general, by: adam) }
        #expect(try await Self.threads(of: adam, company, in: world) == [])
        #expect(try await Self.unread(of: adam, company, in: world) == 0)
    }

    @Test(arguments: TestDatabase.allCases)
    func `who is named in an answer follows the thread from then on`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, adam, mia, general) = (company.olga, company.adam, company.mia, company.general)
        func badge() async throws -> Int { try await world.look { try $0.badge(of: adam) } }
        let parent = try await world.say("one", in: general, by: olga)
        try await world.say("a", in: general, by: mia, thread: parent.id)
        #expect(try await Self.threads(of: adam, company, in: world) == [])
        let (named, marks) = try await world.run {
            let reply = try $0.send(.init(content: "@adam, @gus", threadID: parent.id), to: general, by: mia).message
            return (reply, $0.changes.threadMarks)
        }
        // It begins with what names them, and their devices are told.
        let list = try await Self.threads(of: adam, company, in: world, isUnread: true)
        #expect(list.map(\.message.id) == [parent.id] && list.map(\.unread) == [1])
        #expect(list.map(\.lastRead) == [named.sequence - 1] && list.map(\.lastReply) == [named.sequence])
        #expect(
            marks[adam]
                == ThreadMark(
                    threadID: parent.id, channelID: general, lastRead: named.sequence - 1, isFollowing: true))
        #expect(Set(marks.keys) == [adam, mia])
        #expect(try await Self.unread(of: adam, company, in: world) == 1)
        #expect(try await badge() == 1)
        // Who is not in the channel follows nothing in it.
        #expect(try await Self.threads(of: company.gus, company, in: world) == [])

        let last = try await world.say("b", in: general, by: mia, thread: parent.id)
        #expect(try await Self.threads(of: adam, company, in: world).map(\.unread) == [2])
        #expect(try await badge() == 1)
        let relieved = try await world.run {
            try $0.readThread(parent.id, upTo: last.sequence, by: adam)
            return $0.changes.relieved
        }
        #expect(relieved == [adam])
        #expect(try await badge() == 0)
        #expect(try await Self.unread(of: adam, company, in: world) == 0)

        // Who has turned away stays away.
        try await world.run { try $0.setFollowing(false, thread: parent.id, by: adam) }
        try await world.say("@adam @channel", in: general, by: mia, thread: parent.id)
        #expect(try await Self.threads(of: adam, company, in: world) == [])
        #expect(try await Self.unread(of: adam, company, in: world) == 0)
        #expect(try await badge() == 0)
    }

    @Test(arguments: TestDatabase.allCases)
    func `who is called in an answer, or named by an edit, follows as well`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, adam, mia, general) = (company.olga, company.adam, company.mia, company.general)
        let ben = try await world.member("ben", of: company)
        let (all, here) = (
            try await world.say("1", in: general, by: olga), try await world.say("2", in: general, by: olga)
        )
        let edited = try await world.say("3", in: general, by: olga)
        try await world.say("@channel", in: general, by: mia, thread: all.id)
        _ = try await world.run {
            try $0.send(.init(content: "@here", threadID: here.id, peopleHere: [adam]), to: general, by: mia)
        }
        let plain = try await world.say("look", in: general, by: mia, thread: edited.id)
        let last = try await world.say("so", in: general, by: mia, thread: edited.id)
        #expect(try await Self.threads(of: adam, company, in: world).map(\.message.id) == [here.id, all.id])
        #expect(try await Self.threads(of: ben, company, in: world).map(\.message.id) == [all.id])
        #expect(try await world.look { try $0.badge(of: adam) } == 2)
        let marks = try await world.run {
            _ = try $0.edit(plain.id, to: "look, @ben", by: mia)
            return $0.changes.threadMarks
        }
        #expect(Set(marks.keys) == [ben] && marks[ben]?.lastRead == plain.sequence - 1)
        let list = try await Self.threads(of: ben, company, in: world)
        #expect(list.map(\.message.id) == [edited.id, all.id] && list.map(\.unread) == [2, 1])
        #expect(list.map(\.lastReply).first == last.sequence)

        // Who comes later is not called by what another edit leaves in it, and whoever was is relieved when it goes.
        let zoe = try await world.member("zed", of: company)
        let call = try await world.say("@channel", in: general, by: mia, thread: edited.id)
        let late = try await world.member("late", of: company)
        _ = try await world.run { try $0.edit(call.id, to: "@channel!", by: mia) }
        #expect(try await Self.unread(of: zoe, company, in: world) == 1)
        #expect(try await Self.threads(of: late, company, in: world) == [])
        let relieved = try await world.run {
            try $0.delete(call.id, by: mia)
            return $0.changes.relieved
        }
        #expect(relieved.isSuperset(of: [zoe, ben, adam]) && !relieved.contains(late))
        #expect(try await world.look { try $0.badge(of: zoe) } == 0)
    }

    /// The step takes them for read. What has come since then is unread, and stays so until it is read.
    @Test(arguments: TestDatabase.allCases)
    func `answers from before threads were followed are on no icon, and those from after it are`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (adam, mia, general) = (company.adam, company.mia, company.general)
        let direct = try await world.run {
            try $0.openDirect(with: [mia], in: company.workspace, by: adam).listing.channel.id
        }
        let parents = [
            try await world.say("one", in: direct, by: adam), try await world.say("two", in: general, by: adam),
        ]
        for parent in parents { try await world.say("@adam", in: parent.channelID, by: mia, thread: parent.id) }
        #expect(try await world.look { try $0.badge(of: adam) } == 2)
        try await world.run { chat in
            try chat.session.run("DELETE FROM thread_followers")
            // The step's second statement: the first makes the table.
            try chat.session.run(Schema.threadFollowers.statements(for: chat.session.dialect)[1])
        }
        #expect(try await world.look { try $0.badge(of: adam) } == 0)
        #expect(try await Self.unread(of: adam, company, in: world) == 0)
        for parent in parents { try await world.say("@adam", in: parent.channelID, by: mia, thread: parent.id) }
        #expect(try await world.look { try $0.badge(of: adam) } == 2)
        #expect(try await Self.unread(of: adam, company, in: world) == 2)
    }

    @Test(arguments: TestDatabase.allCases)
    func `in a group message everybody follows, until they turn away`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, adam, mia) = (company.olga, company.adam, company.mia)
        let group = try await world.run {
            try $0.openDirect(with: [adam, mia], in: company.workspace, by: olga).listing.channel.id
        }
        let parent = try await world.say("one", in: group, by: olga)
        _ = try await world.run { try $0.read(group, upTo: parent.sequence, by: adam) }
        let reply = try await world.say("a", in: group, by: mia, thread: parent.id)
        let list = try await Self.threads(of: adam, company, in: world, isUnread: true)
        #expect(list.map(\.unread) == [1] && list.map(\.lastRead) == [reply.sequence - 1])
        #expect(try await Self.unread(of: adam, company, in: world) == 1)
        #expect(try await world.look { try $0.badge(of: adam) } == 1)
        try await world.run { try $0.setFollowing(false, thread: parent.id, by: adam) }
        try await world.say("b", in: group, by: mia, thread: parent.id)
        #expect(try await Self.threads(of: adam, company, in: world) == [])
        #expect(try await Self.unread(of: adam, company, in: world) == 0)
        #expect(try await Self.threads(of: olga, company, in: world).map(\.unread) == [2])
    }

    @Test(arguments: TestDatabase.allCases)
    func `who is no longer in the workspace is told of no thread of a group`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, adam, mia) = (company.olga, company.adam, company.mia)
        let group = try await world.run {
            try $0.openDirect(with: [adam, mia], in: company.workspace, by: olga).listing.channel.id
        }
        let parent = try await world.say("one", in: group, by: olga)
        try await world.run { try $0.removeMember(mia, from: company.workspace, by: olga) }
        let told = try await world.run {
            let answer = ChatTransaction.NewMessage(content: "two", threadID: parent.id)
            _ = try $0.send(answer, to: group, by: olga)
            return Set($0.changes.threadMarks.keys)
        }
        #expect(told == [olga, adam])
    }
}
