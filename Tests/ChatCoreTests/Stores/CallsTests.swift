import ChatModel
import Foundation
import Testing

@testable import ChatCore

/// Calls, as their events tell them to the channel: who is rung, who comes, goes, says no, and how it ends.
@Suite struct CallsTests {
    /// A company, and the direct messages of Olga and Mia.
    private struct Place: Sendable {
        let world: ChatWorld
        let company: Company
        let direct: ChannelID

        init(_ database: TestDatabase) async throws {
            world = try await ChatWorld(database)
            let company = try await world.company()
            self.company = company
            direct = try await world.run {
                try $0.openDirect(with: [company.mia], in: company.workspace, by: company.olga).listing.channel.id
            }
        }

        func start(
            _ kind: CallKind = .room, in channel: ChannelID? = nil, ring: [UserID]? = nil, by user: UserID? = nil,
            room: String = "call-1"
        ) async throws -> (call: Call, isNew: Bool) {
            let (channel, user) = (channel ?? direct, user ?? company.olga)
            return try await world.run {
                try $0.startCall(.init(kind: kind, media: .video, ring: ring, room: room), in: channel, by: user)
            }
        }

        /// What is to be done outside the database.
        func effects(_ body: @escaping @Sendable (ChatTransaction) throws -> Void) async throws -> CallEffects {
            try await world.run {
                try body($0)
                return $0.changes.calls
            }
        }

        func call(_ id: CallID) async throws -> Call { try await world.look { try $0.call(id) } }

        func states(_ id: CallID) async throws -> [UserID: CallParticipantState] {
            Dictionary(uniqueKeysWithValues: try await call(id).participants.map { ($0.user.id, $0.state) })
        }

        func come(_ user: UserID, _ sid: String) async throws {
            try await world.run { try $0.take(.joined(user, sid: sid), of: "call-1") }
        }

