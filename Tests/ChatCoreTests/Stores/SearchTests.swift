import ChatModel
import ChatStorePostgres
import ChatStoreSQLite
import Foundation
import Testing

@testable import ChatCore

struct SearchTests {
    private static func found(
        _ text: String, _ change: @escaping @Sendable (inout ChatTransaction.SearchFilter) -> Void = { _ in },
        by user: UserID, in workspace: WorkspaceID, of world: ChatWorld
    ) async throws -> [String] {
        try await world.look { chat in
            var filter = ChatTransaction.SearchFilter()
            change(&filter)
            return try chat.search(try SearchQuery(text), filter, in: workspace, by: user).items.map(\.content)
        }
    }

    private static func say(
        _ texts: [String], in channel: ChannelID, by user: UserID, of world: ChatWorld
    ) async throws -> [Message] {
        try await world.run { chat in
            try texts.map { try chat.send(.init(content: $0), to: channel, by: user).message }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `finds words by their beginnings, phrases as they are, and all of them together`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        _ = try await Self.say(
            ["Deploying the relay", "the relay was deployed", "a moth in the Relay", "nothing at all"],
            in: company.general, by: company.mia, of: world)
        func found(_ text: String) async throws -> Set<String> {
            Set(try await Self.found(text, by: company.mia, in: company.workspace, of: world))
        }
        #expect(try await found("deploy") == ["Deploying the relay", "the relay was deployed"])
        #expect(try await found("RELAY moth") == ["a moth in the Relay"])
        #expect(
            try await found("\"the relay\"") == [
                "Deploying the relay", "the relay was deployed", "a moth in the Relay",
            ])
        #expect(try await found("\"relay was\" dep") == ["the relay was deployed"])
        #expect(try await found("eploy") == [])
    }

    @Test(arguments: TestDatabase.allCases)
    func `what is edited or deleted is found as it is now`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let messages = try await Self.say(
            ["first words", "other words"], in: company.general, by: company.mia, of: world)
        try await world.run { chat in
            _ = try chat.edit(messages[0].id, to: "second thoughts", by: company.mia)
            try chat.delete(messages[1].id, by: company.mia)
        }
        #expect(try await Self.found("words", by: company.mia, in: company.workspace, of: world) == [])
        #expect(
            try await Self.found("thoughts", by: company.mia, in: company.workspace, of: world) == ["second thoughts"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `nobody finds what they may not read`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let secret = try await world.run { chat in
            try chat.createChannel(.private, name: "secrets", in: company.workspace, by: company.olga).channel.id
        }
        _ = try await Self.say(["the moth is here"], in: secret, by: company.olga, of: world)
        _ = try await Self.say(["the moth is everywhere"], in: company.general, by: company.olga, of: world)
        func found(by user: UserID) async throws -> [String] {
            try await Self.found("moth", by: user, in: company.workspace, of: world)
        }
        #expect(Set(try await found(by: company.olga)) == ["the moth is here", "the moth is everywhere"])
        #expect(try await found(by: company.mia) == ["the moth is everywhere"])
        let refusal = try await world.refusal { chat in
            var filter = ChatTransaction.SearchFilter()
            filter.channel = secret
            _ = try chat.search(try SearchQuery("moth"), filter, in: company.workspace, by: company.mia)
        }
        #expect(refusal == "channel_not_found")
    }

