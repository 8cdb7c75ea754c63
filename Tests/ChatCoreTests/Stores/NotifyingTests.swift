import ChatModel
import Foundation
import Testing

@testable import ChatCore

@Suite struct NotifyingTests {
    /// Gives somebody a device.
    private static func equip(_ user: UserID, _ name: String, in world: ChatWorld) async throws {
        try await world.run {
            let session = try $0.openSession(of: user, on: "Phone", token: secret(name))
            let token = String(repeating: "ab", count: 24) + user.description.filter { $0 != "-" }
            _ = try $0.registerDevice(DevicesTests.request(alert: token), of: user, session: session)
        }
    }

    private static func pushed(
        _ message: Message, in world: ChatWorld
    ) async throws -> [UserID: NotificationReason] {
        try await world.look { try $0.notificationCandidates(for: message) }.reduce(into: [:]) { pushed, candidate in
            if case .push(let reason) = NotificationRule.verdict(candidate.facts) { pushed[candidate.user] = reason }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `whom a message concerns is found in the tables`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, adam, mia, gus) = (company.olga, company.adam, company.mia, company.gus)
        for (user, name) in [(olga, "o"), (adam, "a"), (mia, "m"), (gus, "g")] {
            try await Self.equip(user, name, in: world)
        }
        let room = try await world.channel("room", of: olga, with: adam, mia, gus, in: company)
        try await world.run { try $0.setNotifications(.mentions, of: room, by: adam) }
        try await world.run { try $0.setNotifications(.none, of: room, by: gus) }

        let plain = try await world.say("hello", in: room, by: olga)
        #expect(try await Self.pushed(plain, in: world) == [mia: .channel])
        let named = try await world.say("@adam @gus look", in: room, by: olga)
        #expect(try await Self.pushed(named, in: world) == [mia: .channel, adam: .named])
        let all = try await world.say("@channel look", in: room, by: mia)
        #expect(try await Self.pushed(all, in: world) == [olga: .everybody, adam: .everybody])
        let here = try await world.run {
            try $0.send(.init(content: "@here", peopleHere: [adam]), to: room, by: mia).message
        }
        #expect(try await Self.pushed(here, in: world) == [olga: .channel, adam: .here])
        let reply = try await world.say("well", in: room, by: adam, thread: plain.id)
        #expect(try await Self.pushed(reply, in: world) == [olga: .thread])
        let second = try await world.say("indeed", in: room, by: mia, thread: plain.id)
        #expect(try await Self.pushed(second, in: world) == [olga: .thread, adam: .thread])

        // Who has read on, has gone, or has left the server hears nothing.
        let sequence = all.sequence
        _ = try await world.run { try $0.read(room, upTo: sequence, by: olga) }
        #expect(try await Self.pushed(all, in: world) == [adam: .everybody])
        try await world.run { try $0.removeMember(adam, from: company.workspace, by: olga) }
        #expect(try await Self.pushed(all, in: world) == [:])
        try await world.run { try $0.deactivate(mia) }
        #expect(try await Self.pushed(plain, in: world) == [:])
    }

    @Test(arguments: TestDatabase.allCases)
    func `settings are kept, and are the usual ones at first`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let mia = company.mia
        try await Self.equip(mia, "m", in: world)
        #expect(try await world.look { try $0.notificationSettings(of: mia) } == .usual)
        let message = try await world.say("hello", in: company.general, by: company.olga)
        #expect(try await Self.pushed(message, in: world) == [mia: .channel])

        // The tests' clock begins at noon in London.
        for days in [nil, Set(Weekday.allCases)] {
            let settings = NotificationSettings(
                quietHours: QuietHours(
                    from: try #require(TimeOfDay("11:00")), to: try #require(TimeOfDay("13:00")),
                    timeZone: "Europe/London", days: days),
                pushWhen: .always, showPreview: false)
            try await world.run { try $0.setNotificationSettings(settings, of: mia) }
            #expect(try await world.look { try $0.notificationSettings(of: mia) } == settings)
            #expect(try await Self.pushed(message, in: world) == [:])
        }
        let candidate = try await world.look { try $0.notificationCandidates(for: message) }.first { $0.user == mia }
        #expect(candidate?.showsPreview == false && candidate?.facts.isQuiet == true)
        let loud = NotificationSettings(quietHours: nil, pushWhen: .never, showPreview: true)
        try await world.run { try $0.setNotificationSettings(loud, of: mia) }
        #expect(try await world.look { try $0.notificationSettings(of: mia) } == loud)
        let wrong = NotificationSettings(
            quietHours: QuietHours(
                from: try #require(TimeOfDay("11:00")), to: try #require(TimeOfDay("13:00")), timeZone: "Nowhere/Else"),
            pushWhen: .always, showPreview: true)
        #expect(try await world.refusal { try $0.setNotificationSettings(wrong, of: mia) } == "invalid_time_zone")
    }

