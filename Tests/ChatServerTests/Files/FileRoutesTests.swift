import ChatModel
import Foundation
import Testing

@testable import ChatServer
@testable import SocketIO

/// Files through the API, in a folder of the test's own.
struct FileRoutesTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "roost-routes-\(UUID())")

    /// A server, who is logged in, and a channel of theirs.
    private func inChannel(
        _ thumbnailer: Thumbnailer? = nil, in pictures: String? = nil,
        _ body: (ServerFixture, String, ChannelID) async throws -> Void
    ) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let fixture = try await ServerFixture(
            fileStore: try FolderFileStore(folder: folder.path, partSize: 8), thumbnailer: thumbnailer,
            pictureFolder: pictures)
        let token = try await fixture.login("ada").accessToken
        let workspace: WorkspaceListing = try await fixture.ask(
            "POST", "/workspaces", CreateWorkspaceRequest(name: "Harbour"), token: token
        ).json()
        let channel: ChannelListing = try await fixture.ask(
            "POST", "/workspaces/\(workspace.workspace.id)/channels", CreateChannelRequest(name: "crew"), token: token
        ).json()
        try await body(fixture, token, channel.channel.id)
        await fixture.server.stop()
    }

    private func patch(
        _ id: FileID, _ text: String, at offset: String?, _ fixture: ServerFixture, _ token: String
    ) async throws -> ServerFixture.Answer {
        try await fixture.ask(
            SocketIOHTTPRequest(
                method: "PATCH", path: "\(ChatServer.path)/uploads/\(id)", query: EngineIOQuery(""),
                headers: [("authorization", "Bearer \(token)")] + (offset.map { [("upload-offset", $0)] } ?? []),
                body: Array(text.utf8), remoteAddress: "127.0.0.1:4000", localPort: 80))
    }

    private func begin(
        _ new: BeginUploadRequest, _ channel: ChannelID, _ fixture: ServerFixture, _ token: String
    ) async throws -> FileUpload {
        let answer = try await fixture.ask("POST", "/channels/\(channel)/uploads", new, token: token)
        #expect(answer.status == 201)
        return try answer.json()
    }

    private func file(
        _ text: String, _ new: BeginUploadRequest, _ channel: ChannelID, _ fixture: ServerFixture, _ token: String
    ) async throws -> FileInfo {
        let upload = try await begin(new, channel, fixture, token)
        #expect(try await patch(upload.id, text, at: "0", fixture, token).status == 204)
        return try await fixture.ask("POST", "/uploads/\(upload.id)/complete", token: token).json()
    }

    @Test func `an upload goes on where it is, and nowhere else`() async throws {
        try await inChannel { fixture, token, channel in
            // printf 'hello world!' | sha256sum
            let digest = "7509e5bda0c762d2bac7f90d758b5b2263fa01ccbc542ab5e3df163be08e6ca9"
            let upload = try await begin(
                .init(name: "a.txt", mediaType: "text/plain", size: 12, sha256: digest), channel, fixture, token)
            #expect(upload.offset == 0 && upload.partSize == 8)
            let wrong = try await patch(upload.id, "x", at: "1", fixture, token)
            #expect(try wrong.status == 409 && wrong.error == "wrong_offset")
            #expect(wrong.header("Upload-Offset") == "0")
            for offset in [nil, "", "-1", "x"] {
                #expect(try await patch(upload.id, "x", at: offset, fixture, token).error == "invalid_offset")
            }
            #expect(try await patch(upload.id, "", at: "0", fixture, token).error == "invalid_part")
            #expect(try await patch(upload.id, "123456789", at: "0", fixture, token).error == "part_too_large")
            let first = try await patch(upload.id, "hello ", at: "0", fixture, token)
            #expect(first.status == 204 && first.header("Upload-Offset") == "6")
            let early = try await fixture.ask("POST", "/uploads/\(upload.id)/complete", token: token)
            #expect(try early.error == "upload_incomplete")
            let there = try await fixture.ask("GET", "/uploads/\(upload.id)", token: token)
            #expect(try there.json(FileUpload.self).offset == 6 && there.header("Upload-Offset") == "6")
            #expect(try await patch(upload.id, "world!!", at: "6", fixture, token).error == "part_too_large")
            #expect(try await patch(upload.id, "world!", at: "6", fixture, token).status == 204)
            let done = try await fixture.ask("POST", "/uploads/\(upload.id)/complete", token: token)
            #expect(try done.status == 201 && done.json(FileInfo.self).id == upload.id)
            // As after an answer that was lost.
            let again = try await fixture.ask("POST", "/uploads/\(upload.id)/complete", token: token)
            #expect(again.status == 201 && again.body == done.body)
            #expect(try await fixture.ask("GET", "/uploads/\(upload.id)", token: token).error == "upload_not_found")
        }
    }

    @Test func `what is not what was announced is no file`() async throws {
        try await inChannel { fixture, token, channel in
            let upload = try await begin(
                .init(name: "a", size: 1, sha256: String(repeating: "0", count: 64)), channel, fixture, token)
            _ = try await patch(upload.id, "x", at: "0", fixture, token)
            let answer = try await fixture.ask("POST", "/uploads/\(upload.id)/complete", token: token)
            #expect(try answer.status == 400 && answer.error == "wrong_digest")
            #expect(try await fixture.ask("GET", "/files/\(upload.id)", token: token).status == 404)
        }
    }

    @Test func `a link gives bytes to whoever has it, while it lasts`() async throws {
        try await inChannel { fixture, token, channel in
            let new = BeginUploadRequest(name: "ü.html", mediaType: "text/html", size: 8)
            let info = try await file("<script>", new, channel, fixture, token)
            let link: FileLink = try await fixture.ask("GET", "/files/\(info.id)/link", token: token).json()
            let path = String(link.url.dropFirst(ChatServer.path.count))
            let whole = try await fixture.ask("GET", path)
            #expect(whole.status == 200 && whole.body == Array("<script>".utf8))
            #expect(whole.header("Content-Disposition") == "attachment; filename*=UTF-8''%C3%BC.html")
            #expect(whole.header("Content-Security-Policy") == "default-src 'none'; sandbox")
            #expect(whole.header("X-Content-Type-Options") == "nosniff")
            #expect(whole.headers.filter { $0.name == "Cache-Control" }.map(\.value) == ["private, max-age=300"])
            let part = try await fixture.ask("GET", path, headers: [("range", "bytes=1-6")])
            #expect(part.status == 206 && part.body == Array("script".utf8))
            #expect(part.header("Content-Range") == "bytes 1-6/8")
            let none = try await fixture.ask("GET", path, headers: [("range", "bytes=8-")])
            #expect(none.status == 416 && none.header("Content-Range") == "bytes */8")
            let tag = try #require(whole.header("ETag"))
            #expect(try await fixture.ask("GET", path, headers: [("if-none-match", "\"x\", W/\(tag)")]).status == 304)
            let changed = try await fixture.ask(
                "GET", path, headers: [("range", "bytes=1-6"), ("if-range", "\"another\"")])
            #expect(changed.status == 200)
            #expect(try await fixture.ask("GET", path + "A").error == "bad_link")
            let thumbnail = try await fixture.ask("GET", "/files/\(info.id)/link?thumbnail=true", token: token)
            #expect(try thumbnail.error == "thumbnail_not_found")
            fixture.advance(by: .seconds(301))
            let late = try await fixture.ask("GET", path)
            #expect(try late.status == 410 && late.error == "link_over")
        }
    }

    @Test func `HEAD answers as GET without the bytes, and knows no ranges`() async throws {
        try await inChannel { fixture, token, channel in
            let new = BeginUploadRequest(name: "a.png", mediaType: "image/png", size: 5)
            let info = try await file("bytes", new, channel, fixture, token)
            let link: FileLink = try await fixture.ask("GET", "/files/\(info.id)/link", token: token).json()
            let path = String(link.url.dropFirst(ChatServer.path.count))
            let (whole, head) = (try await fixture.ask("GET", path), try await fixture.ask("HEAD", path))
            #expect(head.status == 200 && head.body == [] && head.header("Content-Length") == "5")
            let names = whole.headers.map { "\($0.name): \($0.value)" }
            #expect(head.headers.dropLast().map { "\($0.name): \($0.value)" } == names)
            let part = try await fixture.ask("HEAD", path, headers: [("range", "bytes=1-2")])
            #expect(part.status == 200 && part.header("Content-Range") == nil)
            let tag = try #require(whole.header("ETag"))
            #expect(try await fixture.ask("HEAD", path, headers: [("if-none-match", tag)]).status == 304)
            #expect(try await fixture.ask("HEAD", path + "A").status == 403)
            #expect(try await fixture.ask("HEAD", "/avatars/\(info.id)").status == 404)
        }
    }

    @Test func `an upload does not wait for a picture that takes long, and no copy of it stays`() async throws {
        let script = FileManager.default.temporaryDirectory.appending(path: "roost-script-\(UUID())")
        let go = script.path + ".go"
        // Says what it has found when it is let.
        let text = "#!/bin/sh\nwhile [ ! -e \(go) ]; do sleep 0.05; done\nprintf '60 40 image/png\\nPNG'\n"
        try Data(text.utf8).write(to: script)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script.path)
        let copies = folder.appending(path: "pictures")
        try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: true)
        let old = copies.appending(path: "left-by-a-crash")
        try Data("x".utf8).write(to: old)
        let past = Date(timeIntervalSinceNow: -600)
        try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: old.path)
        defer { for path in [script.path, go] { try? FileManager.default.removeItem(atPath: path) } }
        let thumbnailer = Thumbnailer(program: script, patience: .seconds(30))
        try await inChannel(thumbnailer, in: copies.path) { fixture, token, channel in
            let new = BeginUploadRequest(name: "a.png", mediaType: "image/png", size: 5)
            let info = try await file("bytes", new, channel, fixture, token)
            #expect(!info.hasThumbnail && info.width == nil)
            #expect(!FileManager.default.fileExists(atPath: old.path))
            #expect(FileManager.default.createFile(atPath: go, contents: nil))
            var known = info
            while !known.hasThumbnail {
                try await Task.sleep(for: .milliseconds(50))
                known = try await fixture.ask("GET", "/files/\(info.id)", token: token).json()
            }
            #expect((known.width, known.height) == (60, 40))
            while try !FileManager.default.contentsOfDirectory(atPath: copies.path).isEmpty { await Task.yield() }
        }
    }

    @Test func `bytes of thumbnails are counted as they go, also people's, and those of HEAD are not`() async throws {
        let script = FileManager.default.temporaryDirectory.appending(path: "roost-script-\(UUID())")
        try Data("#!/bin/sh\nprintf '60 40 image/png\\nPNG'\n".utf8).write(to: script)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script.path)
        defer { try? FileManager.default.removeItem(at: script) }
        let copies = folder.appending(path: "pictures").path
        try await inChannel(Thumbnailer(program: script, patience: .seconds(30)), in: copies) {
            fixture, token, channel in
            let new = BeginUploadRequest(name: "a.png", mediaType: "image/png", size: 5)
            let info = try await file("bytes", new, channel, fixture, token)
            var known = info
            while !known.hasThumbnail {
                try await Task.sleep(for: .milliseconds(50))
                known = try await fixture.ask("GET", "/files/\(info.id)", token: token).json()
            }
            let link: FileLink = try await fixture.ask(
                "GET", "/files/\(info.id)/link?thumbnail=true", token: token
            ).json()
            let picture = try await fixture.ask("PUT", "/users/me/avatar", AvatarRequest(fileID: info.id), token: token)
            #expect(picture.status == 200)
            func counted() async -> String? {
                await fixture.server.metrics().split(separator: "\n")
                    .first { $0.hasPrefix("roost_chat_download_bytes_total ") }?.split(separator: " ").last.map(
                        String.init)
            }
            let paths = [String(link.url.dropFirst(ChatServer.path.count)), "/avatars/\(info.id)"]
            for (path, expected) in zip(paths, ["3", "6"]) {
                #expect(try await fixture.ask("GET", path).body == Array("PNG".utf8))
                #expect(await counted() == expected)
                let head = try await fixture.ask("HEAD", path)
                #expect(head.status == 200 && head.body == [] && head.header("Content-Length") == "3")
                #expect(await counted() == expected)
            }
        }
    }

    @Test func `bytes go with the message that they came with`() async throws {
        try await inChannel { fixture, token, channel in
            let info = try await file("x", .init(name: "a", size: 1), channel, fixture, token)
            let link: FileLink = try await fixture.ask("GET", "/files/\(info.id)/link", token: token).json()
            let message: Message = try await fixture.ask(
                "POST", "/channels/\(channel)/messages", SendMessageRequest(content: "", fileIDs: [info.id]),
                token: token
            ).json()
            #expect(message.files == [info])
            let path = folder.appending(path: "files/\(info.id.description.suffix(2))/\(info.id)").path
            #expect(FileManager.default.fileExists(atPath: path))
            #expect(try await fixture.ask("DELETE", "/messages/\(message.id)", token: token).status == 204)
            let gone = try await fixture.ask("GET", String(link.url.dropFirst(ChatServer.path.count)))
            #expect(try gone.status == 404 && gone.error == "file_not_found")
            while FileManager.default.fileExists(atPath: path) { await Task.yield() }
        }
    }

    @Test func `only parts of who is logged in may be large, and what is too large is told in JSON`() async throws {
        try await inChannel { fixture, token, _ in
            func limit(_ method: String, _ token: String?) -> Int? {
                fixture.server.bodyLimit(
                    of: SocketIOHTTPRequest(
                        method: method, path: "\(ChatServer.path)/uploads/\(UUID())", query: EngineIOQuery(""),
                        headers: token.map { [("authorization", "Bearer \($0)")] } ?? [], body: [],
                        remoteAddress: "127.0.0.1:4000", localPort: 80))
            }
            #expect(limit("PATCH", token) == 8)
            #expect(limit("PATCH", nil) == 256 << 10 && limit("PATCH", "x") == 256 << 10)
            #expect(limit("POST", token) == 256 << 10)
            let request = SocketIOHTTPRequest(
                method: "POST", path: ChatServer.path + "/users/me", query: EngineIOQuery(""), headers: [], body: [],
                remoteAddress: "127.0.0.1:4000", localPort: 80)
            let answer = try #require(fixture.server.tooLarge(request))
            guard case .bytes(let body) = answer.body else {
                Issue.record("no bytes")
                return
            }
            #expect(answer.status == 413)
            #expect(
                try JSONDecoder().decode(ErrorBody.self, from: Data(body)).error.code == "payload_too_large")
        }
    }

    @Test func `twenty uploads that nobody ends keep nobody from the next, which takes the bytes of the idlest away`()
        async throws
    {
        try await inChannel { fixture, token, channel in
            let new = BeginUploadRequest(name: "a.txt", size: 12)
            var uploads: [FileUpload] = []
            for _ in 0..<20 { uploads.append(try await begin(new, channel, fixture, token)) }
            let refused = try await fixture.ask("POST", "/channels/\(channel)/uploads", new, token: token)
            #expect(try refused.status == 409 && refused.error == "too_many_uploads")
            fixture.advance(by: .seconds(300))
            #expect(try await patch(uploads[0].id, "hello ", at: "0", fixture, token).status == 204)
            fixture.advance(by: .seconds(301))
            _ = try await begin(new, channel, fixture, token)
            // The one that goes on is still there; of the others one is gone, with its bytes.
            let rest = try await patch(uploads[0].id, "world!", at: "6", fixture, token)
            #expect(rest.status == 204)
            var gone: [FileID] = []
            for upload in uploads.dropFirst() {
                let answer = try await fixture.ask("GET", "/uploads/\(upload.id)", token: token)
                if answer.status == 404 { gone.append(upload.id) }
            }
            #expect(gone.count == 1)
            let path = folder.appending(path: "uploads/\(try #require(gone.first))").path
            while FileManager.default.fileExists(atPath: path) { await Task.yield() }
        }
    }

    @Test func `a server without a store of files says so`() async throws {
        let fixture = try await ServerFixture()
        let token = try await fixture.login("ada").accessToken
        let answer = try await fixture.ask("GET", "/uploads/\(UUID())", token: token)
        #expect(try answer.status == 503 && answer.error == "no_files")
    }
}
