import ChatModel
import Foundation
import Testing

@testable import ChatCore

/// How the databases find what people ask for most often: by an index, however much there is. A hundred thousand
/// messages do for a planner; `ROOST_PLAN_MESSAGES=1000000` makes it as many as one likes.
@Suite struct QueryPlansTests {
    private static let messages =
        ProcessInfo.processInfo.environment["ROOST_PLAN_MESSAGES"].flatMap { Int($0) } ?? 100_000

    /// Asks the database about each statement before it is run.
    private final class ExplainingSession: SQLSession {
        private let session: any SQLSession
        private(set) var plans: [(sql: String, plan: String)] = []

        init(_ session: any SQLSession) { self.session = session }

        var dialect: SQLDialect { session.dialect }

        func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow] {
            try explain(sql, arguments)
            return try session.rows(sql, arguments)
        }

        func run(_ sql: String, _ arguments: [SQLValue]) throws -> Int {
            try explain(sql, arguments)
            return try session.run(sql, arguments)
        }

        private func explain(_ sql: String, _ arguments: [SQLValue]) throws {
            let lines: [String]
            switch dialect {
            case .sqlite:
                lines = try session.rows("EXPLAIN QUERY PLAN " + sql, arguments).map {
                    var row = $0
                    for _ in 0..<3 { _ = try row.integer() }
                    return try row.text()
                }
            case .postgres:
                lines = try session.rows("EXPLAIN " + sql, arguments).map {
                    var row = $0
                    return try row.text()
                }
            }
            plans.append((sql, lines.joined(separator: "\n")))
        }

        /// Statements that would look through a table that grows with what people write.
        var scans: [String] {
            plans.filter { _, plan in
                switch dialect {
                case .sqlite:
                    plan.contains(/SCAN (m|r|e|f|messages|mentions|reactions|events|thread_followers)\b(?! VIRTUAL)/)
                case .postgres: plan.contains(/Seq Scan on (messages|mentions|reactions|events|thread_followers)\b/)
                }
            }.map { "\($0)\n\($1)" }
        }
    }

    private static func fill(_ chat: ChatTransaction, _ company: Company, channels: Int) throws {
        let (series, id) =
            switch chat.session.dialect {
            case .sqlite:
                (
                    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(messages)) SELECT i FROM n)",
                    "randomblob(16)"
                )
            case .postgres: ("generate_series(1, \(messages))", "gen_random_uuid()")
            }
        try chat.session.run(
            """
            INSERT INTO messages (id, workspace_id, channel_id, user_id, kind, content, sequence, created_at,
                mentions_channel, mentions_here, reply_count, version)
            SELECT \(id), $1, c.id, $2, 'text', 'tide ' || (n.i % 997) || ' at pier ' || (n.i % 7), 1000 + n.i, 1000 + n.i,
                0, 0, 0, 1
            FROM \(series) AS n\(chat.session.dialect == .postgres ? "(i)" : "")
            JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM channels) c ON c.place = n.i % \(channels)
            """, .id(company.workspace), .id(company.olga))
        try chat.session.run(
            """
            INSERT INTO mentions (message_id, user_id, channel_id, thread_id, sequence)
            SELECT id, $1, channel_id, NULL, sequence FROM messages WHERE sequence % 5 = 0
            """, .id(company.mia))
        try chat.session.run(
            """
            INSERT INTO reactions (message_id, emoji, user_id, created_at)
            SELECT id, ':ok:', $1, created_at FROM messages WHERE sequence % 5 = 1
            """, .id(company.mia))
        try chat.session.run(
            """
            INSERT INTO events (workspace_id, sequence, kind, audience, channel_id, message_id, data, created_at)
            SELECT workspace_id, sequence, 'message_edited', 'channel', channel_id, id, '{}', created_at FROM messages
            WHERE sequence > 1000
            """)
        // Many threads that others follow, and some hundred that Mia does, half of them read.
        for (user, part) in [(company.olga, 10), (company.mia, 200)] {
            try chat.session.run(
                """
                INSERT INTO thread_followers (thread_id, user_id, workspace_id, channel_id, is_following, last_read,
                    last_reply)
                SELECT id, $1, workspace_id, channel_id, 1, sequence - sequence % 400, sequence FROM messages
                WHERE sequence % \(part) = 0 AND sequence > 1000
                """, .id(user))
        }
        try chat.session.run(
            "UPDATE workspaces SET sequence = $2 WHERE id = $1", .id(company.workspace), .integer(messages + 2_000))
        for table in [
            "messages", "mentions", "reactions", "events", "channels", "channel_members", "thread_followers",
        ]
        where chat.session.dialect == .postgres { try chat.session.run("ANALYZE \(table)") }
    }

    @Test(arguments: TestDatabase.allCases)
    func `what people ask for most often is found by an index`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        for number in 1..<20 {
            _ = try await world.run {
                try $0.createChannel(.public, name: "pier-\(number)", in: company.workspace, by: company.olga)
            }
        }
        let scans = try await world.run { chat -> [String] in
            try Self.fill(chat, company, channels: 20)
            let session = ExplainingSession(chat.session)
            let asking = ChatTransaction(session, at: chat.now)
            let page = try asking.history(of: company.general, .newest, for: company.mia)
            #expect(page.items.count == 50)
            let message = try #require(page.items.first)
            for part: HistoryPart in [
                .before(Cursor(sequence: 5_000)), .after(Cursor(sequence: 5_000)), .around(message.id), .unread,
            ] {
                #expect(try !asking.history(of: company.general, part, for: company.mia).items.isEmpty)
            }
            _ = try asking.replies(to: message.id, .newest, for: company.mia)
            _ = try asking.pins(of: company.general, for: company.mia)
            #expect(try !asking.joinedChannels(of: company.workspace, for: company.mia).isEmpty)
            _ = try asking.missedEvents(of: company.workspace, after: Int64(Self.messages), by: company.mia)
            let found = try asking.search(SearchQuery("996 pier"), .init(), in: company.workspace, by: company.mia)
            #expect(!found.items.isEmpty)
            let threads = try asking.threads(of: company.workspace, for: company.mia)
            #expect(try !asking.threads(of: company.workspace, for: company.mia, after: threads.after).items.isEmpty)
            _ = try asking.workspaces(of: company.mia)
            let (reply, _) = try asking.send(
                .init(content: "an answer", threadID: message.id), to: company.general, by: company.olga)
            try asking.readThread(message.id, upTo: reply.sequence, by: company.mia)
            _ = try asking.notificationCandidates(for: reply)
            _ = try asking.runningCalls(of: company.workspace, for: company.mia)
            let (sent, _) = try asking.send(
                .init(content: "@adam hello", clientID: "c-1"), to: company.general, by: company.mia)
            _ = try asking.react("👍", to: sent.id, by: company.olga)
            _ = try asking.edit(sent.id, to: "bye", by: company.mia)
            _ = try asking.read(company.general, upTo: sent.sequence, by: company.mia)
            _ = try asking.setPinned(true, sent.id, by: company.mia)
            try asking.delete(sent.id, by: company.mia)
            #expect(session.plans.count > 40)
            let scans = session.scans
            // What no index finds is seen.
            _ = try session.rows("SELECT m.id FROM messages m WHERE m.content = 'tide'", [])
            #expect(session.scans.count == scans.count + 1)
            return scans
        }
        #expect(scans == [])
    }
}
