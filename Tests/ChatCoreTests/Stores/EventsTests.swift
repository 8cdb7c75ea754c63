import ChatModel
import Foundation
import Testing

@testable import ChatCore

/// The log of everything that has changed.
@Suite struct EventsTests {
    /// As whoever gets it reads it.
    static func event(_ stored: StoredEvent) throws -> ChatEvent {
        try JSONDecoder().decode(ChatEvent.self, from: Data(stored.json.utf8))
    }

    private static func send(_ content: String, to channel: ChannelID, by user: UserID) -> Body {
        { _ = try $0.send(.init(content: content), to: channel, by: user) }
    }

    private typealias Body = @Sendable (ChatTransaction) throws -> Void

    @Test(arguments: TestDatabase.allCases)
    func `events are numbered without gaps, and what was refused takes no number`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let message = try await world.say("one", in: company.general, by: company.mia)
        _ = try await world.refusal {
            _ = try $0.react("👍", to: message.id, by: company.mia)
            throw ChatError.notFound("everything")
        }
        _ = try await world.refusal { try $0.send(.init(content: ""), to: company.general, by: company.mia) }
        _ = try await world.run { try $0.react("👍", to: message.id, by: company.mia) }
        try await world.say("two", in: company.general, by: company.mia)
        let newest = try await world.sequence(of: company.workspace)
        let events = try await world.look { try $0.events(of: company.workspace, after: 0) }
        #expect(events.map(\.sequence) == Array(1...newest))
        #expect(events.suffix(3).map(\.kind) == [.messageSent, .reactionAdded, .messageSent])
        let part = try await world.look { try $0.events(of: company.workspace, after: newest - 3, limit: 2) }
        #expect(part == Array(events.suffix(3).prefix(2)))
    }

    @Test(arguments: TestDatabase.allCases)
    func `an event as it is kept is the event that is read`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let text = "\"quotes\" / \\ \n\u{2028} 👍 </script>"
        let message = try await world.say(text, in: company.general, by: company.mia)
        let stored = try #require(
            try await world.look { try $0.events(of: company.workspace, after: message.sequence - 1) }.first)
        #expect(stored.audience == .channel(company.general))
        #expect(
            try Self.event(stored)
                == ChatEvent(
                    workspaceID: company.workspace, sequence: message.sequence, at: world.now,
                    change: .messageSent(message)))
        #expect(!stored.json.contains("\n"))
        for event in try await world.look({ try $0.events(of: company.workspace, after: 0) }) {
            #expect(try Self.event(event).change.kind == event.kind)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a change is told to who may see it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (general, workspace) = (company.general, company.workspace)
        // Gina is a guest in `general`, where Gus is not; Adam is in `crew`, where Olga is not.
        let gina = try await world.person("gina")
        try await world.run {
            try $0.insertMember(gina, as: .guest, into: workspace)
            try $0.put(gina, into: general, in: workspace)
        }
        let crew = try await world.channel("crew", of: company.mia, with: company.adam, in: company)
        let watchers = [company.olga, company.adam, gina, company.gus]
        // Olga, Adam, Gina, Gus.
        let rows: [(String, Body, [Int])] = [
            ("message in general", Self.send("one", to: general, by: company.mia), [1, 1, 1, 0]),
            ("message in crew", Self.send("two", to: crew, by: company.mia), [0, 1, 0, 0]),
            (
                "topic of general", { _ = try $0.changeChannel(general, .init(topic: "x"), by: company.mia) },
                [1, 1, 1, 0]
            ),
            ("topic of crew", { _ = try $0.changeChannel(crew, .init(topic: "x"), by: company.mia) }, [0, 1, 0, 0]),
            (
                "public channel", { _ = try $0.createChannel(.public, name: "open", in: workspace, by: company.mia) },
                [1, 1, 0, 0]
            ),
            ("profile of Mia", { _ = try $0.changeProfile(of: company.mia, .init(status: .busy)) }, [1, 1, 1, 0]),
            ("profile of Gus", { _ = try $0.changeProfile(of: company.gus, .init(status: .busy)) }, [1, 1, 0, 1]),
            ("workspace", { _ = try $0.renameWorkspace(workspace, to: "Pier", by: company.olga) }, [1, 1, 1, 1]),
            ("Zoe comes", { try $0.insertMember(company.zoe, as: .member, into: workspace) }, [1, 1, 0, 0]),
        ]
        for (name, body, expected) in rows {
            let before = try await world.sequence(of: workspace)
            try await world.run(body)
            var told: [Int] = []
            for user in watchers {
                told.append(try #require(try await world.missed(by: user, in: workspace, after: before)).count)
            }
            #expect(told == expected, "\(name)")
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `the events of a workspace are absent for who is not in it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        for workspace in [company.workspace, WorkspaceID(company.general.uuid)] {
            await #expect(throws: ChatError.notFound("workspace")) {
                try await world.look { try $0.missedEvents(of: workspace, after: 0, by: company.zoe) }
            }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `who comes into a channel reads of it, and who goes no longer`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, in: company)
        let before = try await world.sequence(of: company.workspace)
        try await world.run { try $0.add(company.adam, to: crew, by: company.mia) }
        try await world.say("hello", in: crew, by: company.mia)
        #expect(
            try await world.missed(by: company.adam, in: company.workspace, after: before)
                == [.channelJoined, .messageSent])
        try await world.run { try $0.remove(company.adam, from: crew, by: company.mia) }
        try await world.say("behind your back", in: crew, by: company.mia)
        #expect(try await world.missed(by: company.adam, in: company.workspace, after: before) == [.channelLeft])
    }

    @Test(arguments: TestDatabase.allCases)
    func `what was missed comes in parts, and each tells where to go on`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, in: company)
        let before = try await world.sequence(of: company.workspace)
        // Olga sees every other one.
        for number in 0..<6 {
            try await world.say("\(number)", in: number.isMultiple(of: 2) ? company.general : crew, by: company.mia)
        }
        let parts: [(after: Int64, seen: [Int64], upTo: Int64)] = [(0, [1, 3], 3), (3, [5], 6), (6, [], 6)]
        for part in parts {
            let missed = try await world.look {
                try $0.missedEvents(of: company.workspace, after: before + part.after, by: company.olga, limit: 2)
            }
            guard case .events(let events, let upTo) = missed else {
                Issue.record("everything is to be read anew")
                continue
            }
            #expect(events.map { $0.sequence - before } == part.seen)
            #expect(upTo - before == part.upTo)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `from the future, and from before what is kept, everything is read anew`(
        database: TestDatabase
    ) async throws {
        var limits = Limits()
        limits.keptEvents = 5
        let world = try await ChatWorld(database, limits: limits)
        let company = try await world.company()
        for number in 0..<10 { try await world.say("\(number)", in: company.general, by: company.mia) }
        let newest = try await world.sequence(of: company.workspace)
        let rows: [(Int64, Bool)] = [
            (newest + 1, true), (.max, true), (-1, true), (.min, true), (0, true), (newest - 5, true),
            (newest - 4, false), (newest, false),
        ]
        for (sequence, isReload) in rows {
            let missed = try await world.look {
                try $0.missedEvents(of: company.workspace, after: sequence, by: company.olga)
            }
            if isReload {
                #expect(missed == .reload(from: newest), "\(sequence)")
            } else {
                guard case .events(let events, upTo: newest) = missed else {
                    Issue.record("\(missed)")
                    continue
                }
                #expect(events.map(\.sequence) == (newest - 3...newest).filter { $0 > sequence })
            }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `what is not kept is taken away at each thousandth event`(database: TestDatabase) async throws {
        var limits = Limits()
        limits.keptEvents = 100
        let world = try await ChatWorld(database, limits: limits)
        let company = try await world.company()
        let other = try await world.run { try $0.createWorkspace(name: "Other", slug: nil, by: company.zoe).listing }
        let workspace = company.workspace
        let first = try await world.look { try $0.events(of: workspace, after: 0) }.map(\.sequence)
        try await world.run {
            try $0.session.run("UPDATE workspaces SET sequence = 998 WHERE id = $1", .id(workspace))
        }
        try await world.say("999", in: company.general, by: company.mia)
        #expect(try await world.look { try $0.events(of: workspace, after: 0) }.map(\.sequence) == first + [999])
        try await world.say("1000", in: company.general, by: company.mia)
        #expect(try await world.look { try $0.events(of: workspace, after: 0) }.map(\.sequence) == [999, 1_000])
        #expect(try await world.missed(by: company.olga, in: workspace, after: 900) == nil)
        #expect(try await world.missed(by: company.olga, in: workspace, after: 901) == [.messageSent, .messageSent])
        // Another workspace keeps its own.
        #expect(try await world.look { try $0.events(of: other.workspace.id, after: 0) }.map(\.sequence) == [1, 2])
    }

    @Test(arguments: TestDatabase.allCases)
    func `a transaction knows what it has changed for who follows`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let other = try await world.run { try $0.createWorkspace(name: "Other", slug: nil, by: company.mia).listing }
        let changed = try await world.run {
            _ = try $0.changeProfile(of: company.mia, .init(status: .away))
            return $0.changes.workspaces
        }
        #expect(changed == [company.workspace, other.workspace.id])
        let read = try await world.run {
            _ = try $0.read(company.general, upTo: 0, by: company.mia)
            return $0.changes.workspaces
        }
        #expect(read == [])
        let arrivals = try await world.run {
            try $0.insertMember(company.zoe, as: .member, into: company.workspace)
            return $0.changes.arrivals
        }
        #expect(arrivals == [company.zoe])
        let loggedOut = try await world.run {
            _ = try $0.openSession(of: company.mia, on: "Phone", token: secret("1"))
            try $0.changePassword(of: company.mia, to: "another", keeping: nil)
            return $0.changes.loggedOut
        }
        #expect(loggedOut == [company.mia])
    }
}
