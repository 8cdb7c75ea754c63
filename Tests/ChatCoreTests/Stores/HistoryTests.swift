import ChatModel
import Testing

@testable import ChatCore

/// Reading lists of messages, page by page.
@Suite struct HistoryTests {
    /// Ten messages in `general`, whose words are their places from 0 on.
    private struct Scene {
        let world: ChatWorld
        let company: Company
        let said: [Message]

        init(_ database: TestDatabase, count: Int = 10) async throws {
            world = try await ChatWorld(database)
            company = try await world.company()
            var said: [Message] = []
            for number in 0..<count {
                said.append(try await world.say("\(number)", in: company.general, by: company.mia))
            }
            self.said = said
        }

        func page(_ part: HistoryPart, limit: Int? = 4, for user: UserID? = nil) async throws -> Page<Message> {
            let (channel, reader) = (company.general, user ?? company.mia)
            return try await world.look { try $0.history(of: channel, part, limit: limit, for: reader) }
        }
    }

    private static func words(_ page: Page<Message>) -> [String] { page.items.map(\.content) }

    @Test(arguments: TestDatabase.allCases)
    func `pages lead back to the beginning and forth to the end`(database: TestDatabase) async throws {
        let scene = try await Scene(database)
        let newest = try await scene.page(.newest)
        #expect(newest.items == Array(scene.said.suffix(4)) && newest.after == nil)
        let middle = try await scene.page(.before(try #require(newest.before)))
        #expect(Self.words(middle) == ["2", "3", "4", "5"])
        let oldest = try await scene.page(.before(try #require(middle.before)))
        #expect(Self.words(oldest) == ["0", "1"] && oldest.before == nil)
        // And back.
        let second = try await scene.page(.after(try #require(oldest.after)))
        #expect(Self.words(second) == ["2", "3", "4", "5"] && second.before != nil)
        let third = try await scene.page(.after(try #require(second.after)))
        #expect(Self.words(third) == ["6", "7", "8", "9"] && third.after == nil)
        #expect(try await scene.page(.before(try #require(third.before))) == middle)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a page that is just full leads nowhere`(database: TestDatabase) async throws {
        let scene = try await Scene(database)
        let all = try await scene.page(.newest, limit: 10)
        #expect(all.items == scene.said && all.before == nil && all.after == nil)
        let behind = try await scene.page(.after(Cursor(sequence: scene.said[5].sequence)), limit: 4)
        #expect(Self.words(behind) == ["6", "7", "8", "9"] && behind.after == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `what is said later comes behind a page that was read`(database: TestDatabase) async throws {
        let scene = try await Scene(database)
        let page = try await scene.page(.before(Cursor(sequence: scene.said[9].sequence)))
        #expect(Self.words(page) == ["5", "6", "7", "8"])
        try await scene.world.say("10", in: scene.company.general, by: scene.company.olga)
        let next = try await scene.page(.after(try #require(page.after)))
        #expect(Self.words(next) == ["9", "10"])
        #expect(try await scene.page(.after(Cursor(sequence: next.items[1].sequence))).items == [])
    }

    @Test(arguments: TestDatabase.allCases)
    func `a page has as many messages as is usual, and at most two hundred`(database: TestDatabase) async throws {
        let scene = try await Scene(database, count: 0)
        let company = scene.company
        try await scene.world.run { transaction in
            for number in 0..<205 {
                _ = try transaction.send(.init(content: "\(number)"), to: company.general, by: company.mia)
            }
        }
        for (limit, count) in [(nil, 50), (0, 1), (-1, 1), (60, 60), (1_000, 200)] as [(Int?, Int)] {
            let page = try await scene.page(.newest, limit: limit)
            #expect(page.items.count == count && page.items.last?.content == "204" && page.before != nil)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `an empty channel is an empty page`(database: TestDatabase) async throws {
        let scene = try await Scene(database, count: 0)
        for part in [HistoryPart.newest, .unread, .after(Cursor(sequence: 0))] {
            #expect(try await scene.page(part) == Page([]))
        }
    }

    // MARK: Around and unread

    @Test(
        arguments: TestDatabase.allCases,
        [
            (5, 4, "4567", true, true), (0, 4, "0123", false, true), (1, 4, "0123", false, true),
            (9, 4, "89", true, false), (8, 4, "789", true, false), (5, 3, "567", true, true),
            (5, 1, "5", true, true), (0, 1, "0", false, true), (9, 1, "9", true, false),
            (5, 20, "0123456789", false, false),
        ])
    func `a message stands between what is before and behind it`(
        database: TestDatabase, row: (place: Int, limit: Int, words: String, isMoreBefore: Bool, isMoreAfter: Bool)
    ) async throws {
        let scene = try await Scene(database)
        let page = try await scene.page(.around(scene.said[row.place].id), limit: row.limit)
        #expect(Self.words(page).joined() == row.words)
        #expect((page.before != nil) == row.isMoreBefore)
        #expect((page.after != nil) == row.isMoreAfter)
        if let before = page.before {
            let place = try #require(Int(page.items[0].content))
            #expect(Self.words(try await scene.page(.before(before), limit: 1)) == ["\(place - 1)"])
        }
        if let after = page.after {
            let place = try #require(Int(page.items[page.items.count - 1].content))
            #expect(Self.words(try await scene.page(.after(after), limit: 1)) == ["\(place + 1)"])
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `around an answer is where its thread is`(database: TestDatabase) async throws {
        let scene = try await Scene(database)
        let company = scene.company
        let reply = try await scene.world.say("re", in: company.general, by: company.olga, thread: scene.said[2].id)
        #expect(Self.words(try await scene.page(.around(reply.id))) == ["1", "2", "3", "4"])
        let crew = try await scene.world.channel("crew", of: company.mia, in: company)
        let elsewhere = try await scene.world.say("x", in: crew, by: company.mia)
        for id in [elsewhere.id, MessageID(crew.uuid)] {
            await #expect(throws: ChatError.notFound("message")) { try await scene.page(.around(id)) }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `reading goes on at the first unread message`(database: TestDatabase) async throws {
        let scene = try await Scene(database)
        let company = scene.company
        #expect(Self.words(try await scene.page(.unread, for: company.olga)) == ["0", "1", "2", "3"])
        for (read, words) in [(4, "3456"), (0, "0123"), (9, "89")] {
            let sequence = scene.said[read].sequence
            _ = try await scene.world.run { try $0.read(company.general, upTo: sequence, by: company.olga) }
            #expect(Self.words(try await scene.page(.unread, for: company.olga)).joined() == words)
        }
        // Who only looks has read nothing, and wants the newest.
        let ben = try await scene.world.member("ben", of: company)
        try await scene.world.run { try $0.leaveChannel(company.general, by: ben) }
        #expect(Self.words(try await scene.page(.unread, for: ben)) == ["6", "7", "8", "9"])
    }

    // MARK: What is left out

    @Test(arguments: TestDatabase.allCases)
    func `deleted messages are passed over, but for those with answers`(database: TestDatabase) async throws {
        let scene = try await Scene(database)
        let company = scene.company
        let (seven, eight) = (scene.said[7].id, scene.said[8].id)
        let reply = try await scene.world.say("re", in: company.general, by: company.olga, thread: eight)
        try await scene.world.run {
            try $0.delete(seven, by: company.mia)
            try $0.delete(eight, by: company.mia)
        }
        let page = try await scene.page(.newest)
        #expect(Self.words(page) == ["5", "6", "", "9"])
        #expect(page.items[2].deletedAt != nil && page.items[2].replyCount == 1)
        #expect(Self.words(try await scene.page(.around(seven))) == ["5", "6", "", "9"])
        #expect(try await scene.world.look { try $0.replies(to: eight, .newest, for: company.mia) }.items == [reply])
        try await scene.world.run { try $0.delete(reply.id, by: company.olga) }
        #expect(Self.words(try await scene.page(.newest)) == ["4", "5", "6", "9"])
        #expect(try await scene.world.look { try $0.replies(to: eight, .newest, for: company.mia) }.items == [])
    }

    @Test(arguments: TestDatabase.allCases)
    func `answers come in pages as well`(database: TestDatabase) async throws {
        let scene = try await Scene(database, count: 1)
        let (company, root) = (scene.company, scene.said[0].id)
        var answers: [Message] = []
        for number in 0..<6 {
            answers.append(try await scene.world.say("\(number)", in: company.general, by: company.olga, thread: root))
        }
        let (fourth, other) = (answers[3].id, scene.said[0].id)
        func page(_ part: HistoryPart) async throws -> Page<Message> {
            try await scene.world.look { try $0.replies(to: root, part, limit: 4, for: company.adam) }
        }
        let newest = try await page(.newest)
        #expect(newest.items == Array(answers.suffix(4)) && newest.after == nil)
        let older = try await page(.before(try #require(newest.before)))
        #expect(older.items == Array(answers.prefix(2)) && older.before == nil)
        #expect(try await page(.after(try #require(older.after))).items == newest.items)
        #expect(Self.words(try await page(.around(fourth))) == ["2", "3", "4", "5"])
        await #expect(throws: ChatError.notFound("message")) { try await page(.around(other)) }
    }

    // MARK: Who may

    @Test(arguments: TestDatabase.allCases)
    func `a cursor of another list is refused`(database: TestDatabase) async throws {
        let scene = try await Scene(database, count: 1)
        for text in ["", "nann", "5", "s", "s-1", "sé"] {
            for part in [HistoryPart.before(Cursor(text)), .after(Cursor(text))] {
                await #expect(throws: ChatError.invalid("cursor", "This cursor is not from this list.")) {
                    try await scene.page(part)
                }
            }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a public channel is read by all but guests, who are to be in it`(database: TestDatabase) async throws {
        let scene = try await Scene(database, count: 2)
        let company = scene.company
        let ben = try await scene.world.member("ben", of: company)
        try await scene.world.run { try $0.leaveChannel(company.general, by: ben) }
        #expect(try await scene.page(.newest, for: ben).items == scene.said)
        for user in [company.gus, company.zoe] {
            await #expect(throws: ChatError.notFound("channel")) { try await scene.page(.newest, for: user) }
        }
        try await scene.world.run { try $0.add(company.gus, to: company.general, by: company.mia) }
        #expect(try await scene.page(.newest, for: company.gus).items == scene.said)
    }

    @Test(arguments: TestDatabase.allCases)
    func `cursors that nobody was given lead nowhere, and end nothing`(database: TestDatabase) async throws {
        let scene = try await Scene(database, count: 2)
        for sequence in [Int64.max, Int64.max - 1, 0] {
            let cursor = Cursor(sequence: sequence)
            let after = try await scene.page(.after(cursor))
            #expect(Self.words(after) == (sequence == 0 ? ["0", "1"] : []))
            let before = try await scene.page(.before(after.before ?? cursor))
            #expect(Self.words(before) == (sequence == 0 ? [] : ["0", "1"]))
            _ = try await scene.page(.before(cursor))
        }
        for text in ["s-1", "s" + String(repeating: "z", count: 13), "s", "", "n1"] {
            let channel = scene.company.general
            let refused = try await scene.world.refusal {
                try $0.history(of: channel, .after(Cursor(text)), for: scene.company.mia)
            }
            #expect(refused == "invalid_cursor", "\(text)")
        }
    }
}
