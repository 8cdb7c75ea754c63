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
}
