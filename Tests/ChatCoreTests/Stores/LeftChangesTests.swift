import ChatModel
import Testing

@testable import ChatCore

/// What a process that serves nobody leaves for a server.
@Suite struct LeftChangesTests {
    @Test(arguments: TestDatabase.allCases)
    func `what has to be done outside the database is taken once, in its order`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let room = "call-1"
        try await world.run {
            _ = try $0.startCall(
                .init(kind: .room, media: .audio, ring: [company.mia], room: room), in: company.general,
                by: company.olga)
        }
        try await world.run { try $0.take(.joined(company.adam, sid: "PA_1"), of: room) }
        #expect(try await world.look { try !$0.hasLeftChanges() })
        for user in [company.adam, company.mia] {
            try await world.run {
                try $0.deactivate(user)
                try $0.leaveChanges()
            }
        }
        #expect(try await world.look { try $0.hasLeftChanges() })
        let taken = try await world.run { try $0.takeLeftChanges() }
        #expect(taken.map(\.loggedOut) == [[company.adam], [company.mia]])
        #expect(taken.map(\.workspaces) == [[company.workspace], [company.workspace]])
        #expect(taken.first?.calls.departures == [.init(room: room, user: company.adam)])
        // Who was rung has missed nothing: it does not ring any more.
        #expect(taken.last?.calls.silenced.values.first == [company.mia: false])
        #expect(try await world.look { try !$0.hasLeftChanges() })
        #expect(try await world.run { try $0.takeLeftChanges() }.isEmpty)
    }

    @Test(arguments: TestDatabase.allCases)
    func `who comes into a workspace, rooms that end, and files come through`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        var told = ChatChanges()
        told.workspaces = [company.workspace]
        told.arrivals = [company.zoe]
        told.calls.endedRooms = ["call-1", "call-2"]
        told.hasLeftovers = true
        told.hasDeletedWorkspaces = true
        try await world.run { [told] in
            $0.changes = told
            try $0.leaveChanges()
        }
        #expect(try await world.run { try $0.takeLeftChanges() } == [told])
    }

    @Test(arguments: TestDatabase.allCases)
    func `where nothing has changed nothing is left`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        try await world.run { try $0.leaveChanges() }
        #expect(try await world.look { try !$0.hasLeftChanges() })
    }

    @Test(arguments: TestDatabase.allCases)
    func `messages and calls are counted in the change that makes them`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let new = ChatTransaction.NewMessage(content: "hello", clientID: "once")
        let first = try await world.run { chat in
            _ = try chat.send(new, to: company.general, by: company.mia)
            let call = try chat.startCall(
                .init(kind: .room, media: .audio, room: "call-1"), in: company.general, by: company.mia
            ).call
            _ = try chat.startCall(
                .init(kind: .room, media: .audio, room: "call-2"), in: company.general, by: company.adam)
            _ = try chat.endCall(call.id, by: company.mia)
            return chat.changes.tally
        }
        #expect(first.messages == 1 && first.callsStarted == 1 && first.callsEnded == [.completed: 1])
        // The same message again is none.
        let again = try await world.run { chat in
            _ = try chat.send(new, to: company.general, by: company.mia)
            return chat.changes.tally
        }
        #expect(again == ChangeTally())
        #expect(try await world.look { try $0.runningCallCount() } == 0)
    }
}