        func go(_ user: UserID, _ sid: String, isFinal: Bool = true) async throws {
            try await world.run { try $0.take(.left(user, sid: sid, isFinal: isFinal), of: "call-1") }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `who calls somebody rings them, talks, and hangs up for both`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let (olga, mia) = (place.company.olga, place.company.mia)
        let before = try await place.world.sequence(of: place.company.workspace)
        let (call, isNew) = try await place.start()
        #expect(isNew && call.room == "call-1" && call.kind == .room && call.media == .video)
        #expect(try await place.states(call.id) == [olga: .joined, mia: .ringing])
        // The channel shows it, as a message of its own kind, unread for who was called.
        let message = try await place.world.look { try $0.message(call.messageID, for: mia) }
        #expect(message.kind == .call && message.call == call && message.user.id == olga)

        try await place.come(olga, "PA_1")
        place.world.pass(.seconds(5))
        let effects = try await place.effects { _ = try $0.joinCall(call.id, by: mia) }
        // Her other devices stop.
        #expect(effects.silenced == [call.id: [mia: false]])
        try await place.come(mia, "PA_2")
        #expect(try await place.states(call.id) == [olga: .joined, mia: .joined])

        place.world.pass(.seconds(60))
        let end = try await place.effects { try $0.leaveCall(call.id, by: mia) }
        #expect(end.endedRooms == ["call-1"])
        let over = try await place.call(call.id)
        #expect(over.endReason == .completed && over.endedAt == place.world.now)
        #expect(over.participants.map(\.state) == [.left, .left])
        #expect(over.participants.last?.joinedAt == place.world.now.advanced(by: .seconds(-60)))
        #expect(
            try await place.world.missed(by: mia, in: place.company.workspace, after: before)
                == [.messageSent, .callStarted, .callUpdated, .callEnded])
        // What comes late changes nothing; who comes late finds no room.
        try await place.go(olga, "PA_1")
        #expect(try await place.call(call.id) == over)
        let late = try await place.effects { try $0.take(.joined(mia, sid: "PA_3"), of: "call-1") }
        #expect(late.endedRooms == ["call-1"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `nobody answers in time`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let effects = try await place.effects { chat in
            let (call, _) = try chat.startCall(
                .init(kind: .room, media: .audio, room: "call-1"), in: place.direct, by: place.company.olga)
            #expect(chat.changes.calls.rings == [call.id: [place.company.mia]])
        }
        #expect(effects.deadline == place.world.now.advanced(by: .seconds(45)))
        try await place.come(place.company.olga, "PA_1")
        let started = place.world.now
        place.world.pass(.seconds(44))
        #expect(try await place.world.run { try $0.expireCalls() } == started.advanced(by: .seconds(45)))
        place.world.pass(.seconds(1))
        let missed = try await place.effects { chat in
            let next = try chat.expireCalls()
            #expect(next == nil)
        }
        let call = try #require(
            try await place.world.look { try $0.calls(of: place.direct, for: place.company.mia).items.first })
        #expect(call.endReason == .missed && call.participants.map(\.state) == [.left, .missed])
        #expect(missed.silenced == [call.id: [place.company.mia: true]] && missed.endedRooms == ["call-1"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `no is an answer, and the caller may think better of it`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let (olga, mia) = (place.company.olga, place.company.mia)
        let (first, _) = try await place.start()
        let effects = try await place.effects { try $0.declineCall(first.id, by: mia) }
        #expect(effects.silenced == [first.id: [mia: false]])
        #expect(try await place.call(first.id).endReason == .declined)
        #expect(try await place.world.refusal { try $0.declineCall(first.id, by: mia) } == "call_over")
        #expect(try await place.world.refusal { try $0.joinCall(first.id, by: mia) } == "call_over")

        let (second, isNew) = try await place.start(room: "call-2")
        #expect(isNew && second.id != first.id)
        #expect(try await place.world.refusal { try $0.declineCall(second.id, by: olga) } == "not_ringing")
        let gone = try await place.effects { try $0.leaveCall(second.id, by: olga) }
        #expect(gone.silenced == [second.id: [mia: true]])
        let call = try await place.call(second.id)
        #expect(call.endReason == .cancelled && call.participants.map(\.state) == [.left, .missed])
        // Again is the same as once.
        try await place.world.run { try $0.leaveCall(second.id, by: olga) }
        #expect(try await place.call(second.id) == call)
    }

    @Test(arguments: TestDatabase.allCases)
    func `whoever rings and hangs up again and again waits like who was declined`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let olga = place.company.olga
        // As apps do, by leaving the room, and by ending the call.
        let first = try await place.start().call
        try await place.come(olga, "PA_1")
        place.world.pass(.seconds(2))
        try await place.go(olga, "PA_1")
        #expect(try await place.call(first.id).endReason == .cancelled)
        let second = try await place.start(room: "call-2").call
        _ = try await place.world.run { try $0.endCall(second.id, by: olga) }
        let refusal = try await place.world.refusal {
            try $0.startCall(.init(kind: .room, media: .video, room: "call-3"), in: place.direct, by: olga)
        }
        #expect(refusal == "declined")
        place.world.pass(.seconds(61))
        #expect(try await place.start(room: "call-4").isNew)
    }

    @Test(arguments: TestDatabase.allCases)
    func `one who rings and hangs up keeps nobody else of a group from ringing`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let company = place.company
        let group = try await place.world.run {
            try $0.openDirect(with: [company.mia, company.adam], in: company.workspace, by: company.olga).listing
                .channel
                .id
        }
        for number in 1...3 {
            let call = try await place.start(in: group, ring: [company.adam], by: company.mia, room: "call-\(number)")
                .call
            _ = try await place.world.run { try $0.endCall(call.id, by: company.mia) }
        }
        let call = try await place.start(in: group, room: "call-4").call
        #expect(try await place.states(call.id)[company.adam] == .ringing)
    }

    @Test(arguments: TestDatabase.allCases)
    func `two who call each other meet in one call`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let (first, _) = try await place.start()
        let (second, isNew) = try await place.start(by: place.company.mia, room: "call-2")
        #expect(!isNew && second.id == first.id && second.room == "call-1")
        #expect(
            try await place.states(first.id) == [place.company.olga: .joined, place.company.mia: .joined])
    }

    @Test(arguments: TestDatabase.allCases)
    func `a channel's call rings who is named, and goes on while somebody is there`(database: TestDatabase) async throws
    {
        let place = try await Place(database)
        let company = place.company
        let (call, _) = try await place.start(in: company.general, ring: [company.adam])
        #expect(try await place.states(call.id) == [company.olga: .joined, company.adam: .ringing])
        for (user, sid) in [(company.olga, "PA_1"), (company.mia, "PA_2")] { try await place.come(user, sid) }
        try await place.world.run { try $0.declineCall(call.id, by: company.adam) }
        try await place.go(company.olga, "PA_1")
        #expect(try await place.call(call.id).endedAt == nil)
        // Whoever said no may be asked again.
        let again = try await place.effects { _ = try $0.ringInCall(call.id, [company.adam], by: company.mia) }
        #expect(again.rings == [call.id: [company.adam]])
        #expect(
            try await place.world.look { try $0.runningCalls(of: company.workspace, for: company.adam).map(\.id) }
                == [call.id])
        try await place.go(company.mia, "PA_2")
        let over = try await place.call(call.id)
        #expect(over.endReason == .completed)
        #expect(try await place.states(call.id)[company.adam] == .missed)
    }

    @Test(arguments: TestDatabase.allCases)
    func `who moves to another device stays in the call when the first one goes`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let company = place.company
        let (call, _) = try await place.start(in: company.general)
        try await place.come(company.olga, "PA_1")
        let joined = try await place.call(call.id).participants.first?.joinedAt
        place.world.pass(.seconds(10))
        _ = try await place.world.run { try $0.joinCall(call.id, by: company.olga) }
        try await place.go(company.olga, "PA_1")
        try await place.come(company.olga, "PA_2")
        try await place.go(company.olga, "PA_1")
        let participant = try #require(try await place.call(call.id).participants.first)
        #expect(participant.state == .joined && participant.joinedAt == joined)
        try await place.go(company.olga, "PA_2")
        #expect(try await place.call(call.id).endReason == .cancelled)
    }

    @Test(arguments: TestDatabase.allCases)
    func `who is cut off has time to come back, and a second ticket takes nobody out`(database: TestDatabase)
        async throws
    {
        let place = try await Place(database)
        let (olga, mia) = (place.company.olga, place.company.mia)
        let (call, _) = try await place.start()
        try await place.come(olga, "PA_1")
        _ = try await place.world.run { try $0.joinCall(call.id, by: mia) }
        try await place.come(mia, "PA_2")
        // A client that joins anew is told of as gone, and then as there.
        try await place.go(mia, "PA_2", isFinal: false)
        #expect(try await place.call(call.id).endedAt == nil)
        place.world.pass(.seconds(19))
        try await place.come(mia, "PA_3")
        place.world.pass(.seconds(60))
        #expect(try await place.world.run { try $0.expireCalls() } == nil)
        #expect(try await place.states(call.id) == [olga: .joined, mia: .joined])
        // With a ticket that nobody uses she is where she was.
        _ = try await place.world.run { try $0.joinCall(call.id, by: mia) }
        place.world.pass(.seconds(60))
        #expect(try await place.world.run { try $0.expireCalls() } == nil)
        #expect(try await place.states(call.id)[mia] == .joined)
        // And is gone when that connection goes for good.
        try await place.go(mia, "PA_3", isFinal: false)
        place.world.pass(.seconds(20))
        #expect(try await place.world.run { try $0.expireCalls() } == nil)
        #expect(try await place.call(call.id).endReason == .completed)
    }

    @Test(arguments: TestDatabase.allCases)
    func `who asks for a ticket and does not come is not in the call`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let (call, _) = try await place.start(in: place.company.general)
        place.world.pass(.seconds(60))
        let effects = try await place.effects { chat in
            let next = try chat.expireCalls()
            #expect(next == nil)
        }
        #expect(try await place.call(call.id).endReason == .cancelled && effects.endedRooms == ["call-1"])
    }

    @Test(arguments: TestDatabase.allCases)
    func `who leaves the channel leaves its call, and is let in no more`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let company = place.company
        let (call, _) = try await place.start(in: company.general)
        try await place.come(company.olga, "PA_1")
        _ = try await place.world.run { try $0.joinCall(call.id, by: company.mia) }
        try await place.come(company.mia, "PA_2")
        let left = try await place.effects { try $0.remove(company.mia, from: company.general, by: company.olga) }
        #expect(left.departures == [.init(room: "call-1", user: company.mia)])
        #expect(try await place.states(call.id)[company.mia] == .left)
        // With the ticket that she still has.
        let back = try await place.effects { try $0.take(.joined(company.mia, sid: "PA_3"), of: "call-1") }
        #expect(back.departures == [.init(room: "call-1", user: company.mia)])
        #expect(try await place.states(call.id)[company.mia] == .left)
        #expect(try await place.world.refusal { try $0.joinCall(call.id, by: company.mia) } == "not_in_channel")
        // An archived channel has no call; a deactivated person is in none.
        _ = try await place.world.run { try $0.setArchived(true, company.general, by: company.olga) }
        #expect(try await place.call(call.id).endedAt != nil)
        let (direct, _) = try await place.start(room: "call-2")
        try await place.world.run { try $0.deactivate(company.mia) }
        #expect(try await place.call(direct.id).endReason == .missed)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a call between two has two, and ends with a device that is gone`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let company = place.company
        #expect(
            try await place.world.refusal {
                try $0.startCall(
                    .init(kind: .peer, media: .audio, ring: [company.adam, company.mia], room: "call-9"),
                    in: company.general, by: company.olga)
            } == "invalid_kind")
        let (call, _) = try await place.start(.peer, in: company.general, ring: [company.mia])
        _ = try await place.world.run { try $0.joinCall(call.id, by: company.mia) }
        #expect(try await place.world.refusal { try $0.joinCall(call.id, by: company.adam) } == "call_full")
        #expect(
            try await place.world.refusal { try $0.ringInCall(call.id, [company.adam], by: company.mia) }
                == "call_between_two")
        // A room of this name on a server of rooms is somebody else's.
        try await place.world.run { try $0.take(.finished, of: "call-1") }
        let gone = try await place.effects {
            try $0.leavePeerCalls(of: company.olga)
            try $0.leavePeerCalls(of: company.mia)
        }
        #expect(try await place.call(call.id).endReason == .completed && gone.endedRooms.isEmpty)
    }

    @Test(arguments: TestDatabase.allCases)
    func `calls are of who is in their channel`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let company = place.company
        let (call, _) = try await place.start()
        for user in [company.adam, company.zoe] {
            #expect(try await place.world.refusal { try $0.call(call.id, for: user) } == "call_not_found")
            #expect(try await place.world.refusal { try $0.joinCall(call.id, by: user) } == "call_not_found")
            #expect(try await place.world.refusal { try $0.endCall(call.id, by: user) } == "call_not_found")
            #expect(
                try await place.world.refusal { try $0.calls(of: place.direct, for: user) } == "channel_not_found")
        }
        // In a channel whoever started it may end it for all, or an admin; in direct messages each of the two.
        let (general, _) = try await place.start(in: company.general, by: company.mia, room: "call-2")
        let gus = try await place.world.member("ben", of: company)
        #expect(try await place.world.refusal { try $0.endCall(general.id, by: gus) } == "not_yours")
        #expect(try await place.world.run { try $0.endCall(general.id, by: company.adam).endReason } == .cancelled)
        #expect(try await place.world.run { try $0.endCall(call.id, by: company.mia).endReason } == .cancelled)
        #expect(
            try await place.world.refusal {
                try $0.startCall(
                    .init(kind: .room, media: .audio, ring: [company.zoe], room: "call-3"), in: company.general,
                    by: company.olga)
            } == "user_not_found")
    }

    @Test(arguments: TestDatabase.allCases)
    func `a server that comes back knows that its rooms are gone`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let (first, _) = try await place.start()
        let (second, _) = try await place.start(in: place.company.general, room: "call-2")
        try await place.world.run { try $0.failCalls(try $0.runningCalls()) }
        for id in [first.id, second.id] { #expect(try await place.call(id).endReason == .failed) }
        #expect(try await place.world.run { try $0.expireCalls() } == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `calls of servers that are no more are over, and those of others go on`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let (one, two) = (NodeID(UUID()), NodeID(UUID()))
        func start(_ room: String, in channel: ChannelID, at node: NodeID) async throws -> Call {
            try await place.world.run {
                try $0.startCall(
                    .init(
                        kind: .room, media: .audio, room: room,
                        node: CallNode(id: node, url: "https://\(room).example.org")), in: channel,
                    by: place.company.olga
                ).call
            }
        }
        let first = try await start("call-1", in: place.direct, at: one)
        let second = try await start("call-2", in: place.company.general, at: two)
        #expect(first.nodeURL == "https://call-1.example.org")
        try await place.world.run { try $0.failCalls(but: [one, two], CallKind.allCases) }
        try await place.world.run { try $0.failCalls(but: [one], [.peer]) }
        for call in [first, second] { #expect(try await place.call(call.id).endedAt == nil) }
        let effects = try await place.effects { try $0.failCalls(but: [two], CallKind.allCases) }
        #expect(effects.endedRooms == ["call-1"])
        #expect(try await place.call(first.id).endReason == .failed)
        #expect(try await place.call(second.id).endedAt == nil)
        // One that names no server is a cluster's.
        let (third, _) = try await place.start(room: "call-3")
        try await place.world.run { try $0.failCalls(but: [], [.room]) }
        #expect(try await place.call(second.id).endReason == .failed)
        #expect(try await place.call(third.id).endedAt == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a server is told whose calls it carries, and which are over`(database: TestDatabase) async throws {
        let place = try await Place(database)
        let (one, two) = (NodeID(UUID()), NodeID(UUID()))
        let (olga, mia) = (place.company.olga, place.company.mia)
        func start(_ room: String, in channel: ChannelID, at node: NodeID) async throws -> CallID {
            let new = ChatTransaction.NewCall(
                kind: .room, media: .audio, room: room, node: CallNode(id: node, url: "https://example.org"))
            return try await place.world.run { try $0.startCall(new, in: channel, by: olga).call.id }
        }
        let first = try await start("call-1", in: place.direct, at: one)
        _ = try await start("call-2", in: place.company.general, at: two)
        #expect(try await place.world.look { try $0.callsCarried(by: one) }.running == ["call-1": [olga]])
        _ = try await place.world.run { try $0.joinCall(first, by: mia) }
        #expect(try await place.world.look { try $0.callsCarried(by: one) }.running == ["call-1": [olga, mia]])
        _ = try await place.world.run { try $0.endCall(first, by: mia) }
        let over = try await place.world.look { try $0.callsCarried(by: one) }
        #expect(over.running.isEmpty && over.ended == ["call-1"])
        place.world.pass(.seconds(3_601))
        #expect(try await place.world.look { try $0.callsCarried(by: one) } == .init())
    }

    /// They stay one of those whose messages these are.
    @Test(arguments: TestDatabase.allCases)
    func `who was removed from the workspace does not come back into a call, and is not rung`(
        database: TestDatabase
    ) async throws {
        let place = try await Place(database)
        let (olga, mia, adam) = (place.company.olga, place.company.mia, place.company.adam)
        let group = try await place.world.run {
            try $0.openDirect(with: [mia, adam], in: place.company.workspace, by: olga).listing.channel.id
        }
        let (first, _) = try await place.start(in: group, ring: [])
        for (user, sid) in [(olga, "PA_1"), (adam, "PA_2"), (mia, "PA_3")] { try await place.come(user, sid) }
        try await place.world.run { try $0.removeMember(mia, from: place.company.workspace, by: olga) }
        #expect(try await place.states(first.id) == [olga: .joined, adam: .joined, mia: .left])
        let effects = try await place.effects { try $0.take(.joined(mia, sid: "PA_4"), of: "call-1") }
        #expect(effects.departures == [.init(room: "call-1", user: mia)])
        #expect(try await place.states(first.id)[mia] == .left)
        #expect(try await place.world.refusal { try $0.ringInCall(first.id, [mia], by: olga) } == "user_not_found")
        _ = try await place.world.run { try $0.endCall(first.id, by: olga) }
        let (second, _) = try await place.start(in: group, room: "call-2")
        #expect(try await place.states(second.id) == [olga: .joined, adam: .ringing])
    }

    @Test(arguments: TestDatabase.allCases)
    func `a channel's calls come page by page, the newest first`(database: TestDatabase) async throws {
        let place = try await Place(database)
        var ids: [CallID] = []
        for number in 0..<5 {
            place.world.pass(.seconds(1))
            let (call, _) = try await place.start(in: place.company.general, room: "call-\(number)")
            _ = try await place.world.run { try $0.endCall(call.id, by: place.company.olga) }
            ids.insert(call.id, at: 0)
        }
        var (found, cursor): ([CallID], Cursor?) = ([], nil)
        repeat {
            let from = cursor
            let page = try await place.world.look {
                try $0.calls(of: place.company.general, for: place.company.mia, before: from, limit: 2)
            }
            found += page.items.map(\.id)
            cursor = page.after
        } while cursor != nil
        #expect(found == ids)
        #expect(
            try await place.world.refusal {
                try $0.calls(of: place.company.general, for: place.company.mia, before: Cursor("s1"))
            } == "invalid_cursor")
    }
}
