import ChatModel
import Testing

@testable import ChatCore

@Suite struct WorkspaceDeletionTests {
    /// How many rows a table has.
    private static func count(_ table: String, in world: ChatWorld) async throws -> Int {
        try await world.look {
            var row = try #require(try $0.session.row("SELECT COUNT(*) FROM \(table)"))
            return try row.int()
        }
    }

    private static func takeAwayEverything(in world: ChatWorld) async throws -> Int {
        var parts = 0
        while try await world.run({ try $0.takeAwayWorkspaceLeftovers(atMost: 3) }) { parts += 1 }
        return parts
    }

    @Test(arguments: TestDatabase.allCases)
    func `only who owns a workspace deletes it, and says which`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        func refusal(by user: UserID, _ slug: String = "harbour") async throws -> String? {
            try await world.refusal { try $0.deleteWorkspace(company.workspace, confirmedBy: slug, by: user) }
        }
        for user in [company.adam, company.mia, company.gus] {
            #expect(try await refusal(by: user) == "role_required")
        }
        #expect(try await refusal(by: company.zoe) == "workspace_not_found")
        for slug in ["", "Harbour", "harbour-1"] {
            #expect(try await refusal(by: company.olga, slug) == "invalid_slug")
        }
        #expect(try await refusal(by: company.olga) == nil)
        #expect(try await refusal(by: company.olga) == "workspace_not_found")
        // Whoever runs the server may have asked for it at the same time.
        #expect(try await world.refusal { try $0.deleteWorkspace(company.workspace) } == "workspace_not_found")
        #expect(try await Self.count("workspace_leftovers", in: world) == 1)
    }

    @Test(arguments: TestDatabase.allCases)
    func `it is there for nobody at once, its calls end, and its address is free`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let olga = company.olga
        let message = try await world.say("hello", in: company.general, by: olga)
        let token = secret("link")
        _ = try await world.run {
            try $0.invite(.init(role: .member), with: token, to: company.workspace, by: olga)
        }
        let call = try await world.run {
            try $0.startCall(.init(kind: .room, media: .audio, room: "call-1"), in: company.general, by: olga).call
        }
        let before = try await world.sequence(of: company.workspace)
        let changes = try await world.run {
            try $0.deleteWorkspace(company.workspace, confirmedBy: "harbour", by: olga)
            return $0.changes
        }
        #expect(changes.calls.endedRooms == ["call-1"] && changes.hasDeletedWorkspaces)
        #expect(changes.workspaces == [company.workspace])
        let events = try await world.look { try $0.events(of: company.workspace, after: before) }
        #expect(events.map(\.kind) == [.callEnded, .workspaceDeleted] && events.last?.audience == .everybody)
        #expect(try await world.look { try $0.call(call.id).endedAt } == world.now)

        #expect(try await world.look { try $0.workspaces(of: olga) } == [])
        #expect(
            try await world.refusal { try $0.history(of: company.general, .newest, for: olga) } == "channel_not_found")
        #expect(try await world.refusal { try $0.message(message.id, for: olga) } == "message_not_found")
        #expect(
            try await world.refusal { try $0.missedEvents(of: company.workspace, after: 0, by: olga) }
                == "workspace_not_found")
        #expect(try await world.refusal { try $0.workspace(named: "harbour") } == "workspace_not_found")
        #expect(try await world.refusal { try $0.invitation(with: token) } == "invitation_over")
        #expect(try await world.look { try $0.newestEvents() } == [:])
        let again = try await world.run { try $0.createWorkspace(name: "Harbour", slug: "harbour", by: company.mia) }
        #expect(again.listing.workspace.id != company.workspace)
    }

    @Test(arguments: TestDatabase.allCases)
    func `what it had is taken away in parts, and nothing of others`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, mia) = (company.olga, company.mia)
        let (other, place) = try await world.run { chat in
            let made = try chat.createWorkspace(name: "Other", slug: "other", by: olga)
            return (made.listing.workspace.id, made.channel.id)
        }
        let kept = try await world.say("a tide stays", in: place, by: olga)
        func picture(of user: UserID) async throws -> FileID {
            try await world.run {
                let upload = try $0.beginUpload(.init(name: "a.png", size: 9), to: company.general, by: user)
                let file = try $0.finishUpload(upload.id, by: user)
                try $0.setPicture(.init(width: 1, height: 1, thumbnailType: "image/png"), of: file.id)
                return file.id
            }
        }
        let (olgas, mias, sent) = (try await picture(of: olga), try await picture(of: mia), try await picture(of: mia))
        for (user, file) in [(olga, olgas), (mia, mias)] {
            _ = try await world.run { try $0.setAvatar(file, of: user) }
        }
        let parent = try await world.say("a tide comes", in: company.general, by: olga)
        for number in 0..<8 {
            let reply = try await world.say("@olga \(number)", in: company.general, by: mia, thread: parent.id)
            _ = try await world.run { try $0.react("👍", to: reply.id, by: olga) }
        }
        _ = try await world.run { try $0.send(.init(content: "", fileIDs: [sent]), to: company.general, by: mia) }
        _ = try await world.run {
            try $0.startCall(.init(kind: .room, media: .audio, room: "call-1"), in: company.general, by: olga)
        }
        let open = try await world.run {
            try $0.beginUpload(.init(name: "b", size: 9), to: company.general, by: mia).id
        }
        let call = try await world.run {
            _ = try $0.invite(
                .init(role: .guest, channelIDs: [company.general]), with: secret("link"), to: company.workspace,
                by: olga)
            try $0.setPushPosition(1, of: company.workspace)
            for number in 0..<4 { try $0.remember(.user, "\(number)", from: "a file", as: mia) }
            try $0.remember(.workspace, "", from: "a file", as: company.workspace)
            try $0.remember(.user, "0", from: "another file", as: mia)
            let room = try $0.openDirect(with: [mia], in: company.workspace, by: olga).listing.channel.id
            return try $0.startCall(
                .init(kind: .room, media: .audio, ring: [mia], room: "call-2"), in: room, by: olga
            ).call.id
        }
        try await world.run { try $0.declineCall(call, by: mia) }
        let filled = [
            "channel_members", "members", "invitations", "invitation_channels", "declined_calls", "push_positions",
            "imports", "files",
        ]
        for table in filled { #expect(try await Self.count(table, in: world) > 0, "\(table)") }

        try await world.run { try $0.deleteWorkspace(company.workspace, confirmedBy: "harbour", by: olga) }
        // Links to its files lead nowhere any more; people's own pictures are shown elsewhere.
        #expect(try await world.refusal { try $0.storedFile(sent) } == "file_not_found")
        #expect(try await world.look { try $0.avatar(mias).owner } == mia)
        #expect(try await Self.takeAwayEverything(in: world) > 5)

        for table in [
            "mentions", "reactions", "thread_followers", "calls", "call_participants", "uploads", "workspace_leftovers",
            "invitations", "invitation_channels", "declined_calls", "push_positions",
        ] { #expect(try await Self.count(table, in: world) == 0, "\(table)") }
        // Of the other one, and a picture that Olga shows there.
        for table in ["messages", "channels", "members", "channel_members", "files"] {
            #expect(try await Self.count(table, in: world) == 1, "\(table)")
        }
        #expect(try await Self.count("imports", in: world) == 1)
        #expect(try await Self.count("imports WHERE source = 'another file'", in: world) == 1)
        #expect(try await Self.count("events WHERE kind = 'workspace_deleted'", in: world) == 1)
        let leftovers = try await world.look { try $0.leftovers().map(\.id) }
        #expect(Set(leftovers) == [sent, open, mias])
        // Olga is somewhere else, and shows herself there; Mia is nowhere.
        #expect(try await world.look { try $0.avatar(olgas).channel } == place)
        #expect(try await world.profile(of: mia).avatarURL == nil)
        #expect(try await world.profile(of: olga).avatarURL != nil)

        #expect(try await world.look { try $0.history(of: place, .newest, for: olga).items.map(\.id) } == [kept.id])
        let found = try await world.look { try $0.search(SearchQuery("tide"), .init(), in: other, by: olga) }
        #expect(found.items.map(\.id) == [kept.id])
        // The index of words has room for others.
        try await world.say("a tide goes", in: place, by: olga)
        let more = try await world.look { try $0.search(SearchQuery("tide"), .init(), in: other, by: olga) }
        #expect(more.items.count == 2)
    }
}
