import ChatCore
import ChatModel
import ChatStoreSQLite
import Foundation
import Testing

@testable import ChatServer

/// What Slack's archives have beside channels, people and what they say.
@Suite struct SlackKindsTests {
    private static let start = Timestamp(milliseconds: 1_795_435_200_000)

    private static let files = [
        "users.json": """
        [{"id": "U1", "team_id": "T1", "name": "olga", "is_owner": true, "profile": {"display_name": "Olga"}},
         {"id": "U2", "name": "mia", "profile": {"display_name": "Mia"}},
         {"id": "U3", "name": "una", "is_restricted": false, "is_ultra_restricted": true,
          "profile": {"display_name": "Una"}}]
        """,
        "channels.json": """
        [{"id": "C1", "name": "general", "created": 1690000000, "creator": "U1", "members": ["U1", "U2"]}]
        """,
        "mpims.json": """
        [{"id": "G1", "name": "mpdm-olga--mia--una-1", "created": 9223372036854775807, "creator": "U1",
          "members": ["U1", "U2", "U3"], "purpose": {"value": "Group messaging with: @olga @mia @una"}}]
        """,
        "general/2023-11-14.json": """
        [{"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "hidden": true, "ts": "1700000001.000000",
          "thread_ts": "1700000001.000000", "reply_count": 1, "text": "This message was deleted."},
         {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "hidden": true, "ts": "1700000002.000000",
          "text": "This message was deleted."},
         {"type": "message", "subtype": "thread_broadcast", "user": "U2", "ts": "1700000003.000000",
          "thread_ts": "1700000001.000000", "root": {"text": "This message was deleted."}, "text": "for all to see"},
         {"type": "message", "user": "U1", "ts": "1700000004.000000", "text": "seen"}]
        """,
        "mpdm-olga--mia--una-1/2023-11-14.json": """
        [{"type": "message", "user": "U3", "ts": "1700000005.000000", "text": "hello, both"}]
        """,
    ]

    private func imported(_ body: (ChatService, ImportSummary) async throws -> Void) async throws {
        let folder = URL.temporaryDirectory.appending(path: "roost-slack-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        for (path, text) in Self.files {
            let file = folder.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        let start = Self.start
        let service = ChatService(database: try SQLiteChatDatabase(inMemoryAt: start), now: { start })
        let summary = try await Administration(service: service, serverURL: "http://localhost:8080")
            .importSlack(folder, name: "Harbour", slug: nil, trustsAddresses: false)
        try await body(service, summary)
    }

    @Test func `of what was deleted the place stays where there are answers to it, and its words nowhere`() async throws
    {
        try await imported { service, summary in
            #expect(summary.added.messages == 4)
            let (messages, replies) = try await service.read { chat in
                let olga = try chat.user(named: "olga")
                let general = try chat.channel(named: "general", in: summary.workspace.id)
                let messages = try chat.history(of: general, .newest, for: olga).items
                let first = try #require(messages.first)
                return (messages, try chat.replies(to: first.id, .newest, for: olga).items)
            }
            #expect(messages.map(\.content) == ["", "seen"])
            #expect(messages.map(\.deletedAt) == [Timestamp(milliseconds: 1_700_000_001_000), nil])
            #expect(messages.map(\.replyCount) == [1, 0])
            // An answer that was shown in the channel, too, is an answer.
            #expect(replies.map(\.content) == ["for all to see"] && replies.map(\.user.displayName) == ["Mia"])
        }
    }

    @Test func `a message to several is a group of them, and who may be in one channel is a guest`() async throws {
        try await imported { service, summary in
            let (listings, words) = try await service.read { chat in
                let una = try chat.user(named: "una")
                let listings = try chat.joinedChannels(of: summary.workspace.id, for: una)
                let group = try #require(listings.first).channel.id
                return (listings, try chat.history(of: group, .newest, for: una).items.map(\.content))
            }
            #expect(summary.added.channels == 2)
            #expect(listings.map(\.channel.kind) == [.group] && listings.map(\.channel.name) == [nil])
            #expect(words == ["hello, both"])
            let roles = try await service.read { chat in
                try ["olga", "mia", "una"].map { try chat.workspaces(of: try chat.user(named: $0)).map(\.role) }
            }
            #expect(roles == [[.owner], [.member], [.guest]])
        }
    }
}
