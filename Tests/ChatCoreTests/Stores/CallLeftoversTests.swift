import ChatModel
import Testing

@testable import ChatCore

/// Calls whose end was told in vain, and people who have said no.
@Suite struct CallLeftoversTests {
    private static func start(
        _ room: String, in channel: ChannelID, ring: [UserID]? = nil, by user: UserID, of world: ChatWorld
    ) async throws -> Call {
        try await world.run {
            try $0.startCall(.init(kind: .room, media: .audio, ring: ring, room: room), in: channel, by: user).call
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a call whose room is empty ends by two looks`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, mia) = (company.olga, company.mia)
        let call = try await Self.start("call-1", in: company.general, by: olga, of: world)
        _ = try await world.run { try $0.joinCall(call.id, by: mia) }
        #expect(
            try await world.look { try $0.seatsOfCalls() }
                == [.init(room: "call-1", connected: [:], awaited: [olga, mia])])
        for (user, sid) in [(olga, "PA_1"), (mia, "PA_2")] {
            try await world.run { try $0.take(.joined(user, sid: sid), of: "call-1") }
        }
        var comparison = CallComparison()
        for expected in [0, 2, 0] {
            let seats = try await world.look { try $0.seatsOfCalls() }
            let events = comparison.compare(seats.map { ($0, [:]) })
            #expect(events.count == expected)
            for (room, event) in events { try await world.run { try $0.take(event, of: room) } }
        }
        #expect(try await world.look { try $0.call(call.id).endReason } == .completed)
        #expect(try await world.look { try $0.seatsOfCalls() } == [])
    }

    @Test(arguments: TestDatabase.allCases)
    func `who leaves between the look and the change is not seated again`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, mia) = (company.olga, company.mia)
        let call = try await Self.start("call-1", in: company.general, by: olga, of: world)
        _ = try await world.run { try $0.joinCall(call.id, by: mia) }
        for (user, sid) in [(olga, "PA_1"), (mia, "PA_2")] {
            // Both are awaited.
            try await world.run { try $0.reconcile(.joined(user, sid: sid), of: "call-1") }
        }
        try await world.run { try $0.take(.left(mia, sid: "PA_2", isFinal: true), of: "call-1") }
        let seats = try await world.look { try $0.seatsOfCalls() }
        #expect(seats == [.init(room: "call-1", connected: [olga: "PA_1"], awaited: [])])
        try await world.run { try $0.reconcile(.joined(mia, sid: "PA_3"), of: "call-1") }
        #expect(try await world.look { try $0.seatsOfCalls() } == seats)
        try await world.run { try $0.reconcile(.joined(olga, sid: "PA_4"), of: "call-1") }
        #expect(try await world.look { try $0.seatsOfCalls() }.first?.connected == [olga: "PA_4"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `who has said no twice within a minute has quiet until it is over`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, adam, mia, general) = (company.olga, company.adam, company.mia, company.general)
        let call = try await Self.start("call-1", in: general, ring: [mia], by: olga, of: world)
        _ = try await world.run { try $0.joinCall(call.id, by: adam) }
        try await world.run { try $0.declineCall(call.id, by: mia) }
        world.pass(.seconds(10))
        // Once more is insisting.
        let again = try await world.run { try $0.ringInCall(call.id, [mia], by: olga) }
        #expect(again.state(of: mia) == .ringing)
        try await world.run { try $0.declineCall(call.id, by: mia) }
        #expect(try await world.refusal { try $0.ringInCall(call.id, [mia], by: olga) } == "declined")
        // Among others she is left out, and elsewhere she is rung.
        let gina = try await world.member("gina", of: company)
        let others = try await world.run { try $0.ringInCall(call.id, [mia, gina], by: olga) }
        #expect(others.state(of: mia) == .declined && others.state(of: gina) == .ringing)
        let room = try await world.channel("room", of: adam, with: mia, in: company)
        let other = try await Self.start("call-2", in: room, ring: [mia], by: adam, of: world)
        #expect(other.state(of: mia) == .ringing)
        // A minute after the first of the two.
        world.pass(.seconds(51))
        let later = try await world.run { try $0.ringInCall(call.id, [mia], by: olga) }
        #expect(later.state(of: mia) == .ringing)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a new call is no way around it`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, mia) = (company.olga, company.mia)
        let direct = try await world.run {
            try $0.openDirect(with: [mia], in: company.workspace, by: olga).listing.channel.id
        }
        for room in ["call-1", "call-2"] {
            let call = try await Self.start(room, in: direct, by: olga, of: world)
            try await world.run { try $0.declineCall(call.id, by: mia) }
        }
        #expect(
            try await world.refusal {
                try $0.startCall(.init(kind: .room, media: .audio, room: "call-3"), in: direct, by: olga)
            } == "declined")
        world.pass(.seconds(61))
        #expect(try await Self.start("call-3", in: direct, by: olga, of: world).state(of: mia) == .ringing)
    }
}