    @Test(arguments: TestDatabase.allCases)
    func `of devices that change the same settings at once one does`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let mia = try await world.person("mia")
        let other = NotificationSettings(quietHours: nil, pushWhen: .always, showPreview: false)
        for version: Int64 in 0..<3 {
            #expect(try await world.look { try $0.notificationVersion(of: mia) } == version)
            let refusals = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        try await world.refusal { try $0.setNotificationSettings(other, ifVersion: version, of: mia) }
                    }
                }
                return try await group.reduce(into: [String?]()) { $0.append($1) }
            }
            #expect(Set(refusals) == [nil, "outdated"])
        }
        #expect(try await world.refusal { try $0.setNotificationSettings(.usual, ifVersion: 0, of: mia) } == "outdated")
        #expect(try await world.look { try $0.notificationSettings(of: mia) } == other)
    }

    @Test(arguments: TestDatabase.allCases)
    func `the badge counts mentions and direct messages of all workspaces, each once`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, mia) = (company.olga, company.mia)
        func badge() async throws -> Int { try await world.look { try $0.badge(of: mia) } }
        #expect(try await badge() == 0)
        try await world.say("hello", in: company.general, by: olga)
        #expect(try await badge() == 0)
        try await world.say("@mia and @channel", in: company.general, by: olga)
        #expect(try await badge() == 1)
        let direct = try await world.run { try $0.openDirect(with: [mia], in: company.workspace, by: olga).listing }
        let channel = direct.channel.id
        try await world.say("one", in: channel, by: olga)
        let last = try await world.say("@mia two", in: channel, by: olga)
        try await world.say("mine", in: channel, by: mia)
        #expect(try await badge() == 3)

        let (other, general) = try await world.run { chat in
            let (listing, general) = try chat.createWorkspace(name: "Other", slug: nil, by: olga)
            try chat.insertMember(mia, as: .member, into: listing.workspace.id)
            try chat.put(mia, into: general.id, in: listing.workspace.id)
            return (listing.workspace.id, general.id)
        }
        let there = try await world.say("@mia", in: general, by: olga)
        #expect(try await badge() == 4)
        try await world.run { try $0.setNotifications(.none, of: general, by: mia) }
        #expect(try await badge() == 3)
        try await world.run { try $0.setNotifications(.all, of: general, by: mia) }
        try await world.run { try $0.delete(there.id, by: olga) }
        #expect(try await badge() == 3)
        try await world.say("@mia", in: general, by: olga)
        try await world.run { try $0.removeMember(mia, from: other, by: olga) }
        #expect(try await badge() == 3)

        let sequence = last.sequence
        _ = try await world.run { try $0.read(channel, upTo: sequence, by: mia) }
        #expect(try await badge() == 1)
        _ = try await world.run { try $0.read(company.general, upTo: sequence, by: mia) }
        #expect(try await badge() == 0)
    }

    @Test(arguments: TestDatabase.allCases)
    func `one has the lease until it is over or given up`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let (one, two) = (UUID(), UUID())
        func take(_ holder: UUID) async throws -> ChatTransaction.Lease {
            try await world.run { try $0.takeLease("push", holder: holder, for: .seconds(20)) }
        }
        #expect(try await take(one) == .taken)
        #expect(try await take(two) == .refused)
        world.pass(.seconds(15))
        #expect(try await take(one) == .kept)
        world.pass(.seconds(15))
        #expect(try await take(two) == .refused)
        // Late, but nobody else was there.
        world.pass(.seconds(10))
        #expect(try await take(one) == .kept)
        world.pass(.seconds(20))
        #expect(try await take(two) == .taken)
        #expect(try await take(one) == .refused)
        try await world.run { try $0.giveUpLease("push", holder: one) }
        #expect(try await take(one) == .refused)
        try await world.run { try $0.giveUpLease("push", holder: two) }
        #expect(try await take(one) == .taken)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a log is read on from where it was, new messages alone`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let workspace = company.workspace
        #expect(try await world.look { try $0.pushPosition(of: workspace) } == 0)
        let old = try await world.say("old", in: company.general, by: company.mia)
        world.pass(.seconds(301))
        let first = try await world.say("first", in: company.general, by: company.mia)
        let firstID = first.id
        _ = try await world.run { try $0.react("👍", to: firstID, by: company.olga) }
        let second = try await world.say("second", in: company.general, by: company.mia)
        let since = world.now.advanced(by: .seconds(-300))
        func messages(after sequence: Int64, limit: Int = 10) async throws -> [Int64] {
            try await world.look {
                try $0.newMessages(of: workspace, after: sequence, since: since, limit: limit).map(\.sequence)
            }
        }
        #expect(try await messages(after: 0) == [first.sequence, second.sequence])
        #expect(try await messages(after: 0, limit: 1) == [first.sequence])
        #expect(try await messages(after: old.sequence - 1) == [first.sequence, second.sequence])
        let sequence = first.sequence
        try await world.run { try $0.setPushPosition(sequence - 1, of: workspace) }
        try await world.run { try $0.setPushPosition(sequence, of: workspace) }
        #expect(try await world.look { try $0.pushPosition(of: workspace) } == sequence)
        #expect(try await messages(after: sequence) == [second.sequence])
        #expect(try await world.look { try $0.newestEvents() } == [workspace: try await world.sequence(of: workspace)])
    }
}
