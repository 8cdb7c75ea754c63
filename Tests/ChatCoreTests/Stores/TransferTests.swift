import ChatModel
import Foundation
import Testing

@testable import ChatCore

/// Exporting a workspace, and importing it elsewhere.
@Suite struct TransferTests {
    /// All records of an export, read in pages of two.
    private static func export(_ workspace: WorkspaceID, of world: ChatWorld) async throws -> [ExportRecord] {
        try await world.look { chat in
            let (newest, found) = (try chat.sequence(of: workspace), try chat.workspace(named: workspace.description))
            var records: [ExportRecord] = [
                .export(ExportHeader(id: "an export of \(workspace)", exportedAt: chat.now)),
                .workspace(ExportedWorkspace(name: found.name, slug: found.slug, createdAt: found.createdAt)),
            ]
            var members: [ExportedMember] = []
            var last = ""
            while true {
                let page = try chat.exportedMembers(of: workspace, after: last, limit: 2)
                guard let end = page.last else { break }
                records += page.map { .user($0.user) }
                members += page.map(\.member)
                last = end.user.username
            }
            var channels: [ExportedChannel] = []
            while true {
                let page = try chat.exportedChannels(
                    of: workspace, after: channels.last.flatMap { ChannelID($0.id) }, limit: 2)
                if page.isEmpty { break }
                channels += page
            }
            var messages: [ExportedMessage] = []
            var place: Int64? = 0
            while let start = place {
                let page = try chat.exportedMessages(of: workspace, from: start, upTo: newest, limit: 2)
                messages += page.messages
                place = page.next
            }
            var places: [ExportedChannelMember] = []
            while true {
                let last = places.last.flatMap { one -> (channel: ChannelID, user: UserID)? in
                    guard let channel = ChannelID(one.channelID), let user = UserID(one.userID) else { return nil }
                    return (channel, user)
                }
                let page = try chat.exportedChannelMembers(of: workspace, after: last, upTo: newest, limit: 2)
                if page.isEmpty { break }
                places += page
            }
            let named = channels.flatMap { $0.userIDs + [$0.createdBy] } + messages.flatMap(\.people)
            let strangers = Set(named + places.map(\.userID)).subtracting(members.map(\.userID)).sorted()
            records += try strangers.compactMap { UserID($0) }.map { .user(try chat.exportedStranger($0)) }
            records += channels.map { .channel($0) } + messages.map { .message($0) }
            records += places.map { .channelMember($0) } + members.map { .member($0) }
            return records + [.end(ExportEnd(messages: messages.count))]
        }
    }

    @discardableResult
    private static func `import`(
        _ records: some Sequence<ExportRecord> & Sendable, into world: ChatWorld, slug: String? = nil,
        trustsAddresses: Bool = false
    ) async throws -> ImportProgress {
        let records = Array(records)
        return try await world.run { chat in
            var progress = ImportProgress(slug: slug, trustsAddresses: trustsAddresses)
            for record in records where !progress.isComplete { try chat.take(record, &progress) }
            return progress
        }
    }

