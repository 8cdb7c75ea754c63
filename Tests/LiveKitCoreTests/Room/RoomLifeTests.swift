import LiveKitProtocol
import RTCEngine
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

@Suite struct RoomLifeTests {
    @Test func `a room that nobody comes to ends, and takes nobody any more`() throws {
        let venue = Venue { $0.emptyTimeout = .seconds(Int64(30)) }
        venue.run(for: .seconds(Int64(29)))
        #expect(venue.ending == nil)
        venue.run(for: .seconds(Int64(2)))
        #expect(venue.ending == .roomEndIdleTimeout)
        #expect(venue.webhooks.map(\.event) == ["room_started", "room_finished"])
        #expect(venue.room.nextWake == nil)
        #expect(throws: JoinRefusal.roomEnded) { try venue.join("ann") }
    }

    @Test func `a room that all have left ends sooner, unless somebody comes back, and keeps nothing`() throws {
        let venue = Venue()
        let people = [
            try venue.join("ann"), try venue.join("bob", .dual), try venue.join("cat"),
        ]
        try people[1].offer()
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        for person in people {
            try person.publish("camera-\(person.name)", .video)
            try person.publish("voice-\(person.name)", .audio)
        }
        #expect(
            venue.run {
                people.allSatisfy { person in person.lines.contains("< track_subscribed voice-\(person.name)") }
            })
        for number in 0..<30 {
            for person in people {
                try person.picture(number, "camera-\(person.name)")
                try person.sound(number, "voice-\(person.name)")
                if number == 10 { try person.say("hello") }
            }
            venue.run(for: .milliseconds(32))
        }
        #expect(!venue.room.holdsNothing)
        venue.send(.leave(.init()), from: people[0])
        try venue.room.removeParticipant("bob", at: venue.now)
        venue.drain()
        venue.vanish(people[2])
        venue.run(for: .seconds(Int64(70)))
        #expect(venue.room.holdsNothing)
        #expect(venue.ending == nil || venue.ending == .roomEndIdleTimeout)
        #expect(venue.removed.count == 4)
        let events = venue.webhooks.map(\.event)
        #expect(events.filter { $0 == "participant_joined" }.count == 3)
        #expect(events.filter { $0 == "participant_left" }.count == 3)
        #expect(events.filter { $0 == "track_published" }.count == 6)
        #expect(events.filter { $0 == "track_unpublished" }.count == 6)
        #expect(Set(venue.webhooks.map(\.id)).count == venue.webhooks.count)
        #expect(
            venue.webhooks.allSatisfy {
                $0.id.hasPrefix("EV_") && $0.createdAt > Venue.start && $0.room.name == "lounge"
            })
    }

    @Test func `services are told why somebody has left, or has not got in`() throws {
        let venue = Venue()
        let people = try ["ann", "bob", "cat"].map { try venue.join($0) }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.send(.leave(.init()), from: people[0])
        try venue.room.removeParticipant("bob", at: venue.now)
        // Whose client goes before its media could flow.
        let dan = try venue.join("dan", request: { $0.clearPublisherOffer() })
        venue.cut(dan)
        venue.room.end(.roomEndApiDelete, at: venue.now)
        venue.drain()
        let ends = venue.webhooks.filter { ["participant_left", "participant_connection_aborted"].contains($0.event) }
        #expect(
            ends.map { "\($0.participant.identity) \($0.event) \($0.participant.disconnectReason)" } == [
                "ann participant_left clientInitiated", "bob participant_left participantRemoved",
                "dan participant_connection_aborted signalClose", "cat participant_left roomDeleted",
            ])
        #expect(ends.allSatisfy { $0.participant.state == .disconnected })
        // Nobody else has a reason.
        let others = venue.webhooks.filter { event in !ends.contains { $0.id == event.id } }
        #expect(others.allSatisfy { $0.participant.disconnectReason == .unknownReason })
    }

    @Test func `who says goodbye by media alone is told to come again, and goes when that is not done`() throws {
        let venue = Venue()
        let people = try venue.assemble([("ann", .single), ("bob", .single), ("cat", .single)])
        let (ann, bob, cat) = (people[0], people[1], people[2])
        for person in people { _ = person.news() }
        ann.hangUp(at: venue.now)
        #expect(venue.run(atMost: .seconds(Int64(1))) { !ann.lines.isEmpty && ann.lines.last!.hasPrefix("< leave") })
        #expect(ann.news() == ["< leave connectionTimeout reconnect"])
        venue.run(for: .seconds(Int64(4)))
        #expect(venue.room.participants.count == 3)
        venue.run(for: .seconds(Int64(2)))
        #expect(ann.news().last == "< closed")
        // Where nobody can be told, nobody is waited for.
        venue.cut(bob)
        bob.hangUp(at: venue.now)
        venue.run(for: .seconds(Int64(1)))
        #expect(venue.room.participants.map(\.identity) == ["cat"])
        #expect(cat.news().contains("< update bob disconnected"))
    }

    @Test func `who says goodbye while a path is looked for is told to come again`() throws {
        let venue = Venue()
        let ann = try venue.assemble([("ann", .single)])[0]
        _ = ann.news()
        let connection = try #require(venue.room.people.first?.publisher)
        venue.room.connectionChanged(connection, to: .failed, at: venue.now)
        venue.drain()
        #expect(ann.news() == ["< leave connectionTimeout resume"])
        venue.run(for: .seconds(Int64(3)))
        venue.room.connectionChanged(connection, to: .closed, at: venue.now)
        venue.drain()
        #expect(ann.news() == ["< leave connectionTimeout reconnect"])
        venue.run(for: .seconds(Int64(3)))
        #expect(venue.room.participants.isEmpty)
    }

    @Test func `who says goodbye before its media flow is sent away at once`() throws {
        let venue = Venue()
        let bob = try venue.join("bob", .dual)
        let connection = try #require(venue.room.people.first?.subscriber)
        venue.room.connectionChanged(connection, to: .closed, at: venue.now)
        venue.drain()
        #expect(bob.lines.suffix(2) == ["< leave joinFailure reconnect", "< closed"])
        #expect(venue.room.participants.isEmpty)
    }

    @Test func `an empty room waits for its departure time-out`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        venue.send(.leave(.init()), from: ann)
        venue.run(for: .seconds(Int64(19)))
        #expect(venue.ending == nil)
        let again = try venue.join("ann")
        venue.run(for: .seconds(Int64(5)))
        #expect(venue.ending == nil)
        venue.send(.leave(.init()), from: again)
        venue.run(for: .seconds(Int64(21)))
        #expect(venue.ending == .roomEndIdleTimeout)
        #expect(venue.room.holdsNothing)
    }

    /// As LiveKit's egress service joins.
    private func joinRecorder(_ venue: Venue) throws -> TestClient {
        try venue.join(
            "recorder", .dual,
            grants: {
                $0.hidden = true
                $0.recorder = true
                $0.canPublish = false
            }, claims: { $0.kind = "egress" })
    }

    @Test func `a recorder is seen by nobody and takes nobody's place, and clients are told that there is one`() throws
    {
        let venue = Venue { $0.maximumParticipants = 1 }
        let ann = try venue.join("ann")
        func told() -> [Bool] {
            ann.responses.compactMap {
                if case .roomUpdate(let update) = $0 { update.room.activeRecording } else { nil }
            }
        }
        #expect(ann.join?.room.activeRecording == false)
        let recorder = try joinRecorder(venue)
        #expect(told() == [true])
        #expect(recorder.join?.room.activeRecording == true)
        #expect(venue.room.info.activeRecording)
        #expect(venue.room.info.numParticipants == 1)
        #expect(venue.room.participants.last?.kind == .egress)
        venue.send(.leave(.init()), from: recorder)
        #expect(told() == [true, false])
        #expect(!ann.lines.contains { $0.contains("recorder") })
    }

    @Test func `a recorder is one by its kind, whatever it is permitted`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let recorder = try joinRecorder(venue)
        _ = try venue.room.updateParticipant(
            .with {
                $0.identity = "recorder"
                $0.permission = .with {
                    $0.hidden = true
                    $0.canSubscribe = true
                }
            }, at: venue.now)
        venue.drain()
        #expect(venue.room.participants.last?.permission.recorder == false)
        #expect(venue.room.info.activeRecording)
        venue.send(.leave(.init()), from: recorder)
        let told: [Bool] = ann.responses.compactMap {
            if case .roomUpdate(let update) = $0 { update.room.activeRecording } else { nil }
        }
        #expect(told == [true, false])
    }

    @Test func `agents and recorders take nobody's place and are not counted, though everybody sees them`() throws {
        let venue = Venue { $0.maximumParticipants = 1 }
        try venue.join("agent", claims: { $0.kind = "agent" })
        let ann = try venue.join("ann")
        try venue.join("helper", grants: { $0.agent = true })
        try venue.join("recorder", grants: { $0.recorder = true })
        #expect(ann.others.keys.sorted() == ["agent", "helper", "recorder"])
        #expect(venue.room.info.numParticipants == 1)
        #expect(throws: JoinRefusal.roomFull(limit: 1)) { try venue.join("bob") }
    }

    @Test func `a room whose last one is made a recorder is empty, until that is taken back`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.first?.state == .active })
        func permit(recorder isRecorder: Bool) throws {
            _ = try venue.room.updateParticipant(
                .with {
                    $0.identity = "ann"
                    $0.permission = .with {
                        $0.canSubscribe = true
                        $0.recorder = isRecorder
                    }
                }, at: venue.now)
            venue.drain()
        }
        try permit(recorder: true)
        venue.run(for: .seconds(Int64(15)))
        try permit(recorder: false)
        venue.run(for: .seconds(Int64(10)))
        try permit(recorder: true)
        venue.run(for: .seconds(Int64(19)))
        #expect(venue.ending == nil)
        venue.run(for: .seconds(Int64(2)))
        #expect(venue.ending == .roomEndIdleTimeout)
        #expect(ann.lines.suffix(2) == ["< leave roomClosed disconnect", "< closed"])
    }

    @Test func `a room of a recorder alone is empty, and ends with it`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let recorder = try joinRecorder(venue)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .seconds(Int64(30)))
        venue.send(.leave(.init()), from: ann)
        venue.run(for: .seconds(Int64(19)))
        #expect(venue.ending == nil)
        venue.run(for: .seconds(Int64(2)))
        #expect(venue.ending == .roomEndIdleTimeout)
        #expect(recorder.lines.suffix(2) == ["< leave roomClosed disconnect", "< closed"])
        #expect(venue.room.holdsNothing)
    }

    @Test func `a recorder that comes first does not begin the time of an empty room anew`() throws {
        let venue = Venue { $0.emptyTimeout = .seconds(Int64(30)) }
        venue.run(for: .seconds(Int64(20)))
        _ = try joinRecorder(venue)
        venue.run(for: .seconds(Int64(9)))
        #expect(venue.ending == nil)
        venue.run(for: .seconds(Int64(2)))
        #expect(venue.ending == .roomEndIdleTimeout)
    }

    @Test func `those who are sent away together are not told of each other`() throws {
        let venue = Venue()
        let people = try ["ann", "bob", "cat"].map { try venue.join($0) }
        for person in people { try person.publish("voice", .audio) }
        for person in people { _ = person.news() }
        venue.room.end(.roomEndApiDelete, at: venue.now)
        venue.drain()
        for person in people { #expect(person.news() == ["< leave roomDeleted disconnect", "< closed"]) }
    }

    @Test func `a room that is deleted sends everybody away`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob", .dual)
        venue.room.end(.roomEndApiDelete, at: venue.now)
        venue.drain()
        for client in [ann, bob] { #expect(client.lines.suffix(2) == ["< leave roomDeleted disconnect", "< closed"]) }
        #expect(venue.ending == .roomEndApiDelete)
        #expect(venue.room.holdsNothing)
        venue.room.end(.roomEndApiDelete, at: venue.now)
        venue.drain()
        #expect(venue.webhooks.filter { $0.event == "room_finished" }.count == 1)
    }

    @Test func `a client has a new token at once, and every five minutes`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let signal = try #require(ann.signal)
        #expect(venue.tokens[signal] == 1)
        venue.room.sendToken("t", to: signal)
        venue.drain()
        #expect(ann.lines.contains("< refresh_token"))
        #expect(venue.run { venue.room.participants.first?.state == .active })
        venue.run(for: .seconds(Int64(301)))
        #expect(venue.tokens[signal] == 2)
    }

    @Test func `nonsense from a client harms nobody`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        _ = ann.news()
        for message in [
            LiveKitSignalRequest.OneOf_Message.trickle(.with { $0.candidateInit = "{" }),
            .trickle(.with { $0.candidateInit = "{}" }),
            .trickle(.with { $0.candidateInit = #"{"candidate":"nonsense"}"# }),
            .answer(.with { $0.sdp = "v=0" }), .mute(.with { $0.sid = "TR_x" }),
            .trackSetting(.with { $0.trackSids = ["TR_x"] }), .syncState(.init()), .updateLayers(.init()),
            .updateAudioTrack(.with { $0.trackSid = "TR_x" }), .updateVideoTrack(.with { $0.trackSid = "TR_x" }),
            .publishDataTrackRequest(.init()), .unpublishDataTrackRequest(.init()), .updateDataSubscription(.init()),
            .storeDataBlobRequest(.with { $0.requestID = 1 }), .getDataBlobRequest(.with { $0.requestID = 2 }),
            .simulate(.init()), .subscription(.init()),
        ] { venue.send(message, from: ann) }
        #expect(
            ann.news().filter { $0.hasPrefix("< request_response") } == [
                "< request_response unclassifiedError", "< request_response notFound", "< request_response notFound",
                "< request_response notFound", "< request_response invalidHandle", "< request_response notFound",
                "< request_response notAllowed", "< request_response notFound",
            ])
        #expect(venue.room.participants.count == 2)
        // An offer that cannot be applied ends the session of the one who made it.
        venue.send(.offer(.with { $0.sdp = "v=0" }), from: ann)
        #expect(ann.lines.suffix(2) == ["< leave mediaFailure reconnect", "< closed"])
        #expect(venue.room.participants.map(\.identity) == ["bob"])
        #expect(bob.lines.last == "< update ann disconnected")
        // And what comes of it later is ignored.
        venue.room.receive(ClientMessage(.with { $0.ping = 1 }), from: SignalID(rawValue: 1), at: venue.now)
        venue.room.receive(ClientMessage(.init()), from: SignalID(rawValue: 99), at: venue.now)
    }

    @Test func `who does not answer an offer is sent away to begin anew, unless the offer may not have arrived`() throws
    {
        let venue = Venue()
        let people = try venue.assemble([("ann", .single), ("bob", .dual), ("cat", .dual)])
        for client in people.dropFirst() { client.isObedient = false }
        try people[0].publish("camera", .video)
        #expect(venue.run { people[1].lines.contains("< offer #2 with camera") })
        venue.cut(people[2])
        venue.run(for: .seconds(Int64(14)))
        venue.send(.ping(1), from: people[1])
        venue.run(for: .seconds(Int64(2)))
        // What came before an answer was due says nothing of whether the offer has come.
        #expect(venue.room.participants.map(\.identity) == ["ann", "bob", "cat"])
        venue.send(.ping(2), from: people[1])
        venue.run(for: .seconds(Int64(1)))
        #expect(people[1].lines.suffix(2) == ["< leave mediaFailure reconnect", "< closed"])
        #expect(venue.room.participants.map(\.identity) == ["ann", "cat"])
        people[2].isObedient = true
        venue.resume(people[2])
        venue.run(for: .seconds(Int64(16)))
        #expect(venue.room.participants.map(\.identity) == ["ann", "cat"])
    }

    @Test func `times that are told follow the wall clock when it is set`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.first?.state == .active })
        let offset = Interval.seconds(Venue.start)
        // A clock that is drawn along is not followed.
        venue.room.follow(wallClockOffset: offset + .milliseconds(400))
        #expect(venue.room.participants.first?.joinedAtMs == Venue.start * 1_000 + 1_000)
        venue.room.follow(wallClockOffset: offset + .seconds(Int64(3_600)))
        venue.send(.leave(.init()), from: ann)
        let left = try #require(venue.webhooks.first { $0.event == "participant_left" })
        #expect((3_600...3_610).contains(left.createdAt - Venue.start))
    }

    @Test(arguments: [
        (LiveKitDisconnectReason.userRejected, LiveKitDisconnectReason.userRejected),
        (.userUnavailable, .userUnavailable), (.agentError, .agentError), (.unknownReason, .clientInitiated),
        (.serverShutdown, .clientInitiated),
    ])
    func `why somebody says that they leave is told, unless it is not theirs to say`(
        said: LiveKitDisconnectReason, told: LiveKitDisconnectReason
    ) throws {
        let venue = Venue()
        let clients = try venue.assemble([("ann", .single), ("bob", .dual)])
        venue.send(.leave(.with { $0.reason = said }), from: clients[0])
        #expect(clients[1].others["ann"]?.disconnectReason == told)
        let left = try #require(venue.webhooks.last { $0.event == "participant_left" })
        #expect(left.participant.disconnectReason == told)
    }
}
