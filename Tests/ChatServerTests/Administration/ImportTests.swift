import ChatCore
import ChatModel
import ChatStoreSQLite
import Foundation
import Testing

@testable import ChatServer

/// Files that are exported and imported, and archives of Slack's.
@Suite struct ImportTests {
    private static let start = Timestamp(milliseconds: 1_795_435_200_000)

    private static func chat() throws -> ChatService {
        ChatService(database: try SQLiteChatDatabase(inMemoryAt: start), now: { start })
    }

    private static func administration(of service: ChatService) -> Administration {
        Administration(service: service, serverURL: "http://localhost:8080")
    }

    /// A folder that is gone with the test.
    private static func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = URL.temporaryDirectory.appending(path: "roost-import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private static func write(_ text: String, to path: String, in folder: URL) throws {
        let file = folder.appending(path: path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    // MARK: Exports of ours

    /// Olga's workspace with more messages than a page has.
    private static func busyChat() async throws -> ChatService {
        let service = try chat()
        try await service.write { chat in
            guard
                let olga = try chat.register(
                    NewAccount(
                        email: "olga@example.org", username: "olga", displayName: "Olga", passwordHash: "secret hash"))
            else { return }
            let (_, general) = try chat.createWorkspace(name: "Harbour", slug: "harbour", by: olga)
            for number in 0..<1_203 {
                _ = try chat.send(.init(content: "number \(number) 🛟"), to: general.id, by: olga)
            }
        }
        return service
    }

    private static func export(_ service: ChatService, _ name: String) async throws -> [String] {
        let lines = Lines()
        try await administration(of: service).export(name) { lines.all.append($0) }
        return lines.all
    }

    private final class Lines {
        var all: [String] = []
    }

    @Test func `a file is read as it was written, in pages and transactions`() async throws {
        let lines = try await Self.export(try await Self.busyChat(), "harbour")
        #expect(lines.count == 1_210 && !lines.joined().contains("secret hash"))
        #expect(lines[0].contains(#""type":"export","version":1"#) && lines[1_209].contains("1203"))
        try await Self.inFolder { folder in
            try Self.write(lines.map { $0 + "\n" }.joined(), to: "whole.jsonl", in: folder)
            let bytes = lines.map { $0 + "\n" }.joined().utf8
            try Self.write(
                String(decoding: bytes.prefix(bytes.count * 2 / 3), as: UTF8.self), to: "part.jsonl", in: folder)
            let service = try Self.chat()
            let there = Self.administration(of: service)
            await #expect(throws: ImportFault.brokenOff) {
                var source = try ExportFile(folder.appending(path: "part.jsonl"))
                _ = try await there.import(&source, slug: nil, trustsAddresses: false)
            }
            let begun = try await there.workspaces().first?.messages ?? 0
            #expect((500..<1_203).contains(begun))
            for round in 0..<2 {
                var source = try ExportFile(folder.appending(path: "whole.jsonl"))
                let summary = try await there.import(&source, slug: nil, trustsAddresses: false)
                #expect(summary.workspace.slug == "harbour" && !summary.isWithoutOwner)
                #expect(summary.added.messages == (round == 0 ? 1_203 - begun : 0))
            }
            // But for what names things.
            let again = try await Self.export(service, "harbour")
            let contents = { (lines: [String]) in lines.compactMap { $0.firstMatch(of: /"content":"[^"]*"/)?.output } }
            #expect(again.count == lines.count && contents(again) == contents(lines))
        }
    }

    @Test(arguments: [
        ("hello\n", ImportFault.order), ("", .order),
        (
            #"{"type":"export","version":9,"id":"x","exported_at":"2026-11-23T12:00:00.000Z"}"# + "\n",
            .at("Line 1", .newer(version: 9))
        ),
        (
            #"{"type":"user","id":"u","username":"ann","display_name":"Ann","created_at":"2026-11-23T12:00:00.000Z"}"#
                + "\n", .at("Line 1", .order)
        ),
        (
            #"{"type":"export","version":1,"id":"x","exported_at":"2026-11-23T12:00:00.000Z"}"# + "\n{}\n",
            .at("Line 2", .unreadable("it is no record of an export"))
        ),
    ])
    func `what is no export is refused, by its line`(text: String, fault: ImportFault) async throws {
        try await Self.inFolder { folder in
            try Self.write(text, to: "file.jsonl", in: folder)
            let there = Self.administration(of: try Self.chat())
            do {
                var source = try ExportFile(folder.appending(path: "file.jsonl"))
                _ = try await there.import(&source, slug: nil, trustsAddresses: false)
                Issue.record("it was taken")
            } catch let error as ImportFault {
                let isOfFirstLine = error == .at("Line 1", .order) && fault == .order
                #expect(error == fault || isOfFirstLine)
            }
        }
    }

    // MARK: Slack's

    private static let users = """
        [{"id": "U1", "team_id": "T1", "name": "olga", "is_owner": true,
          "profile": {"real_name": "Olga O.", "display_name": "", "email": "olga@example.org"}},
         {"id": "U2", "name": "mia.m", "is_restricted": true, "profile": {"display_name": "Mia", "email": "mia@example.org"}},
         {"id": "U3", "name": "gone", "deleted": true, "profile": {"real_name": "Gone"}},
         {"id": "B1", "name": "robot", "is_bot": true, "profile": {}}, "what is this"]
        """

    private static let monday = """
        [{"type": "message", "subtype": "channel_join", "user": "U2", "ts": "1700000000.000100", "text": "<@U2> joined"},
         {"type": "message", "user": "U1", "ts": "1700000001.000200", "reply_count": 1, "thread_ts": "1700000001.000200",
          "text": "Hi <@U2>, <!here>: a &lt;b&gt; &amp; <https://example.org/a_(b)|a link> <#C2|crew> <https://example.org>",
          "reactions": [{"name": "wave::skin-tone-2", "users": ["U2", "U3"], "count": 2}],
          "edited": {"user": "U1", "ts": "1700000050.000000"}, "pinned_to": ["C1"]},
         {"type": "message", "subtype": "bot_message", "username": "CI", "bot_id": "B9", "ts": "1700000003.000000",
          "text": "Built"},
         {"type": "message", "user": "U1", "ts": "1700000004.000000", "text": "see",
          "files": [{"name": "plan.pdf", "url_private": "https://files.example.org/plan.pdf?t=xoxe-key"}]}]
        """

    private static let tuesday = """
        [{"type": "message", "user": "U2", "ts": "1700090000.000000", "thread_ts": "1700000001.000200", "text": "yes"},
         {"type": "message", "user": "U7", "ts": "1700090001.000000", "text": "from afar",
          "user_profile": {"name": "far", "real_name": "Far Away"}}]
        """

    private static func writeArchive(to folder: URL) throws {
        try write(users, to: "users.json", in: folder)
        try write(
            #"[{"id": "C1", "name": "general", "created": 1690000000, "creator": "U1", "members": ["U1", "U2"],"#
                + #" "topic": {"value": "All &amp; sundry"}, "purpose": {"value": ""}}]"#, to: "channels.json",
            in: folder)
        try write(
            #"[{"id": "C2", "name": "crew", "created": 1690000001, "creator": "U1", "is_archived": true,"#
                + #" "members": ["U1"]}]"#, to: "groups.json", in: folder)
        try write(#"[{"id": "D1", "created": 1690000002, "members": ["U1", "U2"]}]"#, to: "dms.json", in: folder)
        try write("[]", to: "integration_logs.json", in: folder)
        try write(monday, to: "general/2023-11-14.json", in: folder)
        try write(tuesday, to: "general/2023-11-15.json", in: folder)
        try write(
            #"[{"type": "message", "user": "U2", "ts": "1700000002.000000", "text": "psst"}]"#,
            to: "D1/2023-11-14.json", in: folder)
    }

    /// What Olga and Mia see of it.
    private struct Seen: Sendable {
        var mia: UserID
        var messages: [Message]
        var replies: [String]
        var direct: [String]
        /// Mia's, of each channel.
        var unread: [Int]
    }

    private static func look(at workspace: WorkspaceID, in chat: ChatTransaction) throws -> Seen {
        let (olga, mia) = (try chat.user(named: "olga@example.org"), try chat.user(named: "mia.m"))
        let general = try chat.channel(named: "general", in: workspace)
        let messages = try chat.history(of: general, .newest, for: olga).items
        let listings = try chat.joinedChannels(of: workspace, for: mia)
        let direct = try #require(listings.first { $0.channel.kind == .direct }).channel.id
        let first = try #require(messages.first)
        let replies = try chat.replies(to: first.id, .newest, for: olga).items
        let words = try chat.history(of: direct, .newest, for: mia).items
        return Seen(
            mia: mia, messages: messages, replies: replies.map(\.content), direct: words.map(\.content),
            unread: listings.compactMap { $0.membership?.unread })
    }

    @Test func `an archive of Slack's becomes a workspace`() async throws {
        try await Self.inFolder { folder in
            let archive = folder.appending(path: "Harbour Slack export Nov 14 2023 - Nov 15 2023")
            try Self.writeArchive(to: archive)
            let service = try Self.chat()
            let there = Self.administration(of: service)
            let summary = try await there.importSlack(archive, name: nil, slug: nil, trustsAddresses: false)
            #expect(summary.workspace.name == "Harbour" && summary.workspace.slug == "harbour")
            #expect(summary.added.messages == 6 && summary.added.channels == 3 && !summary.isWithoutOwner)
            let id = summary.workspace.id
            let seen = try await service.read { try Self.look(at: id, in: $0) }
            let messages = seen.messages
            #expect(
                messages.map(\.content) == [
                    "Hi @mia.m, @here: a <b> & [a link](https://example.org/a_%28b%29) #crew https://example.org",
                    "**CI**: Built", "see\n[plan.pdf](https://files.example.org/plan.pdf)", "from afar",
                ])
            let first = try #require(messages.first)
            #expect(first.createdAt == Timestamp(milliseconds: 1_700_000_001_000) && first.pinnedAt != nil)
            #expect(first.editedAt == Timestamp(milliseconds: 1_700_000_050_000) && first.replyCount == 1)
            #expect(first.mentions.userIDs == [seen.mia] && first.mentions.isHere && !first.mentions.isChannel)
            #expect(first.reactions.map(\.emoji) == [":wave:"] && first.reactions.map(\.count) == [2])
            #expect(seen.replies == ["yes"] && seen.direct == ["psst"] && seen.unread == [0, 0])
            #expect(messages.map(\.user.displayName) == ["Olga O.", "Slack apps", "Olga O.", "Far Away"])
            let people = try await Self.export(service, "harbour").filter { $0.contains(#""type":"member""#) }
            #expect(people.count == 3 && people.filter { $0.contains(#""role":"guest""#) }.count == 1)
            let gone = try await service.read { try $0.accounts() }.first { $0.profile.username == "gone" }
            #expect(gone?.profile.isDeactivated == true)
            let again = try await there.importSlack(archive, name: nil, slug: nil, trustsAddresses: false)
            #expect(again.workspace.id == id && again.added.messages == 0)
        }
    }

    @Test(arguments: ["../secret", "/etc", ".."])
    func `an archive whose names lead out of it is refused`(name: String) async throws {
        try await Self.inFolder { folder in
            try Self.write(Self.users, to: "users.json", in: folder)
            try Self.write(#"[{"id": "C1", "name": "\#(name)", "members": []}]"#, to: "channels.json", in: folder)
            await #expect(throws: ImportFault.refused("The archive names '\(name)', which would be outside of it.")) {
                _ = try await Self.administration(of: try Self.chat())
                    .importSlack(folder, name: nil, slug: nil, trustsAddresses: false)
            }
        }
    }

    @Test func `links in an archive are not followed`() async throws {
        try await Self.inFolder { folder in
            try Self.write(Self.users, to: "elsewhere/users.json", in: folder)
            let archive = folder.appending(path: "archive")
            try FileManager.default.createDirectory(at: archive, withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(
                at: archive.appending(path: "users.json"),
                withDestinationURL: folder.appending(path: "elsewhere/users.json"))
            await #expect(throws: ImportFault.self) {
                _ = try await Self.administration(of: try Self.chat())
                    .importSlack(archive, name: nil, slug: nil, trustsAddresses: false)
            }
        }
    }
}
