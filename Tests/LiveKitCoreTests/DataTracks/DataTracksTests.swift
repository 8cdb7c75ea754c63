import LiveKitProtocol
import RTCEngine
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

@Suite struct DataTracksTests {
    private static func publish(_ name: String, _ handle: UInt32 = 1, of client: TestClient) {
        let request = LiveKitPublishDataTrackRequest.with {
            $0.pubHandle = handle
            $0.name = name
        }
        client.venue.send(.publishDataTrackRequest(request), from: client)
    }

    /// A client takes a track of somebody's, or takes it no more.
    private static func subscribe(_ client: TestClient, to name: String, _ isWanted: Bool = true) {
        let sid = client.venue.names.first { $0.value == name }?.key ?? "DTR_none"
        let update = LiveKitUpdateDataSubscription.Update.with {
            $0.trackSid = sid
            $0.subscribe = isWanted
        }
        client.venue.send(.updateDataSubscription(.with { $0.updates = [update] }), from: client)
    }

    private static func push(_ byte: UInt8, _ handle: UInt16 = 1, of client: TestClient) throws {
        try client.sendBytes(DataTrackPacket(handle: handle, payload: [byte]).bytes, "_data_track")
        client.venue.run(for: .milliseconds(100))
    }

    /// What came, as `track: bytes`, by the numbers that the client was told last.
    private static func received(_ client: TestClient) -> [String] {
        client.dataTrackPackets.compactMap { DataTrackPacket(parsing: $0) }.map { packet in
            let name = client.dataTrackHandles[UInt32(packet.handle)].map { client.venue.named($0) }
            return "\(name ?? "?"): \(Array(packet.payload))"
        }
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `a track is published, told of, asked for, and comes under a number of the subscriber's`(
        _ mode: ConnectionMode
    ) throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", mode), ("bob", mode), ("cat", mode)])
        let (ann, bob, cat) = (clients[0], clients[1], clients[2])
        for client in clients { _ = client.news() }
        Self.publish("pose", 7, of: ann)
        #expect(ann.news() == ["> publish_data_track pose", "< publish_data_track pose"])
        #expect(bob.news() == ["< update ann active [pose]"])
        let info = try #require(bob.others["ann"])
        #expect(info.isPublisher)
        #expect(info.dataTracks.map(\.pubHandle) == [7])
        #expect(info.dataTracks.first?.sid.hasPrefix("DTR_") == true)
        Self.subscribe(bob, to: "pose")
        #expect(bob.news() == ["> subscribe to data", "< data_track_handles 1 ann pose"])
        try Self.push(1, 7, of: ann)
        try Self.push(2, 8, of: ann)
        try Self.push(3, 7, of: ann)
        #expect(Self.received(bob) == ["pose: [1]", "pose: [3]"], "of the other number there is no track")
        #expect(cat.dataTrackPackets.isEmpty, "who has not asked gets nothing")
        Self.subscribe(bob, to: "pose", false)
        #expect(bob.news() == ["> unsubscribe to data", "< data_track_handles "])
        try Self.push(4, 7, of: ann)
        #expect(bob.dataTrackPackets.count == 2)
    }