    @Test(arguments: TestDatabase.allCases)
    func `filters by who, when and what`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let old = try await Self.say(["moth https://moth.example"], in: company.general, by: company.mia, of: world)
        world.pass(.seconds(3_600))
        let noon = world.now
        let new = try await Self.say(["moth again"], in: company.general, by: company.olga, of: world)
        try await world.run { _ = try $0.react("👍", to: new[0].id, by: company.mia) }
        func found(_ change: @escaping @Sendable (inout ChatTransaction.SearchFilter) -> Void) async throws -> [String]
        {
            try await Self.found("moth", change, by: company.mia, in: company.workspace, of: world)
        }
        #expect(try await found { $0.author = company.olga } == ["moth again"])
        #expect(try await found { $0.before = noon } == [old[0].content])
        #expect(try await found { $0.after = noon } == ["moth again"])
        #expect(try await found { $0.features = [.link] } == [old[0].content])
        #expect(try await found { $0.features = [.reaction] } == ["moth again"])
        #expect(try await found { $0.features = [.pin] } == [])
        #expect(try await found { $0.features = [.thread] } == [])
        let (pier, loud) = (
            try await world.channel("pier", of: company.mia, in: company),
            try await Self.say(["moth HTTPS://MOTH.EXAMPLE"], in: company.general, by: company.mia, of: world)
        )
        _ = try await Self.say(["moth of the pier"], in: pier, by: company.mia, of: world)
        #expect(try await found { $0.channel = pier } == ["moth of the pier"])
        #expect(Set(try await found { $0.features = [.link] }) == [old[0].content, loud[0].content])
        // Both the message that has answers and the answer are in a thread.
        try await world.say("an answer of the moth", in: company.general, by: company.olga, thread: old[0].id)
        #expect(Set(try await found { $0.features = [.thread] }) == [old[0].content, "an answer of the moth"])
        _ = try await world.run { try $0.setPinned(true, old[0].id, by: company.mia) }
        #expect(try await found { $0.features = [.pin] } == [old[0].content])
        #expect(try await found { $0.features = [.pin, .reaction] } == [])
        #expect(try await found { $0.features = [.pin, .thread, .link] } == [old[0].content])
    }

    @Test(arguments: TestDatabase.allCases)
    func `shows what was found, page by page`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let texts = (0..<5).map { "number \($0) of the Analytical Engine" }
        _ = try await Self.say(texts, in: company.general, by: company.mia, of: world)
        let first = try await world.look { chat in
            try chat.search(
                try SearchQuery("engine"), .init(), in: company.workspace, by: company.mia, limit: 3)
        }
        #expect(first.items.count == 3)
        let results = try SearchQuery("engine").results(of: first)
        #expect(results.items.map(\.message) == first.items && results.after == first.after)
        let pieces = try #require(results.items.first?.snippet)
        #expect(pieces.filter(\.isMatch).map(\.text) == ["Engine"])
        #expect(pieces.map(\.text).joined() == first.items.first?.content)
        let second = try await world.look { chat in
            try chat.search(
                try SearchQuery("engine"), .init(), in: company.workspace, by: company.mia, after: first.after, limit: 3
            )
        }
        #expect(second.after == nil)
        #expect(Set((first.items + second.items).map(\.content)) == Set(texts))
    }

    @Test(arguments: TestDatabase.allCases)
    func `what is written meanwhile does not shift the pages`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let texts = (0..<5).map { "number \($0) of the Analytical Engine" }
        _ = try await Self.say(texts, in: company.general, by: company.mia, of: world)
        func page(after cursor: Cursor?) async throws -> Page<Message> {
            try await world.look { chat in
                try chat.search(
                    try SearchQuery("engine"), .init(), in: company.workspace, by: company.mia, after: cursor, limit: 2)
            }
        }
        var (found, cursor): ([String], Cursor?) = ([], nil)
        repeat {
            let part = try await page(after: cursor)
            found += part.items.map(\.content)
            cursor = part.after
            // It is the best of all, as the shortest for one database, and as the newest for the other.
            try await world.say("Engine!", in: company.general, by: company.olga)
        } while cursor != nil
        #expect(found.count == 5 && Set(found) == Set(texts))
        // A page that a version before has begun goes on.
        #expect(try await page(after: Cursor(sequence: 6)).items.count == 2)
        #expect(try await page(after: nil).items.map(\.content) == ["Engine!", "Engine!"])
    }

    /// Each line: what is looked for, then the message. In links, addresses and names it is the words that are found.
    private static let insides = [
        ("example.com", "see https://example.com/path?page=2#end"),
        ("page 2", "see https://example.com/path?page=2#end"),
        ("report.pdf", "the file Report.pdf is new"), ("pdf", "the file Report.pdf is new"),
        ("1.2.3", "version 1.2.3-beta"), ("beta", "version 1.2.3-beta"),
        ("ann@example.org", "write to Ann@Example.org"), ("example.org", "write to Ann@Example.org"),
        ("src/main/app.swift", "in src/main/app.swift:12"), ("app.swift", "in src/main/app.swift:12"),
        ("pier-7", "meet at pier-7"), ("\"pier-7\"", "meet at pier-7"), ("7", "meet at pier-7"),
        ("snake", "a snake_case"), ("case", "a snake_case"), ("bold", "<b>bold</b> &amp; -5"),
        ("5", "<b>bold</b> &amp; -5"),
        ("3e7f0", "commit 3e7f00a"), ("quoted", "“quoted”—so"), ("so", "“quoted”—so"), ("party", "🎉party"),
        ("cafe", "a Café, or an E\u{301}clair"), ("CAFÉ", "a Café, or an E\u{301}clair"),
        ("eclair", "a Café, or an E\u{301}clair"), ("éclair", "a Café, or an E\u{301}clair"),
        ("café", "the cafe of Zurich"), ("Zürich", "the cafe of Zurich"), ("йод", "Йод и соль"), ("한", "한국 사람"),
    ]

    @Test(arguments: TestDatabase.allCases)
    func `punctuation parts words, and accents of Latin letters are no difference`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let texts = Set(Self.insides.map(\.1)).sorted()
        _ = try await Self.say(texts + ["nothing of all that"], in: company.general, by: company.mia, of: world)
        for (query, text) in Self.insides {
            let found = try await Self.found(query, by: company.mia, in: company.workspace, of: world)
            #expect(found.contains(text), "\(query)")
            #expect(!found.contains("nothing of all that"), "\(query)")
        }
        for query in ["иод", "ample.com", "\"example org path\"", "\"pier 8\""] {
            #expect(try await Self.found(query, by: company.mia, in: company.workspace, of: world) == [], "\(query)")
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `what was found is marked in the text as it was written`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        _ = try await Self.say(
            ["see https://example.com/Café?x=1, by (Ann)!"], in: company.general, by: company.mia, of: world)
        let query = try SearchQuery("cafe \"example.com\"")
        let found = try await world.look {
            try $0.search(query, .init(), in: company.workspace, by: company.mia)
        }
        #expect(
            query.results(of: found).items.map(\.snippet) == [
                [
                    SnippetPiece("see https://", isMatch: false), SnippetPiece("example.com", isMatch: true),
                    SnippetPiece("/", isMatch: false), SnippetPiece("Café", isMatch: true),
                    SnippetPiece("?x=1, by (Ann)!", isMatch: false),
                ]
            ])
    }

    /// A database of before keeps its messages, and finds them as new ones.
    @Test func `PostgreSQL finds what was written before it knew words in links`() async throws {
        let address = try await PostgresServer.shared.emptyDatabase()
        let database = try await PostgresChatDatabase(address, connections: 1, at: ChatWorld.start)
        let mia = try await database.write { session in
            let chat = ChatTransaction(session, at: ChatWorld.start)
            let mia = try #require(
                try chat.register(
                    NewAccount(email: "mia@example.org", username: "mia", displayName: "Mia", passwordHash: "")))
            let (_, channel) = try chat.createWorkspace(name: "Harbour", slug: "harbour", by: mia)
            _ = try chat.send(.init(content: "https://example.com/Café"), to: channel.id, by: mia)
            try session.run("ALTER TABLE messages DROP COLUMN words")
            for statement in Schema.search.statements(for: .postgres) { try session.run(statement) }
            try session.run("DELETE FROM schema_steps WHERE name IN ('search_words', 'unspaced_scripts')")
            return mia
        }
        func found(_ database: PostgresChatDatabase) async throws -> Int {
            try await database.read { session in
                let chat = ChatTransaction(session, at: ChatWorld.start)
                let workspace = try #require(try chat.workspaces(of: mia).first).workspace.id
                return try chat.search(SearchQuery("example.com cafe"), .init(), in: workspace, by: mia).items.count
            }
        }
        #expect(try await found(database) == 0)
        #expect(try await found(try await PostgresChatDatabase(address, connections: 1, at: ChatWorld.start)) == 1)
    }

    /// Each line: what is looked for, then the message that has it in its middle.
    private static let unspaced = [
        ("預算", "今天下午開會討論預算問題"), ("会議", "明日の会議は九時からです"), ("\"会議 は\"", "明日の会議は九時からです"),
        ("がくせい", "かれはか\u{3099}くせいです"), ("カフェ", "駅前のカフェ・バー"), ("𠮷野", "これは𠮷野家"), ("葛飾", "次は葛\u{E0100}飾区です"),
        ("GPS装置", "新しいGPS装置です"), ("々木", "佐々木さん"), ("ประชุม", "พรุ่งนี้มีประชุมที่บ้าน"), ("ສະບາຍ", "ຂ້ອຍສະບາຍດີ"),
        ("ប្រជុំ", "ថ្ងៃស្អែកមានប្រជុំនៅផ្ទះ"), ("အစည်း", "မနက်ဖြန်အစည်းအဝေးရှိတယ်"),
        ("한국", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8} 사람"), ("йод", "И\u{306}од и соль"),
        // Newer than SQLite's tables of signs.
        ("开心", "今天很开心🥰"), ("thanks", "🥰Thanks🤣"), ("soon", "soon🤔🥺"), ("unicorn", "🦄unicorn🫡"), ("wave", "👋🏽wave"),
        ("coin", "₿coin₽"), ("1\u{FE0F}\u{20E3}", "step 1\u{FE0F}\u{20E3}"), ("2\u{20E3}", "step 2\u{20E3}"),
        ("ax", "a\u{338}x"), ("a\u{35C}xe", "axe"),
        // While one types.
        ("ประช", "พรุ่งนี้มีประชุมที่บ้าน"), ("ព្រ", "ព្រឹកព្រលឹម"),
        ("が", "か\u{3099}"), ("か\u{3099}くせい", "学生はがくせい"), ("हिन्दी", "मैं हिन्दी बोलता हूँ"),
    ]

    @Test(arguments: TestDatabase.allCases)
    func `words are found in the middle of scripts without spaces, however their marks are written`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let texts = Set(Self.unspaced.map(\.1)).sorted()
        let messages = try await Self.say(
            texts + ["予定と計算", "ม ท น", "かくせい"], in: company.general, by: company.mia, of: world)
        func found(_ query: String) async throws -> [String] {
            try await Self.found(query, by: company.mia, in: company.workspace, of: world)
        }
        for (query, text) in Self.unspaced {
            let found = try await found(query)
            #expect(found.contains { $0.unicodeScalars.elementsEqual(text.unicodeScalars) }, "\(query)")
            let snippet = try SearchQuery(query).snippet(of: text)
            #expect(snippet.contains { $0.isMatch }, "\(query)")
            #expect(snippet.map(\.text).joined().unicodeScalars.elementsEqual(text.unicodeScalars), "\(query)")
        }
        // Not for their letters alone, nor for other marks; of phrases each letter is whole.
        for query in ["予算", "ที่มี", "さくせい", "は会議", "ประชม", "\"ประช\""] {
            #expect(try await found(query) == [], "\(query)")
        }
        #expect(try await found("くせい").count == 3)
        // What is taken back is found no more.
        let lines = messages.filter { $0.content.contains("会議") || $0.content.contains("ประชุม") }
        #expect(lines.count == 2)
        try await world.run { chat in
            _ = try chat.edit(lines[0].id, to: "予定の予算", by: company.mia)
            try chat.delete(lines[1].id, by: company.mia)
        }
        for query in ["会議", "ประชุม"] { #expect(try await found(query) == [], "\(query)") }
        #expect(try await found("予算") == ["予定の予算"])
    }

    /// A database of before, opened again by this version.
    @Test(arguments: TestDatabase.allCases)
    func `what was written before such scripts were known is found when the server has started`(
        database: TestDatabase
    ) async throws {
        let folder = URL.temporaryDirectory.appending(path: "roost-search-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "chat.sqlite").path
        let address = database == .postgres ? try await PostgresServer.shared.emptyDatabase() : ""
        func open() async throws -> any ChatDatabase {
            switch database {
            case .sqlite: try SQLiteChatDatabase(path: path, at: ChatWorld.start)
            case .postgres: try await PostgresChatDatabase(address, connections: 1, at: ChatWorld.start)
            }
        }
        let older = try await open()
        let mia = try await older.write { session in
            let chat = ChatTransaction(session, at: ChatWorld.start)
            let mia = try #require(
                try chat.register(
                    NewAccount(email: "mia@example.org", username: "mia", displayName: "Mia", passwordHash: "")))
            let (_, channel) = try chat.createWorkspace(name: "Harbour", slug: "harbour", by: mia)
            for text in ["明日の会議は九時から", "か\u{3099}くせい", "an old harbour"] {
                _ = try chat.send(.init(content: text), to: channel.id, by: mia)
            }
            try Self.forgetUnspacedScripts(session)
            return mia
        }
        func found(_ query: String, in database: any ChatDatabase) async throws -> Int {
            try await database.read { session in
                let chat = ChatTransaction(session, at: ChatWorld.start)
                let workspace = try #require(try chat.workspaces(of: mia).first).workspace.id
                return try chat.search(SearchQuery(query), .init(), in: workspace, by: mia).items.count
            }
        }
        #expect(try await found("会議", in: older) == 0)
        #expect(try await found("harbour", in: older) == 1)
        try (older as? SQLiteChatDatabase)?.close()
        let newer = try await open()
        for query in ["会議", "がくせい", "harbour"] { #expect(try await found(query, in: newer) == 1, "\(query)") }
        try (newer as? SQLiteChatDatabase)?.close()
    }

    /// As a version was that knew nothing of them.
    private static func forgetUnspacedScripts(_ session: any SQLSession) throws {
        switch session.dialect {
        case .sqlite:
            try session.run("DROP TRIGGER message_words_delete")
            try session.run("DROP VIEW message_places")
            for statement in Schema.searchByWorkspace.statements(for: .sqlite) { try session.run(statement) }
            try session.run(try #require(Schema.workspaceDeletion.statements(for: .sqlite).last))
        case .postgres:
            for statement in Schema.searchWords.statements(for: .postgres) { try session.run(statement) }
        }
        try session.run("DELETE FROM schema_steps WHERE name = 'unspaced_scripts'")
    }

    @Test(arguments: ["", "   ", "\"", "!?", "* - :", String(repeating: "a ", count: 17)])
    func `there is something to look for`(text: String) {
        #expect(throws: ChatError.self) { try SearchQuery(text) }
    }

    @Test func `what is too long is told so, and not to have too many words`() throws {
        _ = try SearchQuery(String(repeating: "a", count: 1_000))
        let refusal = #expect(throws: ChatError.self) { try SearchQuery(String(repeating: "a", count: 1_001)) }
        #expect(refusal?.code == "invalid_query" && refusal?.message.contains("1000 bytes") == true)
    }

    @Test(arguments: TestDatabase.allCases)
    func `signs that databases have a meaning for are only signs`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        _ = try await Self.say(["it's a \\ moth' & (co)"], in: company.general, by: company.mia, of: world)
        for text in [
            "it's", "moth'", "moth' & co", "(co)", "moth:*", "NOT moth OR", "NEAR(moth)", "\\moth", "a*\" ' \\",
        ] {
            _ = try await Self.found(text, by: company.mia, in: company.workspace, of: world)
        }
        #expect(try await Self.found("co) (moth", by: company.mia, in: company.workspace, of: world).count == 1)
    }

    @Test(arguments: TestDatabase.allCases)
    func `what many say in another workspace hides nothing`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        _ = try await Self.say(["one relay here"], in: company.general, by: company.mia, of: world)
        let (other, room) = try await world.run { chat in
            let (listing, channel) = try chat.createWorkspace(name: "Depot", slug: "depot", by: company.mia)
            return (listing.workspace.id, channel.id)
        }
        _ = try await Self.say((0..<3_000).map { "relay \($0) there" }, in: room, by: company.mia, of: world)
        #expect(
            try await Self.found("relay", by: company.mia, in: company.workspace, of: world) == ["one relay here"])
        #expect(try await Self.found("\"relay 2999\"", by: company.mia, in: other, of: world) == ["relay 2999 there"])
        // A workspace's own name in the index is no word of a message.
        let place = "w" + company.workspace.description.replacing("-", with: "")
        #expect(try await Self.found(place, by: company.mia, in: company.workspace, of: world) == [])
    }

    /// More than are ranked.
    @Test(arguments: TestDatabase.allCases)
    func `what many say elsewhere in the workspace hides nothing either`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let secret = try await world.channel("secrets", of: company.olga, in: company)
        _ = try await Self.say(["one relay here"], in: company.general, by: company.mia, of: world)
        world.pass(.seconds(1))
        let later = world.now
        _ = try await Self.say((0..<2_500).map { "relay \($0) there" }, in: secret, by: company.olga, of: world)
        func found(
            by user: UserID, _ change: @escaping @Sendable (inout ChatTransaction.SearchFilter) -> Void = { _ in }
        ) async throws -> [String] {
            try await Self.found("relay", change, by: user, in: company.workspace, of: world)
        }
        #expect(try await found(by: company.mia) == ["one relay here"])
        #expect(try await found(by: company.olga) { $0.channel = company.general } == ["one relay here"])
        #expect(try await found(by: company.olga) { $0.author = company.mia } == ["one relay here"])
        #expect(try await found(by: company.olga) { $0.before = later } == ["one relay here"])
    }
}