    /// The records but for identifiers: people by their names, channels by theirs, messages by their places.
    private static func comparable(_ records: [ExportRecord]) throws -> [String] {
        var names: [String: String] = [:]
        for record in records {
            switch record {
            case .user(let user): names[user.id] = user.username
            case .channel(let channel):
                names[channel.id] = channel.name ?? channel.userIDs.map { names[$0] ?? $0 }.joined(separator: "+")
            case .message(let message): names[message.id] = "message \(names.count)"
            case .export, .workspace, .channelMember, .member, .end: break
            }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let lines = try records.dropFirst().map { record in
            var line = String(decoding: try encoder.encode(record), as: UTF8.self)
            for (id, name) in names { line.replace(id, with: name) }
            return line
        }
        let isMessage = { (line: String) in line.contains(#""type":"message""#) }
        return lines.filter { !isMessage($0) }.sorted() + lines.filter(isMessage)
    }

    /// A workspace with one of everything.
    private static func busyCompany(in world: ChatWorld) async throws -> Company {
        let company = try await world.company()
        let (olga, adam, mia) = (company.olga, company.adam, company.mia)
        let crew = try await world.channel("crew", of: mia, with: adam, in: company)
        world.pass(.seconds(1))
        let direct = try await world.run {
            try $0.openDirect(with: [olga], in: company.workspace, by: mia).listing.channel.id
        }
        let first = try await world.say("hello @mia and @here", in: company.general, by: olga)
        try await world.say("an answer", in: company.general, by: adam, thread: first.id)
        let deleted = try await world.say("a slip", in: company.general, by: mia)
        try await world.say("why?", in: company.general, by: adam, thread: deleted.id)
        let gone = try await world.say("gone", in: crew, by: mia)
        try await world.say("between us", in: direct, by: olga)
        let last = try await world.say("wird geändert", in: crew, by: adam)
        world.pass(.seconds(1))
        try await world.run { chat in
            _ = try chat.react("👍", to: first.id, by: mia)
            try chat.delete(deleted.id, by: mia)
            try chat.delete(gone.id, by: mia)
            _ = try chat.edit(last.id, to: "geändert \"\\\n", by: adam)
            _ = try chat.setPinned(true, first.id, by: olga)
            _ = try chat.send(.init(content: "once", clientID: "c-1"), to: crew, by: mia)
            _ = try chat.read(company.general, upTo: first.sequence, by: mia)
            try chat.setNotifications(.mentions, of: crew, by: adam)
            let call = try chat.startCall(.init(kind: .room, media: .video, room: "r-1"), in: crew, by: adam).call
            _ = try chat.endCall(call.id, by: adam)
        }
        world.pass(.seconds(1))
        try await world.run { chat in
            _ = try chat.react(":tada:", to: first.id, by: adam)
            _ = try chat.setArchived(true, crew, by: company.mia)
            try chat.deactivate(company.gus)
            // Stays as who wrote, without an address.
            try chat.removeMember(adam, from: company.workspace, by: olga)
        }
        return company
    }

    @Test(arguments: TestDatabase.allCases)
    func `what was imported is exported as it was`(database: TestDatabase) async throws {
        let (here, there) = (try await ChatWorld(database), try await ChatWorld(database))
        let company = try await Self.busyCompany(in: here)
        let records = try await Self.export(company.workspace, of: here)
        there.pass(.seconds(86_400))
        let progress = try await Self.import(records, into: there)
        #expect(progress.isComplete && progress.added.accounts == 4 && progress.added.channels == 3)
        let workspace = try #require(progress.workspace)
        let again = try await Self.export(workspace, of: there)
        #expect(try Self.comparable(again) == Self.comparable(records))
        let text = try Self.comparable(records).joined(separator: "\n")
        #expect(text.contains("mia@example.org") && !text.contains("adam@example.org"))
        #expect(!text.contains("zoe") && !text.contains("hash of") && !text.contains("a slip"))
        // Unread is what was unread.
        let unread = { (world: ChatWorld, workspace: WorkspaceID) in
            try await world.look { chat in
                let mia = try chat.user(named: "mia")
                return try chat.joinedChannels(of: workspace, for: mia).map { $0.membership?.unread }
            }
        }
        #expect(try await unread(there, workspace) == unread(here, company.workspace))
        // Nobody is told of what is old.
        let olga = try await there.look { try $0.user(named: "olga") }
        #expect(try await there.missed(by: olga, in: workspace, after: 0) == [])
        #expect(try await there.look { try $0.credentials(of: "olga")?.passwordHash } == "")
    }

    @Test(arguments: TestDatabase.allCases)
    func `an import that broke off goes on, and again adds nothing`(database: TestDatabase) async throws {
        let (here, there) = (try await ChatWorld(database), try await ChatWorld(database))
        let company = try await Self.busyCompany(in: here)
        let records = try await Self.export(company.workspace, of: here)
        for length in stride(from: 3, to: records.count, by: 4) {
            let progress = try await Self.import(records.prefix(length), into: there)
            #expect(!progress.isComplete)
            // Nobody sees a half of it.
            let ids = try await there.look { try $0.accounts().map(\.profile.id) }
            for id in ids { #expect(try await there.look { try $0.workspaces(of: id) }.isEmpty) }
        }
        // A line of it is missing.
        let place = try #require(records.lastIndex { if case .message = $0 { true } else { false } })
        await #expect(throws: ImportFault.brokenOff) {
            try await Self.import(records[..<place] + records[(place + 1)...], into: there)
        }
        let workspace = try #require(try await Self.import(records, into: there).workspace)
        let first = try await Self.export(workspace, of: there)
        #expect(try Self.comparable(first) == Self.comparable(records))
        let again = try await Self.import(records, into: there, slug: "another")
        #expect(again.workspace == workspace && again.added == ImportProgress.Counts() && again.isComplete)
        #expect(try await Self.comparable(Self.export(workspace, of: there)) == Self.comparable(records))
        #expect(try await there.look { try $0.allWorkspaces() }.count == 1)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a workspace that is deleted meanwhile is filled no more`(database: TestDatabase) async throws {
        let here = try await ChatWorld(database)
        let records = try await Self.export(try await Self.busyCompany(in: here).workspace, of: here)
        let places = [
            try #require(records.firstIndex { if case .channel = $0 { true } else { false } }),
            try #require(records.firstIndex { if case .message = $0 { true } else { false } }),
            records.count - 1,
        ]
        for place in places {
            let there = try await ChatWorld(database)
            let progress = try await Self.import(records.prefix(place), into: there)
            let workspace = try #require(progress.workspace)
            try await there.run { try $0.deleteWorkspace(workspace) }
            await #expect(throws: (any Error).self) {
                try await there.run { chat in
                    var progress = progress
                    try chat.take(records[place], &progress)
                }
            }
            #expect(try await there.look { try $0.events(of: workspace, after: 0).map(\.kind) } == [.workspaceDeleted])
            for id in try await there.look({ try $0.accounts().map(\.profile.id) }) {
                #expect(try await there.look { try $0.workspaceIDs(of: id) } == [])
            }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `people with an account are that account, and names give way`(database: TestDatabase) async throws {
        let (here, there) = (try await ChatWorld(database), try await ChatWorld(database))
        let company = try await Self.busyCompany(in: here)
        let records = try await Self.export(company.workspace, of: here)
        // Of the same address under another name, and of the same name with another address.
        let (olga, mia) = try await there.run { chat in
            (
                try chat.register(
                    NewAccount(
                        email: "Olga@example.org", username: "boss", displayName: "Olga", passwordHash: "kept")),
                try chat.register(
                    NewAccount(
                        email: "other@example.org", username: "mia", displayName: "Mia", passwordHash: "hers"))
            )
        }
        await #expect(throws: ImportFault.unconfirmedAddress(username: "boss")) {
            try await Self.import(records, into: there)
        }
        try await there.run {
            let user = try #require(olga)
            try $0.openEmailToken(secret("a"), for: .verify, of: user)
            _ = try $0.useEmailToken(secret("a"), for: .verify)
        }
        let workspace = try #require(try await Self.import(records, into: there).workspace)
        let boss = try #require(olga)
        #expect(try await there.look { try $0.role(of: boss, in: workspace) } == .owner)
        #expect(try await there.look { try $0.credentials(of: boss)?.passwordHash } == "kept")
        let (other, new) = (try #require(mia), try await there.look { try $0.user(named: "mia2") })
        #expect(try await there.look { try $0.role(of: other, in: workspace) } == nil)
        let general = try await there.look { try $0.channel(named: "general", in: workspace) }
        let messages = try await there.look { try $0.history(of: general, .newest, for: new).items }
        #expect(messages.first?.content == "hello @mia2 and @here")
        #expect(messages.first?.mentions.userIDs == [new])
    }

    @Test(arguments: TestDatabase.allCases)
    func `whoever was put out does not come in again by an account that they have here`(
        database: TestDatabase
    ) async throws {
        let (here, there) = (try await ChatWorld(database), try await ChatWorld(database))
        let company = try await Self.busyCompany(in: here)
        let records = try await Self.export(company.workspace, of: here)
        let gus = try await there.person("gus")
        let workspace = try #require(
            try await Self.import(records, into: there, trustsAddresses: true).workspace)
        #expect(try await there.look { try $0.role(of: gus, in: workspace) } == nil)
        #expect(try await there.look { try $0.workspaces(of: gus) }.isEmpty)
        // Nor into its channels, should they be invited later.
        let again = try await Self.export(workspace, of: there)
        let places = again.compactMap { if case .channelMember(let place) = $0 { place.userID } else { nil } }
        #expect(!places.isEmpty && !places.contains(gus.description))
        let olga = try await there.look { try $0.user(named: "olga") }
        #expect(try await there.look { try $0.role(of: olga, in: workspace) } == .owner)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a workspace whose address is taken gets another`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await Self.busyCompany(in: world)
        let records = try await Self.export(company.workspace, of: world)
        await #expect(throws: ImportFault.self) {
            try await Self.import(records, into: world, trustsAddresses: true)
        }
        let progress = try await Self.import(records, into: world, slug: "copy", trustsAddresses: true)
        let copy = try #require(progress.workspace)
        #expect(copy != company.workspace && progress.added.accounts == 1)
        #expect(try await world.look { try $0.workspace(named: "copy").id } == copy)
        await #expect(throws: ImportFault.newer(version: 2)) {
            try await Self.import(
                [.export(ExportHeader(version: 2, id: "x", exportedAt: ChatWorld.start))], into: world)
        }
        await #expect(throws: ImportFault.order) { try await Self.import(records.dropFirst(), into: world) }
    }

    @Test(arguments: [
        ("hi @ann.", "hi @ann2."), ("@Ann: @anna @ann", "@ann2: @anna @ann2"),
        ("me@ann.org (@ann)", "me@ann.org (@ann2)"),
        ("@", "@"), ("@ann", "@ann2"), ("é @bob @ann-b", "é @bob @ann-b"),
    ])
    func `names behind an @ are replaced`(content: String, expected: String) {
        #expect(MentionNames.replaced(in: content, by: ["ann": "ann2"]) == expected)
    }

    @Test func `names of elsewhere become names of here`() {
        let limits = Limits()
        #expect(Texts.usernameLike("Jane.Doe", limits) == "jane.doe")
        #expect(Texts.usernameLike("-Zoë Ünal-", limits).hasPrefix("zo"))
        #expect(Texts.usernameLike("channel", limits) == "user-channel")
        #expect(Texts.usernameLike("", limits) == "user")
        #expect(Texts.channelNameLike("Größe & Co", limits) == "größe---co")
        #expect(Texts.numbered(String(repeating: "a", count: 32), 12, upTo: 32).utf8.count == 32)
    }
}
