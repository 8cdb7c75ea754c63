import ChatModel
import Foundation
import Testing

@testable import ChatCore
@testable import ChatServer

/// `GET /workspaces/{workspace_id}/events`, and pages of what was found.
struct MissedEventsTests {
    /// A workspace with so many long messages, its identifier, and the token of who may read it.
    private func withMessages(
        _ count: Int, _ body: (ServerFixture, WorkspaceID, String) async throws -> Void
    ) async throws {
        let fixture = try await ServerFixture()
        let ada = try await fixture.login("ada")
        let bob = try await fixture.login("bob")
        let (owner, other) = (ada.account.profile.id, bob.account.profile.id)
        let workspace = try await fixture.service.write { chat in
            let workspace = try chat.createWorkspace(name: "Team", slug: nil, by: owner).listing.workspace.id
            try chat.insertMember(other, as: .member, into: workspace)
            let direct = try chat.openDirect(with: [other], in: workspace, by: owner).listing.channel.id
            for number in 0..<count {
                let content = "word\(number) " + String(repeating: "😀", count: 11_900)
                _ = try chat.send(ChatTransaction.NewMessage(content: content), to: direct, by: owner)
            }
            return workspace
        }
        try await body(fixture, workspace, ada.accessToken)
    }

    @Test func `what was missed comes in parts of some megabytes, each event once`() async throws {
        struct Part: Decodable {
            struct Event: Decodable { let sequence: Int64 }
            let events: [Event]
            let sequence: Int64
        }
        try await withMessages(120) { fixture, workspace, token in
            var (after, told, parts): (Int64, [Int64], Int) = (0, [], 0)
            while true {
                let path = "/workspaces/\(workspace)/events?after=\(after)"
                let answer = try await fixture.ask("GET", path, token: token)
                #expect(answer.status == 200 && answer.body.count < 3 << 20)
                let part: Part = try answer.json()
                if part.sequence == after { break }
                #expect(part.events.last.map { $0.sequence <= part.sequence } ?? true)
                told += part.events.map(\.sequence)
                (after, parts) = (part.sequence, parts + 1)
            }
            #expect(parts > 2 && told.count > 120 && told == Set(told).sorted())
            let newest = try await fixture.service.read { try $0.sequence(of: workspace) }
            #expect(after == newest)
        }
    }

    @Test func `a page of what was found has 50 messages at most`() async throws {
        try await withMessages(51) { fixture, workspace, token in
            var (found, cursor): (Set<MessageID>, String?) = ([], nil)
            for expected in [50, 1] {
                let place = cursor.map { "&cursor=\($0)" } ?? ""
                let page: Page<SearchResult> = try await fixture.ask(
                    "GET", "/workspaces/\(workspace)/search?query=word&limit=200\(place)", token: token
                ).json()
                #expect(page.items.count == expected)
                found.formUnion(page.items.map(\.message.id))
                cursor = page.after?.text
            }
            #expect(found.count == 51)
        }
    }
}
