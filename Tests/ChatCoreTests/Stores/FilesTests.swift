import ChatModel
import Testing

@testable import ChatCore

/// Uploads, files, and the messages that they are in.
@Suite struct FilesTests {
    /// A file of somebody's that waits for its message.
    private func file(
        _ name: String = "plan.txt", in channel: ChannelID, by user: UserID, of world: ChatWorld, size: Int64 = 5
    ) async throws -> FileInfo {
        world.pass(.seconds(1))
        return try await world.run {
            let upload = try $0.beginUpload(
                .init(name: name, mediaType: "text/plain", size: size), to: channel, by: user)
            try $0.setHandle("handle", of: upload.id)
            return try $0.finishUpload(upload.id, by: user)
        }
    }

    private func send(
        _ files: [FileID], _ content: String = "", to channel: ChannelID, by user: UserID, of world: ChatWorld
    ) async throws -> Message {
        world.pass(.seconds(1))
        return try await world.run {
            try $0.send(.init(content: content, fileIDs: files), to: channel, by: user).message
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `what was announced is what becomes the file`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let digest = String(repeating: "Ab", count: 32)
        let new = ChatTransaction.NewUpload(
            name: "../a\u{202E}gpj.exe", mediaType: "Image/PNG; q=1", size: 1_000, sha256: digest)
        let upload = try await world.run { try $0.beginUpload(new, to: company.general, by: company.mia) }
        #expect(upload.name == "..agpj.exe" && upload.mediaType == "image/png" && upload.sha256 == digest.lowercased())
        #expect(upload.expiresAt == world.now.advanced(by: .seconds(86_400)))
        try await world.run { try $0.setHandle("a handle", of: upload.id) }
        #expect(try await world.look { try $0.upload(upload.id, by: company.mia).handle } == "a handle")
        #expect(try await world.refusal { try $0.upload(upload.id, by: company.olga) } == "upload_not_found")
        let facts = ChatTransaction.PictureFacts(width: 640, height: 480, thumbnailType: "image/jpeg")
        let bare = try await world.run { try $0.finishUpload(upload.id, by: company.mia) }
        #expect(!bare.hasThumbnail && bare.width == nil)
        try await world.run { try $0.setPicture(facts, of: upload.id) }
        #expect(
            try await world.look { try $0.storedFile(upload.id).info }
                == FileInfo(
                    id: upload.id, name: "..agpj.exe", mediaType: "image/png", size: 1_000, width: 640, height: 480,
                    hasThumbnail: true, createdAt: world.now))
    }

