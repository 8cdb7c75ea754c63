import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitClient

@Suite(.timeLimit(.minutes(2))) struct DataPublishingTests {
    /// Asks for a track under the next handle.
    private static func publish(_ name: String, _ dialogue: Dialogue) throws -> [String] {
        let free = dialogue.machine.dataPublishing.nextHandle()
        let handle = try #require(free)
        dialogue.machine.publishDataTrack(name, handle: handle, request: dialogue.request(), at: dialogue.now)
        return dialogue.said()
    }

    private static func info(_ handle: UInt32, _ sid: String) -> LiveKitDataTrackInfo {
        .with {
            $0.pubHandle = handle
            $0.sid = sid
        }
    }

    private static func published(_ handle: UInt32, _ sid: String) -> LiveKitSignalResponse.OneOf_Message {
        .publishDataTrackResponse(.with { $0.info = info(handle, sid) })
    }

    private static func unpublished(_ handle: UInt32, _ sid: String) -> LiveKitSignalResponse.OneOf_Message {
        .unpublishDataTrackResponse(.with { $0.info = info(handle, sid) })
    }

    private static func refused(
        _ handle: UInt32, _ reason: LiveKitRequestResponse.Reason
    ) -> LiveKitSignalResponse.OneOf_Message {
        .requestResponse(
            .with {
                $0.reason = reason
                $0.publishDataTrack = .with { $0.pubHandle = handle }
            })
    }

    private static func push(_ count: Int, on handle: UInt16, _ dialogue: Dialogue) throws -> [String] {
        let frame = DataTrackFrame(payload: [UInt8](repeating: 1, count: count))
        try dialogue.machine.push(frame, on: handle, at: dialogue.now)
        return dialogue.said()
    }

    /// In the room, with a track that the server knows and a channel for it.
    private static func publishing() throws -> Dialogue {
        let dialogue = Dialogue.connected()
        _ = try publish("pose", dialogue)
        _ = dialogue.server(published(1, "DTR_1"))
        _ = dialogue.media(.offerMade(id: 1, sdp: "offer"))
        _ = dialogue.server(.answer(.with { $0.id = 1 }))
        _ = dialogue.media(.answerTaken)
        _ = dialogue.media(.stateChanged(.publisher, .connected))
        _ = dialogue.media(.channelOpen(.tracks))
        return dialogue
    }

    @Test func `a track is asked for, named by the server, and its frames go out when there is a channel`() throws {
        let dialogue = Dialogue.connected()
        #expect(try Self.publish("pose", dialogue) == ["> publish_data_track 1 pose", "! offer #1"])
        #expect(dialogue.server(Self.published(1, "DTR_1")) == ["* 1 is DTR_1", "= 2 DTR_1"])
        #expect(try Self.push(3, on: 1, dialogue).isEmpty)
        #expect(dialogue.media(.channelOpen(.tracks)) == ["> frame on 1: 3 bytes"])
        #expect(try Self.push(30_000, on: 1, dialogue) == ["> frame on 1: 15988 + 14012 bytes"])
    }

    @Test func `each track has a number of its own`() throws {
        let dialogue = try Self.publishing()
        #expect(try Self.publish("lidar", dialogue) == ["> publish_data_track 2 lidar"])
        dialogue.machine.unpublishDataTrack(1)
        #expect(dialogue.said() == ["* 1 is over", "> unpublish_data_track 1"])
        #expect(dialogue.server(Self.unpublished(1, "DTR_1")).isEmpty)
        #expect(try Self.publish("pose", dialogue) == ["> publish_data_track 3 pose"])
        #expect(throws: RoomError.dataTrackEnded) { try Self.push(1, on: 1, dialogue) }
    }

    @Test func `a refusal and a silence are both told`() throws {
        let dialogue = try Self.publishing()
        _ = try Self.publish("pose", dialogue)
        #expect(
            dialogue.server(Self.refused(2, .duplicateName))
                == ["* 2 is over", "= 3 failed: The server refused it (invalid)."])
        _ = try Self.publish("lidar", dialogue)
        let late = dialogue.pass(.seconds(Int64(10))).filter { !$0.contains("ping") }
        #expect(late == ["* 3 is over", "= 4 failed: \(RoomError.timedOut)", "> unpublish_data_track 3"])
    }

    @Test func `who is not in a room publishes nothing`() throws {
        #expect(try Self.publish("pose", Dialogue()) == ["= 1 failed: There is no connection to a room."])
    }

    @Test func `a track that the server ends is over`() throws {
        let dialogue = try Self.publishing()
        #expect(dialogue.server(Self.unpublished(1, "DTR_1")) == ["* 1 is over"])
        #expect(throws: RoomError.dataTrackEnded) { try Self.push(1, on: 1, dialogue) }
    }

    @Test func `the session goes on with the tracks that there are, of which the server is told`() throws {
        let dialogue = try Self.publishing()
        _ = dialogue.signalLost()
        // Media go on meanwhile.
        #expect(try Self.push(1, on: 1, dialogue) == ["> frame on 1: 1 bytes"])
        #expect(try Self.publish("lidar", dialogue).isEmpty)
        let lines = dialogue.server(.reconnect(.init()))
        #expect(lines == ["> sync_state", "! offer #2 restart", "> publish_data_track 2 lidar", "* reconnected"])
        let state = try #require(
            dialogue.requests.compactMap { if case .syncState(let state) = $0 { state } else { nil } }.last)
        #expect(state.publishDataTracks.map(\.info.sid) == ["DTR_1"])
        #expect(state.publishDataTracks.map(\.info.pubHandle) == [1])
        #expect(state.publishDataTracks.map(\.info.name) == ["pose"])
    }

    @Test func `a request is not late while the server does not hear us`() throws {
        let dialogue = Dialogue.connected()
        _ = dialogue.signalLost()
        _ = try Self.publish("pose", dialogue)
        #expect(!dialogue.pass(.seconds(Int64(20))).contains { $0.hasPrefix("= 2") })
    }

    @Test func `in a new session the tracks are published anew, under the same numbers`() throws {
        let dialogue = try Self.publishing()
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        // Nobody is there to send it to.
        #expect(try Self.push(1, on: 1, dialogue).isEmpty)
        #expect(
            dialogue.server(Dialogue.join(sid: "PA_again"))
                == ["! media", "! offer #1", "> publish_data_track 1 pose"])
        #expect(try Self.push(2, on: 1, dialogue).isEmpty)
        #expect(dialogue.media(.channelOpen(.tracks)).isEmpty)
        #expect(dialogue.server(Self.published(1, "DTR_2")) == ["* 1 is DTR_2"])
        #expect(try Self.push(3, on: 1, dialogue) == ["> frame on 1: 3 bytes"])
    }

    @Test func `a track that the new session does not take is over`() throws {
        let dialogue = try Self.publishing()
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        _ = dialogue.server(Dialogue.join(sid: "PA_again"))
        #expect(dialogue.server(Self.refused(1, .notAllowed)) == ["* 1 is over"])
    }

    @Test func `with the room all tracks are over, and those that were asked for`() throws {
        let dialogue = try Self.publishing()
        _ = try Self.publish("lidar", dialogue)
        dialogue.machine.leave()
        let lines = dialogue.said()
        #expect(lines.contains("* 1 is over") && lines.contains("* 2 is over"))
        #expect(lines.contains("= 3 failed: We have left."))
        #expect(throws: RoomError.dataTrackEnded) { try Self.push(1, on: 1, dialogue) }
    }

    /// In a room, and the channel for frames is not open.
    private static func early() throws -> Dialogue {
        let dialogue = Dialogue()
        dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
        _ = dialogue.server(Dialogue.join())
        _ = try publish("pose", dialogue)
        _ = dialogue.server(published(1, "DTR_1"))
        return dialogue
    }

    @Test func `of frames that wait for a channel the newest are sent, and they leave room for messages`() throws {
        let dialogue = try Self.early()
        for number in 0..<100 { #expect(try Self.push(15_000 + number, on: 1, dialogue).isEmpty) }
        for _ in 0..<65 {
            try dialogue.machine.sendData(
                [UInt8](repeating: 0, count: 60_000), isReliable: true, to: [], topic: nil, at: dialogue.now)
        }
        #expect(dialogue.media(.channelOpen(.tracks)) == (68..<100).map { "> frame on 1: \(15_000 + $0) bytes" })
    }

    @Test func `a frame that waits for a channel makes room with all packets or none`() throws {
        let dialogue = try Self.early()
        // Two of a mebibyte together, of which the first goes; one of more, which none makes room for; a small one.
        for packets in [50, 40, 70] { #expect(try Self.push(packets * 15_988, on: 1, dialogue).isEmpty) }
        #expect(try Self.push(3, on: 1, dialogue).isEmpty)
        let packets = [String](repeating: "15988", count: 40).joined(separator: " + ")
        #expect(dialogue.media(.channelOpen(.tracks)) == ["> frame on 1: \(packets) bytes", "> frame on 1: 3 bytes"])
        #expect(dialogue.media(.channelOpen(.tracks)).isEmpty)
    }
}
