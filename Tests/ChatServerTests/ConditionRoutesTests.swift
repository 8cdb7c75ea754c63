import ChatModel
import Testing

@testable import ChatServer

/// `If-Match` where two devices of one person, or two admins, may change the same.
struct ConditionRoutesTests {
    @Test func `of two devices that change the settings of notifications the later is told so`() async throws {
        let fixture = try await ServerFixture()
        let token = try await fixture.login("ada").accessToken
        let path = "/users/me/notifications"
        func put(_ when: PushWhen, ifMatch tag: String?) async throws -> ServerFixture.Answer {
            try await fixture.ask(
                "PUT", path, NotificationSettings(quietHours: nil, pushWhen: when, showPreview: true), token: token,
                headers: tag.map { [("if-match", $0)] } ?? [])
        }
        // Also of those that nobody has said yet.
        let usual = try #require(try await fixture.ask("GET", path, token: token).header("ETag"))
        #expect(usual == #""0""#)
        let first = try await put(.always, ifMatch: usual)
        #expect(first.status == 200)
        #expect(first.header("ETag") == #""1""#)
        let late = try await put(.never, ifMatch: usual)
        #expect(late.status == 412)
        #expect(try late.error == "outdated")
        let now = try await fixture.ask("GET", path, token: token)
        #expect(try now.json(NotificationSettings.self).pushWhen == .always)
        #expect(now.header("ETag") == first.header("ETag"))
        #expect(try await put(.never, ifMatch: #""1""#).header("ETag") == #""2""#)
        #expect(try await put(.away, ifMatch: "*").header("ETag") == #""3""#)
        #expect(try await put(.never, ifMatch: nil).header("ETag") == #""4""#)
        #expect(try await put(.away, ifMatch: "W/\"4\"").status == 412)
    }

    @Test func `of two admins who name a workspace the later is told so`() async throws {
        let fixture = try await ServerFixture()
        let token = try await fixture.login("ada").accessToken
        let made: WorkspaceListing = try await fixture.ask(
            "POST", "/workspaces", CreateWorkspaceRequest(name: "Harbour"), token: token
        ).json()
        let path = "/workspaces/\(made.workspace.id)"
        func rename(_ name: String, ifMatch tag: String?) async throws -> ServerFixture.Answer {
            try await fixture.ask(
                "PATCH", path, ChangeWorkspaceRequest(name: name), token: token,
                headers: tag.map { [("if-match", $0)] } ?? [])
        }
        let tag = try #require(try await fixture.ask("GET", path, token: token).header("ETag"))
        let first = try await rename("Port", ifMatch: tag)
        #expect(first.status == 200)
        #expect(first.header("ETag") != tag)
        let late = try await rename("Quay", ifMatch: tag)
        #expect(late.status == 412)
        #expect(try late.error == "outdated")
        let now = try await fixture.ask("GET", path, token: token)
        #expect(try now.json(WorkspaceListing.self).workspace.name == "Port")
        #expect(now.header("ETag") == first.header("ETag"))
        #expect(try await rename("Quay", ifMatch: first.header("ETag")).status == 200)
        #expect(try await rename("Port", ifMatch: nil).status == 200)
    }
}