    @Test(arguments: TestDatabase.allCases)
    func `an upload that is finished again is the same file, for who sent it and as long as it is there`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let sent = try await file(in: company.general, by: company.mia, of: world)
        #expect(try await world.run { try $0.finishUpload(sent.id, by: company.mia) } == sent)
        #expect(try await world.look { try $0.finishedUpload(sent.id, by: company.mia) } == sent)
        #expect(try await world.refusal { try $0.finishUpload(sent.id, by: company.olga) } == "upload_not_found")
        let message = try await send([sent.id], to: company.general, by: company.mia, of: world)
        #expect(try await world.run { try $0.finishUpload(sent.id, by: company.mia) } == sent)
        // Who may read it has not sent it.
        #expect(try await world.look { try $0.finishedUpload(sent.id, by: company.olga) } == nil)
        #expect(try await world.refusal { try $0.finishUpload(sent.id, by: company.olga) } == "upload_not_found")
        try await world.run { try $0.delete(message.id, by: company.mia) }
        #expect(try await world.refusal { try $0.finishUpload(sent.id, by: company.mia) } == "upload_not_found")
        let open = try await world.run {
            try $0.beginUpload(.init(name: "a.txt", size: 1), to: company.general, by: company.mia)
        }
        #expect(try await world.look { try $0.finishedUpload(open.id, by: company.mia) } == nil)
    }

    @Test func `an upload that two servers finish at once is the same file at both`() async throws {
        let world = try await ChatWorld(.postgres)
        let company = try await world.company()
        let upload = try await world.run {
            try $0.beginUpload(.init(name: "a.txt", size: 1), to: company.general, by: company.mia)
        }
        let (isFinished, finished) = AsyncStream<Void>.makeStream()
        async let first = world.run { chat in
            defer { finished.finish() }
            let file = try chat.finishUpload(upload.id, by: company.mia)
            finished.yield()
            // Until the other one waits for this transaction's end.
            for _ in 0..<1_000 {
                let waiting = "SELECT 1 FROM pg_locks WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
                if try chat.session.row(waiting) != nil { break }
                _ = try chat.session.row("SELECT 1 FROM (SELECT pg_sleep(0.01)) slept")
            }
            return file
        }
        for await _ in isFinished { break }
        let second = try await world.run { try $0.finishUpload(upload.id, by: company.mia) }
        #expect(try await first == second)
    }

    @Test(arguments: TestDatabase.allCases)
    func `what is found in a picture late is told to who sees its message`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let facts = ChatTransaction.PictureFacts(width: 640, height: 480, thumbnailType: "image/jpeg")
        let picture = try await file(in: company.general, by: company.mia, of: world)
        let message = try await send([picture.id], to: company.general, by: company.mia, of: world)
        let before = try await world.sequence(of: company.workspace)
        #expect(try await world.run { try $0.setPicture(facts, of: picture.id) })
        #expect(try await world.missed(by: company.olga, in: company.workspace, after: before) == [.fileUpdated])
        #expect(try await world.missed(by: company.gus, in: company.workspace, after: before) == [])
        #expect(try await world.look { try $0.message(message.id, for: company.olga).files.first?.width } == 640)
        // With the message goes the event, which has the file's name, and what comes too late is taken away.
        try await world.run { try $0.delete(message.id, by: company.mia) }
        #expect(try await world.missed(by: company.olga, in: company.workspace, after: before) == [.messageDeleted])
        try await world.run { try $0.forgetLeftovers([picture.id]) }
        #expect(try await world.run { try !$0.setPicture(facts, of: picture.id) })
        #expect(try await world.look { try $0.leftovers().map(\.id) } == [picture.id])
    }

    @Test(arguments: TestDatabase.allCases)
    func `what nobody has looked into is found again, for a day`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        func file(_ size: Int64, awaitsLook: Bool = true) async throws -> FileID {
            world.pass(.seconds(1))
            return try await world.run {
                let upload = try $0.beginUpload(.init(name: "a.png", size: size), to: company.general, by: company.mia)
                return try $0.finishUpload(upload.id, by: company.mia, awaitsLook: awaitsLook).id
            }
        }
        func awaited(_ count: Int = 10) async throws -> [FileID] {
            let since = world.now.advanced(by: .seconds(-86_400))
            return try await world.look { try $0.awaitedPictures(since: since, atMost: count).map(\.id) }
        }
        let (picture, none, later) = (try await file(1), try await file(2), try await file(3))
        _ = try await file(4, awaitsLook: false)
        #expect(try await awaited() == [later, none, picture])
        #expect(try await awaited(1) == [later])
        try await world.run {
            try $0.setPicture(.init(width: 1, height: 1, thumbnailType: nil), of: picture)
            try $0.setNoPicture(of: none)
        }
        #expect(try await awaited() == [later])
        world.pass(.seconds(86_400))
        #expect(try await awaited() == [])
    }

    @Test(arguments: TestDatabase.allCases)
    func `what may not be uploaded is refused before it comes`(database: TestDatabase) async throws {
        var limits = Limits()
        limits.fileSize = 100
        limits.workspaceStorage = 150
        limits.openUploads = 2
        limits.refusedFileTypes = ["exe", "video/*"]
        let world = try await ChatWorld(database, limits: limits)
        let company = try await world.company()
        let rows: [(ChatTransaction.NewUpload, String)] = [
            (.init(name: "a", size: 0), "invalid_size"), (.init(name: "a", size: -1), "invalid_size"),
            (.init(name: "a", size: 101), "file_too_large"), (.init(name: "", size: 1), "invalid_name"),
            (.init(name: "..", size: 1), "invalid_name"), (.init(name: "/\u{0}", size: 1), "invalid_name"),
            (.init(name: "a", mediaType: "text", size: 1), "invalid_media_type"),
            (.init(name: "a", mediaType: "text/a b", size: 1), "invalid_media_type"),
            (.init(name: "a", size: 1, sha256: "12"), "invalid_sha256"),
            (.init(name: "A.EXE", size: 1), "file_type_refused"),
            (.init(name: "a", mediaType: "video/mp4", size: 1), "file_type_refused"),
        ]
        for (new, code) in rows {
            #expect(try await world.refusal { try $0.beginUpload(new, to: company.general, by: company.mia) } == code)
        }
        let large = ChatTransaction.NewUpload(name: "a", size: 100)
        try await world.run { try $0.beginUpload(large, to: company.general, by: company.mia) }
        #expect(
            try await world.refusal { try $0.beginUpload(large, to: company.general, by: company.olga) }
                == "storage_full")
        let small = ChatTransaction.NewUpload(name: "a", size: 1)
        try await world.run { try $0.beginUpload(small, to: company.general, by: company.mia) }
        #expect(
            try await world.refusal { try $0.beginUpload(small, to: company.general, by: company.mia) }
                == "too_many_uploads")
        #expect(
            try await world.refusal { try $0.beginUpload(small, to: company.general, by: company.zoe) }
                == "channel_not_found")
        // Those that are too old count no more.
        world.pass(.seconds(86_401))
        try await world.run { try $0.beginUpload(large, to: company.general, by: company.mia) }
    }

    @Test(arguments: TestDatabase.allCases)
    func `of as many uploads as somebody may have the one that is idle for longest gives way`(
        database: TestDatabase
    ) async throws {
        var limits = Limits()
        limits.openUploads = 3
        let world = try await ChatWorld(database, limits: limits)
        let company = try await world.company()
        @Sendable func begin(by user: UserID) async throws -> FileID {
            world.pass(.seconds(1))
            return try await world.run { chat in
                let upload = try chat.beginUpload(.init(name: "a", size: 1), to: company.general, by: user)
                try chat.setHandle("handle", of: upload.id)
                return upload.id
            }
        }
        func isThere(_ id: FileID) async throws -> Bool {
            try await world.refusal { try $0.upload(id, by: company.mia) } == nil
        }
        let hers = try await begin(by: company.olga)
        let (first, second) = (try await begin(by: company.mia), try await begin(by: company.mia))
        let third = try await begin(by: company.mia)
        world.pass(.seconds(500))
        try await world.run { try $0.touchUpload(first) }
        // The last part came to none of them ten minutes ago.
        world.pass(.seconds(97))
        let new = ChatTransaction.NewUpload(name: "a", size: 1)
        #expect(
            try await world.refusal { try $0.beginUpload(new, to: company.general, by: company.mia) }
                == "too_many_uploads")
        world.pass(.seconds(10))
        let fourth = try await begin(by: company.mia)
        #expect(try await !isThere(second))
        #expect(try await world.look { try $0.leftovers() } == [.init(id: second, handle: "handle")])
        #expect(try await world.refusal { try $0.touchUpload(second) } == "upload_not_found")
        #expect(try await world.refusal { try $0.finishUpload(second, by: company.mia) } == "upload_not_found")
        let fifth = try await begin(by: company.mia)
        #expect(try await !isThere(third))
        // The first one goes on, and nobody loses what is of others.
        for upload in [first, fourth, fifth] { #expect(try await isThere(upload)) }
        #expect(try await world.look { try $0.upload(hers, by: company.olga).id } == hers)
        #expect(
            try await world.refusal { try $0.beginUpload(new, to: company.general, by: company.mia) }
                == "too_many_uploads")
    }

    @Test(arguments: TestDatabase.allCases)
    func `a message has its files wherever it is read`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let one = try await file("one", in: company.general, by: company.mia, of: world)
        let two = try await file("two", in: company.general, by: company.mia, of: world)
        let before = try await world.sequence(of: company.workspace)
        let message = try await send([two.id, one.id], to: company.general, by: company.mia, of: world)
        #expect(message.files == [two, one] && message.content == "")
        let words = try await send(
            [try await file(in: company.general, by: company.mia, of: world).id], "look here", to: company.general,
            by: company.mia, of: world)
        try await world.say("look there", in: company.general, by: company.mia)
        let page = try await world.look { try $0.history(of: company.general, .newest, for: company.olga) }
        #expect(page.items.map(\.files.count) == [2, 1, 0])
        var filter = ChatTransaction.SearchFilter()
        filter.features = [.file]
        let wanted = filter
        let found = try await world.look {
            try $0.search(try SearchQuery("look"), wanted, in: company.workspace, by: company.olga).items
        }
        #expect(found == [words])
        #expect(
            try await world.missed(by: company.olga, in: company.workspace, after: before)
                == [.messageSent, .messageSent, .messageSent])
        // Words may go where files stay.
        let edited = try await world.run { try $0.edit(words.id, to: "", by: company.mia) }
        #expect(edited.content == "" && edited.files == words.files)
    }

    @Test(arguments: TestDatabase.allCases)
    func `only files of one's own, of this channel and in no message come into a message`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, with: company.olga, in: company)
        let own = try await file(in: company.general, by: company.mia, of: world)
        let others = try await file(in: company.general, by: company.olga, of: world)
        let elsewhere = try await file(in: crew, by: company.mia, of: world)
        let sent = try await file(in: company.general, by: company.mia, of: world)
        _ = try await send([sent.id], to: company.general, by: company.mia, of: world)
        let rows: [([FileID], String)] = [
            ([others.id], "file_not_found"), ([elsewhere.id], "file_not_found"), ([sent.id], "file_not_found"),
            ([own.id, own.id], "invalid_file_ids"), (Array(repeating: own.id, count: 11), "invalid_file_ids"),
            ([own.id, others.id], "file_not_found"), ([], "invalid_content"),
        ]
        for (files, code) in rows {
            #expect(
                try await world.refusal {
                    try $0.send(.init(content: "", fileIDs: files), to: company.general, by: company.mia)
                } == code)
        }
        #expect(try await world.look { try $0.file(own.id, for: company.mia).message } == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a file is there for who reads its channel, and before it is sent for who sends it`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, with: company.olga, in: company)
        let info = try await file(in: crew, by: company.mia, of: world)
        for user in [company.olga, company.adam, company.gus, company.zoe] {
            #expect(try await world.refusal { try $0.file(info.id, for: user) } == "file_not_found")
        }
        #expect(try await world.look { try $0.file(info.id, for: company.mia).info } == info)
        _ = try await send([info.id], to: crew, by: company.mia, of: world)
        #expect(try await world.look { try $0.file(info.id, for: company.olga).info } == info)
        for user in [company.adam, company.gus, company.zoe] {
            #expect(try await world.refusal { try $0.file(info.id, for: user) } == "file_not_found")
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a workspace's files are those that one may read, newest first, page by page`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, in: company)
        var sent: [FileID] = []
        for (channel, user) in [
            (company.general, company.mia), (crew, company.mia), (company.general, company.olga),
            (company.general, company.mia),
        ] {
            let info = try await file(in: channel, by: user, of: world)
            _ = try await send([info.id], to: channel, by: user, of: world)
            sent.append(info.id)
        }
        _ = try await file(in: company.general, by: company.mia, of: world)
        func list(
            _ user: UserID, after cursor: Cursor? = nil, limit: Int? = nil,
            _ filter: ChatTransaction.FileFilter = .init()
        ) async throws -> Page<SharedFile> {
            try await world.look {
                try $0.files(of: company.workspace, filter, for: user, after: cursor, limit: limit)
            }
        }
        #expect(try await list(company.mia).items.map(\.file.id) == sent.reversed())
        #expect(try await list(company.adam).items.map(\.file.id) == [sent[3], sent[2], sent[0]])
        #expect(try await list(company.gus).items.isEmpty)
        let first = try await list(company.adam, limit: 2)
        #expect(first.items.map(\.file.id) == [sent[3], sent[2]])
        #expect(try await list(company.adam, after: first.after, limit: 2).items.map(\.file.id) == [sent[0]])
        var filter = ChatTransaction.FileFilter()
        filter.sender = company.olga
        #expect(try await list(company.adam, filter).items.map(\.userID) == [company.olga])
        filter = .init()
        filter.channel = crew
        #expect(try await list(company.mia, filter).items.map(\.channelID) == [crew])
        let secret = filter
        #expect(
            try await world.refusal { try $0.files(of: company.workspace, secret, for: company.adam) }
                == "channel_not_found")
    }

    @Test(arguments: TestDatabase.allCases)
    func `a deleted message takes its files along, and so does age`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let sent = try await file(in: company.general, by: company.mia, of: world)
        let message = try await send([sent.id], to: company.general, by: company.mia, of: world)
        #expect(try await world.refusal { try $0.discardFile(sent.id, by: company.mia) } == "file_in_message")
        #expect(try await world.refusal { try $0.discardFile(sent.id, by: company.olga) } == "not_yours")
        let changes = try await world.run {
            try $0.delete(message.id, by: company.mia)
            return $0.changes
        }
        #expect(changes.hasLeftovers)
        #expect(try await world.refusal { try $0.file(sent.id, for: company.mia) } == "file_not_found")
        #expect(try await world.look { try $0.leftovers() } == [.init(id: sent.id, handle: nil)])
        try await world.run { try $0.forgetLeftovers([sent.id]) }

        let own = try await file(in: company.general, by: company.mia, of: world)
        try await world.run { try $0.discardFile(own.id, by: company.mia) }
        let loose = try await file(in: company.general, by: company.mia, of: world)
        world.pass(.seconds(1))
        let upload = try await world.run {
            let upload = try $0.beginUpload(.init(name: "a", size: 1), to: company.general, by: company.mia)
            try $0.setHandle("h", of: upload.id)
            return upload
        }
        world.pass(.seconds(86_399 - 10))
        try await world.run { try $0.expireFiles() }
        #expect(try await world.look { try $0.leftovers() } == [.init(id: own.id, handle: nil)])
        world.pass(.seconds(20))
        try await world.run { try $0.expireFiles() }
        #expect(
            try await world.look { try $0.leftovers() } == [
                .init(id: own.id, handle: nil), .init(id: loose.id, handle: nil), .init(id: upload.id, handle: "h"),
            ])
    }

    @Test(arguments: TestDatabase.allCases)
    func `a picture of one's own becomes oneself, and takes the former's place`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        func picture() async throws -> FileID {
            world.pass(.seconds(1))
            return try await world.run {
                let new = ChatTransaction.NewUpload(name: "me.png", mediaType: "image/png", size: 9)
                let upload = try $0.beginUpload(new, to: company.general, by: company.mia)
                let file = try $0.finishUpload(upload.id, by: company.mia)
                try $0.setPicture(.init(width: 1, height: 1, thumbnailType: "image/png"), of: file.id)
                return file.id
            }
        }
        let (one, two) = (try await picture(), try await picture())
        let account = try await world.run { try $0.setAvatar(one, of: company.mia) }
        #expect(account.profile.avatarURL == "/api/v1/avatars/\(one)")
        #expect(try await world.look { try $0.avatar(one).owner } == company.mia)
        #expect(try await world.refusal { try $0.avatar(two) } == "file_not_found")
        #expect(try await world.refusal { try $0.setAvatar(two, of: company.olga) } == "file_not_found")
        let text = try await file(in: company.general, by: company.mia, of: world)
        #expect(try await world.refusal { try $0.setAvatar(text.id, of: company.mia) } == "invalid_file_id")
        try await world.run { try $0.setAvatar(two, of: company.mia) }
        #expect(try await world.refusal { try $0.avatar(one) } == "file_not_found")
        #expect(try await world.look { try $0.leftovers() } == [.init(id: one, handle: nil)])
        #expect(try await world.run { try $0.setAvatar(nil, of: company.mia) }.profile.avatarURL == nil)
        #expect(try await world.look { try $0.leftovers().count } == 2)
    }
}