    @Test func `several tracks of several people have a number each`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .dual), ("cat", .single)])
        let (ann, bob, cat) = (clients[0], clients[1], clients[2])
        Self.publish("pose", 1, of: ann)
        Self.publish("lidar", 2, of: ann)
        Self.publish("wheels", 1, of: cat)
        for name in ["pose", "lidar", "wheels"] { Self.subscribe(bob, to: name) }
        #expect(bob.lines.last == "< data_track_handles 1 ann pose, 2 ann lidar, 3 cat wheels")
        try Self.push(1, 1, of: ann)
        try Self.push(2, 2, of: ann)
        try Self.push(3, 1, of: cat)
        #expect(Self.received(bob) == ["pose: [1]", "lidar: [2]", "wheels: [3]"])
    }

    @Test func `who takes data tracks without asking gets those that are there and those that come`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        Self.publish("pose", 1, of: ann)
        let bob = try venue.join("bob", request: { $0.connectionSettings.autoSubscribeDataTrack = true })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(300))
        Self.publish("lidar", 2, of: ann)
        let lines = bob.lines.filter { $0.hasPrefix("< data_track") || $0.contains("[") }
        #expect(
            lines == [
                "< join bob (ann joined [pose])", "< data_track_handles 1 ann pose", "< update ann active [pose]",
                "< update ann active [pose, lidar]", "< data_track_handles 1 ann pose, 2 ann lidar",
            ])
        try Self.push(5, 2, of: ann)
        #expect(Self.received(bob) == ["lidar: [5]"])
        Self.subscribe(bob, to: "pose", false)
        #expect(bob.lines.last == "< data_track_handles 2 ann lidar")
    }

    @Test func `a track ends for everybody with its publisher's word, permission or session`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        Self.publish("pose", 1, of: ann)
        Self.publish("lidar", 2, of: ann)
        Self.subscribe(bob, to: "pose")
        Self.subscribe(bob, to: "lidar")
        for client in clients { _ = client.news() }
        venue.send(.unpublishDataTrackRequest(.with { $0.pubHandle = 1 }), from: ann)
        #expect(ann.news() == ["> unpublish_data_track", "< unpublish_data_track pose"])
        #expect(bob.news() == ["< data_track_handles 2 ann lidar", "< update ann active [lidar]"])
        venue.send(.unpublishDataTrackRequest(.with { $0.pubHandle = 1 }), from: ann)
        #expect(ann.news() == ["> unpublish_data_track", "< request_response notFound"])
        // Its number and name are free again.
        Self.publish("pose", 1, of: ann)
        #expect(bob.news() == ["< update ann active [lidar, pose]"])
        _ = try venue.room.updateParticipant(
            .with {
                $0.identity = "ann"
                $0.permission = .with { $0.canSubscribe = true }
            }, at: venue.now)
        venue.drain()
        #expect(ann.news().filter { $0.hasPrefix("< unpublish") }.count == 2)
        #expect(bob.news() == ["< data_track_handles ", "< update ann active"])
        Self.publish("pose", 1, of: ann)
        #expect(ann.lines.last == "< request_response notAllowed")
        try Self.push(1, 1, of: ann)
        #expect(bob.dataTrackPackets.isEmpty)
        // Of somebody who leaves, too.
        Self.publish("wheels", 1, of: bob)
        Self.subscribe(ann, to: "wheels")
        _ = ann.news()
        venue.send(.leave(.init()), from: bob)
        #expect(ann.news() == ["< data_track_handles ", "< update bob disconnected"])
        venue.send(.leave(.init()), from: ann)
        venue.run(for: .seconds(Int64(1)))
        #expect(venue.room.holdsNothing)
    }

    @Test func `a request that cannot be met is refused with LiveKit's reason`() throws {
        let venue = Venue()
        let ann = try venue.gather([("ann", .single)])[0]
        Self.publish("pose", 1, of: ann)
        _ = ann.news()
        func reason(_ change: (inout LiveKitPublishDataTrackRequest) -> Void) -> String {
            var request = LiveKitPublishDataTrackRequest.with {
                $0.pubHandle = 2
                $0.name = "lidar"
            }
            change(&request)
            venue.send(.publishDataTrackRequest(request), from: ann)
            return ann.news().last ?? ""
        }
        #expect(reason { $0.pubHandle = 0 } == "< request_response invalidHandle")
        #expect(reason { $0.pubHandle = 65_536 } == "< request_response invalidHandle")
        #expect(reason { $0.name = "" } == "< request_response invalidName")
        #expect(reason { $0.name = String(repeating: "n", count: 257) } == "< request_response invalidName")
        #expect(reason { $0.frameEncoding.custom = "" } == "< request_response invalidRequest")
        #expect(
            reason { $0.schema.encoding.custom = String(repeating: "s", count: 33) }
                == "< request_response invalidRequest")
        let strange = UnknownStorage.withField(1_000, bytes: 20_000)
        #expect(reason { try? $0.schema.merge(serializedBytes: strange) } == "< request_response invalidRequest")
        #expect(reason { $0.pubHandle = 1 } == "< request_response duplicateHandle")
        #expect(reason { $0.name = "pose" } == "< request_response duplicateName")
        let short = UnknownStorage.withField(1_000, bytes: 8)
        #expect(
            reason {
                $0.frameEncoding.wellKnown = .cdr
                try? $0.schema.merge(serializedBytes: short)
            } == "< publish_data_track lidar")
        let kept = venue.room.people[0].dataTracks.last?.info
        #expect(kept?.schema.unknownFields.data.isEmpty == true, "what nobody could check goes to nobody")
        for handle in 3...64 { Self.publish("track \(handle)", UInt32(handle), of: ann) }
        _ = ann.news()
        #expect(reason { ($0.pubHandle, $0.name) = (65, "one more") } == "< request_response limitExceeded")
    }

    @Test func `a publisher's permission and a subscriber's grant decide, whenever they change`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single), ("cat", .single)])
        let (ann, bob, cat) = (clients[0], clients[1], clients[2])
        Self.publish("pose", 1, of: ann)
        venue.send(
            .subscriptionPermission(.with { $0.trackPermissions = [.with { $0.participantIdentity = "cat" }] }),
            from: ann)
        for client in clients { _ = client.news() }
        Self.subscribe(bob, to: "pose")
        #expect(bob.news() == ["> subscribe to data", "< subscription_permission ann pose false"])
        let sid = try #require(venue.names.first { $0.value == "pose" }?.key)
        let again = LiveKitUpdateDataSubscription.Update.with { ($0.trackSid, $0.subscribe) = (sid, true) }
        venue.send(.updateDataSubscription(.with { $0.updates = Array(repeating: again, count: 1_000) }), from: bob)
        #expect(bob.news().count { $0.hasPrefix("< ") } == 1, "however often a request names it")
        venue.send(.subscriptionPermission(.with { $0.allParticipants = true }), from: ann)
        #expect(bob.news() == ["< subscription_permission ann pose true", "< data_track_handles 1 ann pose"])
        #expect(cat.news() == [], "who has not asked for it is told nothing")
        func permit(_ subscribes: Bool) throws {
            _ = try venue.room.updateParticipant(
                .with {
                    $0.identity = "bob"
                    $0.permission = .with {
                        $0.canSubscribe = subscribes
                        $0.canPublishData = true
                    }
                }, at: venue.now)
            venue.drain()
        }
        try permit(false)
        #expect(bob.news().last == "< data_track_handles ")
        try permit(true)
        #expect(bob.news().last == "< data_track_handles 2 ann pose")
        try Self.push(1, 1, of: ann)
        #expect(Self.received(bob) == ["pose: [1]"])
    }

    @Test func `who comes back is told again what comes to it, and what it publishes no more`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        Self.publish("pose", 1, of: ann)
        Self.subscribe(bob, to: "pose")
        venue.cut(bob)
        venue.cut(ann)
        for client in clients { _ = client.news() }
        venue.resume(bob)
        venue.resume(ann)
        #expect(bob.news().contains("< data_track_handles 1 ann pose"))
        let kept = try #require(venue.names.first { $0.value == "pose" }?.key)
        let state = LiveKitSyncState.with {
            $0.publishDataTracks = [kept, "DTR_gone"].map { sid in .with { $0.info.sid = sid } }
        }
        _ = ann.news()
        venue.send(.syncState(state), from: ann)
        #expect(ann.news() == ["< unpublish_data_track "])
        try Self.push(1, 1, of: ann)
        #expect(Self.received(bob) == ["pose: [1]"])
    }

    @Test func `who was cut off before the answer hears when it is back that its data track is published`() throws {
        let venue = Venue()
        let ann = try venue.gather([("ann", .single)])[0]
        Self.publish("pose", 1, of: ann)
        venue.cut(ann)
        venue.resume(ann)
        _ = ann.news()
        venue.send(.syncState(.init()), from: ann)
        #expect(ann.news() == ["< publish_data_track pose"])
    }

    @Test func `who comes back says which data tracks it takes, and has those`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        let cat = try venue.join("cat", request: { $0.connectionSettings.autoSubscribeDataTrack = true })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(500))
        Self.publish("pose", 1, of: ann)
        let sid = try #require(venue.names.first { $0.value == "pose" }?.key)
        for (client, isWanted) in [(bob, true), (cat, false)] {
            venue.cut(client)
            venue.resume(client)
            _ = client.news()
            let update = LiveKitUpdateDataSubscription.Update.with { ($0.trackSid, $0.subscribe) = (sid, isWanted) }
            venue.send(.syncState(.with { $0.dataSubscription.updates = [update] }), from: client)
            #expect(client.news() == ["< data_track_handles \(isWanted ? "1 ann pose" : "")"])
        }
        try Self.push(1, 1, of: ann)
        #expect(Self.received(bob) == ["pose: [1]"])
        #expect(cat.dataTrackPackets.isEmpty)
    }

    @Test func `of what somebody publishes whom nobody sees nobody hears or gets anything`() throws {
        let venue = Venue()
        let ann = try venue.join("ann", grants: { $0.hidden = true })
        let bob = try venue.join("bob", request: { $0.connectionSettings.autoSubscribeDataTrack = true })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(500))
        for client in [ann, bob] { _ = client.news() }
        Self.publish("pose", 1, of: ann)
        #expect(ann.news() == ["> publish_data_track pose", "< publish_data_track pose"])
        #expect(bob.news() == [])
        Self.subscribe(bob, to: "pose")
        #expect(bob.news() == ["> subscribe to data"])
        try Self.push(1, 1, of: ann)
        #expect(bob.dataTrackPackets.isEmpty)
    }

    @Test func `what was asked for of somebody who is hidden meanwhile is asked for anew, and not given before`()
        throws
    {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        Self.publish("pose", 1, of: ann)
        Self.subscribe(bob, to: "pose")
        func hide(_ isHidden: Bool) throws {
            _ = try venue.room.updateParticipant(
                .with {
                    $0.identity = "ann"
                    $0.permission = .with {
                        $0.canPublishData = true
                        $0.hidden = isHidden
                    }
                }, at: venue.now)
            venue.drain()
        }
        _ = bob.news()
        try hide(true)
        #expect(bob.news() == ["< update ann disconnected", "< data_track_handles "])
        // Of clients that come back some say what they had before they hear that it is gone.
        Self.subscribe(bob, to: "pose")
        #expect(bob.news() == ["> subscribe to data"])
        try hide(false)
        #expect(bob.news() == ["< update ann active [pose]"])
        try Self.push(1, 1, of: ann)
        #expect(bob.dataTrackPackets.isEmpty)
        _ = bob.news()
        Self.subscribe(bob, to: "pose")
        #expect(bob.news() == ["> subscribe to data", "< data_track_handles 2 ann pose"])
        try Self.push(2, 1, of: ann)
        #expect(Self.received(bob) == ["pose: [2]"])
    }

    @Test func `who has a track under each number gets another when one of them is free`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        Self.publish("pose", 1, of: ann)
        let person = try #require(venue.room.people.first { $0.identity == "bob" })
        person.dataHandlesUsed = Set(1...UInt16.max)
        person.lastDataHandle = 65_000
        _ = bob.news()
        Self.subscribe(bob, to: "pose")
        #expect(bob.news() == ["> subscribe to data"])
        person.dataHandlesUsed.remove(7)
        Self.subscribe(bob, to: "pose")
        #expect(bob.news() == ["> subscribe to data", "< data_track_handles 7 ann pose"])
        try Self.push(1, 1, of: ann)
        #expect(Self.received(bob) == ["pose: [1]"])
    }

    @Test func `whoever asks without end is told the last of it, in time`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        Self.publish("pose", 1, of: ann)
        _ = bob.news()
        for turn in 0..<101 { Self.subscribe(bob, to: "pose", turn % 2 == 0) }
        #expect(bob.lines.count { $0.hasPrefix("< data_track_handles") } == RoomMachine.maximumChanges)
        venue.run(for: .seconds(Int64(1)))
        #expect(bob.lines.count { $0.hasPrefix("< data_track_handles") } == RoomMachine.maximumChanges + 1)
        #expect(bob.dataTrackHandles.count == 1)
        try Self.push(1, 1, of: ann)
        #expect(Self.received(bob) == ["pose: [1]"])
    }
}

extension UnknownStorage {
    /// A message that has nothing but a field of bytes that we do not know.
    fileprivate static func withField(_ number: Int, bytes count: Int) -> [UInt8] {
        func varint(_ value: Int) -> [UInt8] {
            value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7f | 0x80)] + varint(value >> 7)
        }
        return varint(number << 3 | 2) + varint(count) + [UInt8](repeating: 1, count: count)
    }
}
