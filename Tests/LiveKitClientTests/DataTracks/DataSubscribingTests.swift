import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitClient

@Suite(.timeLimit(.minutes(2))) struct DataSubscribingTests {
    private static func track(
        _ sid: String, _ name: String, handle: UInt32 = 1, isEncrypted: Bool = false
    ) -> LiveKitDataTrackInfo {
        .with {
            $0.sid = sid
            $0.name = name
            $0.pubHandle = handle
            $0.encryption = isEncrypted ? .gcm : .none
        }
    }

    private static let pose = track("DTR_1", "pose")

    private static func ann(
        _ tracks: LiveKitDataTrackInfo..., sid: String = "PA_ann", version: UInt32 = 1
    ) -> LiveKitParticipantInfo {
        Dialogue.info("ann", sid: sid, version: version) { $0.dataTracks = tracks }
    }

    private static func handles(_ handles: [UInt32: String]) -> LiveKitSignalResponse.OneOf_Message {
        .dataTrackSubscriberHandles(
            .with { $0.subHandles = handles.mapValues { sid in .with { $0.trackSid = sid } } })
    }

    private static func subscribe(to info: LiveKitDataTrackInfo, _ dialogue: Dialogue) -> [String] {
        dialogue.machine.subscribe(
            to: RemoteDataTrack(info, of: "ann"), request: dialogue.request(), at: dialogue.now)
        return dialogue.said()
    }

    /// A frame of one packet.
    private static func hear(_ byte: UInt8, under handle: UInt16 = 1, _ dialogue: Dialogue) -> [String] {
        dialogue.media(.message(.tracks, DataTrackPacket(handle: handle, payload: [byte]).bytes))
    }

    /// With ann's track, which comes under the handle 1.
    private static func subscribed() -> Dialogue {
        let dialogue = Dialogue.connected([ann(pose)])
        _ = subscribe(to: pose, dialogue)
        _ = dialogue.server(handles([1: "DTR_1"]))
        return dialogue
    }

    @Test func `a track is told of, asked for, and heard under the number that the server names`() {
        let dialogue = Dialogue.connected([Self.ann()])
        #expect(
            dialogue.server(Dialogue.update(Self.ann(Self.pose, version: 2))) == ["* data DTR_1 pose of ann"])
        #expect(Self.subscribe(to: Self.pose, dialogue) == ["> subscribe DTR_1"])
        #expect(Self.hear(1, under: 5, dialogue).isEmpty)
        #expect(dialogue.server(Self.handles([5: "DTR_1"])) == ["= 2 done"])
        #expect(Self.hear(2, under: 5, dialogue) == ["* frame [2] of 1"])
        #expect(Self.hear(3, under: 6, dialogue).isEmpty)
        #expect(dialogue.server(Self.handles([6: "DTR_1"])).isEmpty)
        #expect(Self.hear(4, under: 6, dialogue) == ["* frame [4] of 1"])
        #expect(Self.hear(5, under: 5, dialogue).isEmpty)
    }

    @Test func `who is there already is told of with all data tracks`() {
        let dialogue = Dialogue()
        dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
        _ = dialogue.said()
        let lines = dialogue.server(
            Dialogue.join([Self.ann(Self.pose, Self.track("DTR_2", "lidar", handle: 2))]))
        #expect(
            lines == ["! media", "* connected ann", "* data DTR_1 pose of ann", "* data DTR_2 lidar of ann"])
        let names = dialogue.machine.roster.remote.values.flatMap { RemoteParticipant($0).dataTracks }.map(\.name)
        #expect(names == ["pose", "lidar"])
    }

    @Test func `a frame of several packets comes when all of them have come`() throws {
        let dialogue = Self.subscribed()
        var packetizer = DataTrackPacketizer(handle: 1, firstTimestamp: 0, at: dialogue.now)
        let frame = DataTrackFrame(payload: [UInt8](repeating: 7, count: 20_000))
        let packets = try packetizer.packets(of: frame, at: dialogue.now)
        #expect(dialogue.media(.message(.tracks, packets[1])).isEmpty)
        #expect(dialogue.media(.message(.tracks, packets[0])) == ["* frame \(frame.payload) of 1"])
    }

    @Test func `the server is asked once, however many take the frames`() {
        let dialogue = Dialogue.connected([Self.ann(Self.pose)])
        #expect(Self.subscribe(to: Self.pose, dialogue) == ["> subscribe DTR_1"])
        #expect(Self.subscribe(to: Self.pose, dialogue).isEmpty)
        #expect(dialogue.server(Self.handles([1: "DTR_1"])) == ["= 2 done", "= 3 done"])
        #expect(Self.subscribe(to: Self.pose, dialogue) == ["= 4 done"])
        #expect(Self.hear(1, dialogue) == ["* frame [1] of 1"])
    }

    @Test func `who takes no frames any more unsubscribes, and may come back`() {
        let dialogue = Self.subscribed()
        dialogue.machine.unsubscribe(from: RemoteDataTrackID(rawValue: 1))
        #expect(dialogue.said() == ["> unsubscribe DTR_1"])
        dialogue.machine.unsubscribe(from: RemoteDataTrackID(rawValue: 1))
        #expect(dialogue.said().isEmpty)
        #expect(Self.hear(1, dialogue).isEmpty)
        #expect(Self.subscribe(to: Self.pose, dialogue) == ["> subscribe DTR_1"])
        #expect(dialogue.server(Self.handles([2: "DTR_1"])) == ["= 3 done"])
        #expect(Self.hear(2, under: 2, dialogue) == ["* frame [2] of 1"])
    }

    @Test func `what is encrypted, is over or never was cannot be subscribed to`() {
        let secret = Self.track("DTR_2", "secret", handle: 2, isEncrypted: true)
        let dialogue = Dialogue.connected([Self.ann(secret)])
        #expect(Self.subscribe(to: secret, dialogue) == ["= 2 failed: \(RoomError.dataTrackEncrypted)"])
        #expect(Self.subscribe(to: Self.pose, dialogue) == ["= 3 failed: \(RoomError.dataTrackEnded)"])
        #expect(Self.subscribe(to: Self.pose, Dialogue()) == ["= 1 failed: \(RoomError.notConnected)"])
    }

    @Test func `a track that the server does not give is not waited for without end`() {
        let dialogue = Dialogue.connected([Self.ann(Self.pose)])
        _ = Self.subscribe(to: Self.pose, dialogue)
        let late = dialogue.pass(.seconds(Int64(10))).filter { $0.contains("DTR") || $0.hasPrefix("=") }
        #expect(late == ["> unsubscribe DTR_1", "= 2 failed: \(RoomError.timedOut)"])
        #expect(dialogue.server(Self.handles([1: "DTR_1"])).isEmpty)
        #expect(Self.hear(1, dialogue).isEmpty)
    }

    @Test func `a track that its publisher does not let us have is refused at once, and one that we had may come back`()
    {
        func permission(_ isAllowed: Bool) -> LiveKitSignalResponse.OneOf_Message {
            .subscriptionPermissionUpdate(
                .with {
                    $0.trackSid = "DTR_1"
                    $0.allowed = isAllowed
                })
        }
        let dialogue = Dialogue.connected([Self.ann(Self.pose)])
        _ = Self.subscribe(to: Self.pose, dialogue)
        let refused = dialogue.server(permission(false)).filter { !$0.hasPrefix("*") }
        let error = RoomError.requestRefused(.notAllowed, message: "")
        #expect(refused == ["> unsubscribe DTR_1", "= 2 failed: \(error)"])
        let had = Self.subscribed()
        for isAllowed in [false, true] { #expect(had.server(permission(isAllowed)).allSatisfy { $0.hasPrefix("*") }) }
        #expect(had.server(Self.handles([2: "DTR_1"])).isEmpty)
        #expect(Self.hear(1, under: 2, had) == ["* frame [1] of 1"])
    }

    @Test func `a track ends with its publisher's word, or with its publisher`() {
        let dialogue = Self.subscribed()
        #expect(
            dialogue.server(Dialogue.update(Self.ann(version: 2)))
                == ["* no more frames of 1", "* no data DTR_1"])
        #expect(Self.hear(1, dialogue).isEmpty)
        _ = dialogue.server(Dialogue.update(Self.ann(Self.track("DTR_2", "pose", handle: 2), version: 3)))
        #expect(Self.subscribe(to: Self.track("DTR_2", "pose"), dialogue) == ["> subscribe DTR_2"])
        let gone = Dialogue.info("ann", version: 4) {
            $0.state = .disconnected
            $0.disconnectReason = .clientInitiated
        }
        #expect(
            dialogue.server(Dialogue.update(gone))
                == [
                    "= 3 failed: \(RoomError.dataTrackEnded)", "* no more frames of 2", "* no data DTR_2",
                    "* disconnected ann",
                ])
    }

    @Test func `with the room all subscriptions end`() {
        let dialogue = Self.subscribed()
        dialogue.machine.leave()
        #expect(dialogue.said().contains("* no more frames of 1"))
    }

    @Test func `a subscription goes on when its publisher is back under another sid, with the track too`() {
        let dialogue = Self.subscribed()
        let again = Self.ann(Self.track("DTR_2", "pose"), sid: "PA_ann2")
        #expect(
            dialogue.server(Dialogue.update(again)) == ["* disconnected ann", "* connected ann", "> subscribe DTR_2"])
        #expect(dialogue.server(Self.handles([2: "DTR_2"])).isEmpty)
        #expect(Self.hear(1, under: 2, dialogue) == ["* frame [1] of 1"])
        // Whoever knows it under its old name means this one.
        #expect(Self.subscribe(to: Self.pose, dialogue) == ["= 3 done"])
        let tracks = [Self.pose, Self.track("DTR_2", "pose")].map { RemoteDataTrack($0, of: "ann") }
        #expect(tracks[0].id == tracks[1].id && tracks[0].sid != tracks[1].sid)
        #expect(tracks[0].id != RemoteDataTrack(Self.pose, of: "bob").id)
    }

    @Test func `a publisher who is back is told of before its tracks, which go on one after the other`() {
        let lidar = Self.track("DTR_2", "lidar", handle: 2)
        let dialogue = Dialogue.connected([Self.ann(Self.pose, lidar)])
        _ = Self.subscribe(to: Self.pose, dialogue)
        _ = Self.subscribe(to: lidar, dialogue)
        _ = dialogue.server(Self.handles([1: "DTR_1", 2: "DTR_2"]))
        let (pose2, lidar2) = (Self.track("DTR_3", "pose"), Self.track("DTR_4", "lidar", handle: 2))
        #expect(
            dialogue.server(Dialogue.update(Self.ann(sid: "PA_ann2"))) == ["* disconnected ann", "* connected ann"])
        #expect(
            dialogue.server(Dialogue.update(Self.ann(pose2, sid: "PA_ann2", version: 2))) == ["> subscribe DTR_3"])
        #expect(
            dialogue.server(Dialogue.update(Self.ann(pose2, lidar2, sid: "PA_ann2", version: 3)))
                == ["> subscribe DTR_4"])
        #expect(dialogue.server(Self.handles([3: "DTR_3", 4: "DTR_4"])).isEmpty)
        #expect(Self.hear(1, under: 3, dialogue) == ["* frame [1] of 1"])
        #expect(Self.hear(2, under: 4, dialogue) == ["* frame [2] of 2"])
        // Nobody waits for them any more.
        #expect(!dialogue.pass(.seconds(Int64(20))).contains { $0.hasPrefix("* no") })
    }

    @Test func `the tracks of a publisher whose session is told to be lost may go on, but not after a goodbye`() {
        func gone(_ reason: LiveKitDisconnectReason) -> LiveKitSignalResponse.OneOf_Message {
            Dialogue.update(
                Dialogue.info("ann", version: 2) {
                    $0.state = .disconnected
                    $0.disconnectReason = reason
                })
        }
        let dialogue = Self.subscribed()
        #expect(dialogue.server(gone(.unknownReason)) == ["* disconnected ann"])
        #expect(dialogue.server(Dialogue.update(Self.ann(sid: "PA_ann2"))) == ["* connected ann"])
        let again = Self.ann(Self.track("DTR_2", "pose"), sid: "PA_ann2", version: 2)
        #expect(dialogue.server(Dialogue.update(again)) == ["> subscribe DTR_2"])
        #expect(
            Self.subscribed().server(gone(.participantRemoved))
                == ["* no more frames of 1", "* no data DTR_1", "* disconnected ann"])
    }

    @Test func `a publisher who is back and publishes a track no more has ten seconds to do so`() {
        let dialogue = Self.subscribed()
        _ = dialogue.server(Dialogue.update(Self.ann(sid: "PA_ann2")))
        #expect(!dialogue.pass(.milliseconds(9_999)).contains { $0.hasPrefix("* no") })
        #expect(
            dialogue.pass(.milliseconds(1)).filter { $0.contains("DTR") || $0.hasPrefix("*") }
                == ["> unsubscribe DTR_1", "* no more frames of 1", "* no data DTR_1"])
        let late = Self.ann(Self.track("DTR_2", "pose"), sid: "PA_ann2", version: 2)
        #expect(dialogue.server(Dialogue.update(late)) == ["* data DTR_2 pose of ann"])
    }

    @Test func `a track of who was hidden for longer is another one, of which the server sends nothing unasked`() {
        let dialogue = Self.subscribed()
        let hidden = Dialogue.info("ann", version: 2) { $0.state = .disconnected }
        #expect(dialogue.server(Dialogue.update(hidden)) == ["* disconnected ann"])
        #expect(dialogue.pass(.seconds(Int64(10))).contains("> unsubscribe DTR_1"))
        #expect(
            dialogue.server(Dialogue.update(Self.ann(Self.pose, version: 3)))
                == ["* connected ann", "* data DTR_1 pose of ann"])
        #expect(Self.subscribe(to: Self.pose, dialogue) == ["> subscribe DTR_1"])
        #expect(dialogue.server(Self.handles([2: "DTR_1"])) == ["= 3 done"])
        #expect(Self.hear(1, under: 2, dialogue) == ["* frame [1] of 2"])
    }

    @Test func `a track of who was hidden for a moment goes on, and is asked for anew if we want it`() {
        let hidden = Dialogue.info("ann", version: 2) { $0.state = .disconnected }
        let dialogue = Self.subscribed()
        #expect(dialogue.server(Dialogue.update(hidden)) == ["* disconnected ann"])
        #expect(!dialogue.pass(.seconds(Int64(9))).contains { $0.contains("DTR") })
        #expect(
            dialogue.server(Dialogue.update(Self.ann(Self.pose, version: 3)))
                == ["* connected ann", "> subscribe DTR_1"])
        #expect(dialogue.server(Self.handles([2: "DTR_1"])).isEmpty)
        #expect(Self.hear(1, under: 2, dialogue) == ["* frame [1] of 1"])
        #expect(!dialogue.pass(.seconds(Int64(12))).contains { $0.contains("DTR") })
        let unwanted = Dialogue.connected([Self.ann(Self.pose)])
        _ = unwanted.server(Dialogue.update(hidden))
        #expect(unwanted.server(Dialogue.update(Self.ann(Self.pose, version: 3))) == ["* connected ann"])
    }

    @Test func `a publisher who is back has its time while the server tells us nothing`() {
        let dialogue = Self.subscribed()
        _ = dialogue.server(Dialogue.update(Self.ann(sid: "PA_ann2")))
        _ = dialogue.signalLost()
        #expect(!dialogue.pass(.seconds(Int64(12))).contains { $0.hasPrefix("* no") })
    }

    @Test func `another track of the publisher who is back is another track`() {
        let dialogue = Self.subscribed()
        let again = Self.ann(Self.track("DTR_2", "lidar"), sid: "PA_ann2")
        #expect(
            dialogue.server(Dialogue.update(again))
                == [
                    "* disconnected ann", "* connected ann", "* no more frames of 1", "* no data DTR_1",
                    "* data DTR_2 lidar of ann",
                ])
    }

    @Test func `the session goes on with what we have asked for, of which the server is told`() throws {
        let dialogue = Self.subscribed()
        _ = dialogue.signalLost()
        // Media go on meanwhile.
        #expect(Self.hear(1, dialogue) == ["* frame [1] of 1"])
        #expect(dialogue.server(.reconnect(.init())) == ["> sync_state", "* reconnected"])
        #expect(Self.hear(2, dialogue) == ["* frame [2] of 1"])
        let state = try #require(
            dialogue.requests.compactMap { if case .syncState(let state) = $0 { state } else { nil } }.last)
        #expect(state.dataSubscription.updates.map(\.trackSid) == ["DTR_1"])
        #expect(state.dataSubscription.updates.map(\.subscribe) == [true])
    }

    @Test func `in a new session what is there is asked for anew, and the old numbers mean nothing`() {
        let other = Self.track("DTR_2", "lidar", handle: 2)
        let dialogue = Dialogue.connected([Self.ann(Self.pose, other)])
        _ = Self.subscribe(to: Self.pose, dialogue)
        _ = Self.subscribe(to: other, dialogue)
        _ = dialogue.server(Self.handles([1: "DTR_1", 2: "DTR_2"]))
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        #expect(
            dialogue.server(Dialogue.join([Self.ann(Self.pose, version: 2)], sid: "PA_again"))
                == ["! media", "* no more frames of 2", "* no data DTR_2", "> subscribe DTR_1"])
        #expect(Self.hear(1, dialogue).isEmpty)
        #expect(dialogue.server(Self.handles([2: "DTR_1"])).isEmpty)
        #expect(Self.hear(2, under: 2, dialogue) == ["* frame [2] of 1"])
    }

    @Test func `what is no packet, or is encrypted against its word, is passed over`() {
        let dialogue = Self.subscribed()
        #expect(dialogue.media(.message(.tracks, [])).isEmpty)
        #expect(dialogue.media(.message(.tracks, [0xff, 0, 0, 1])).isEmpty)
        var packet = DataTrackPacket(handle: 1, payload: [1])
        packet.encryption = [UInt8](repeating: 0, count: 13)
        #expect(dialogue.media(.message(.tracks, packet.bytes)).isEmpty)
        #expect(dialogue.server(Self.handles([0: "DTR_1", 70_000: "DTR_1", 3: "DTR_none"])).isEmpty)
        #expect(Self.hear(2, under: 3, dialogue).isEmpty)
        #expect(Self.hear(3, dialogue) == ["* frame [3] of 1"])
    }
}
