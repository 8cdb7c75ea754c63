import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitClient

@Suite(.timeLimit(.minutes(2))) struct SubscribingTests {
    private static let camera = Dialogue.track("TR_1", "camera")

    private static func stream(_ stream: String, _ track: String = "TR_1", on number: UInt32 = 1) -> RemoteStream {
        RemoteStream(stream: stream, track: track, transceiver: TransceiverID(rawValue: number))
    }

    @Test func `a stream is a track when the server has told whose it is`() {
        let dialogue = Dialogue.connected()
        #expect(dialogue.media(.receiving([Self.stream("PA_ann|TR_1")])).isEmpty)
        #expect(
            dialogue.server(Dialogue.update(Dialogue.info("ann", tracks: [Self.camera])))
                == ["* connected ann", "* published TR_1 of ann", "* subscribed TR_1"])
    }

    @Test(
        arguments: [
            ("PA_ann|TR_1", "TR_1", "TR_1"), ("PA_ann|camera", "TR_1", "TR_1"), ("PA_ann|camera", "x", nil),
            ("-", "x", nil), ("PA_ann|TR_2", "TR_1", "TR_2"),
        ] as [(String, String, String?)])
    func `the second part of a stream's name is the track, or the track's own name is`(
        stream: String, track: String, sid: String?
    ) {
        #expect(Self.stream(stream, track).trackSID == sid.map { TrackSID($0) })
    }

    @Test func `a track that is not offered any more is over, and another may come in its place`() {
        let tracks = [Self.camera, Dialogue.track("TR_2", "screen")]
        let dialogue = Dialogue.connected([Dialogue.info("ann", tracks: tracks)])
        #expect(dialogue.media(.receiving([Self.stream("PA_ann|TR_1")])) == ["* subscribed TR_1"])
        #expect(
            dialogue.media(.receiving([Self.stream("PA_ann|TR_2", "TR_2")]))
                == ["* unsubscribed TR_1", "* subscribed TR_2"])
        #expect(dialogue.media(.receiving([])) == ["* unsubscribed TR_2"])
    }

    @Test func `a track that is taken out of one section and put into another is subscribed again`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann", tracks: [Self.camera])])
        _ = dialogue.media(.receiving([Self.stream("PA_ann|TR_1", on: 1)]))
        #expect(
            dialogue.media(.receiving([Self.stream("PA_ann|TR_1", on: 2)]))
                == ["* unsubscribed TR_1", "* subscribed TR_1"])
        #expect(dialogue.media(.receiving([])) == ["* unsubscribed TR_1"])
    }

    @Test func `whoever goes takes the tracks along`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann", tracks: [Self.camera])])
        _ = dialogue.media(.receiving([Self.stream("PA_ann|TR_1")]))
        #expect(
            dialogue.server(Dialogue.update(Dialogue.info("ann", version: 2) { $0.state = .disconnected }))
                == ["* unsubscribed TR_1", "* unpublished TR_1 of ann", "* disconnected ann"])
    }

    @Test func `what is older than what we know changes nothing`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann", version: 5, tracks: [Self.camera])])
        #expect(dialogue.server(Dialogue.update(Dialogue.info("ann", version: 4))).isEmpty)
        let muted = Dialogue.track("TR_1", "camera", muted: true)
        #expect(
            dialogue.server(Dialogue.update(Dialogue.info("ann", version: 6, tracks: [muted]))) == ["* muted TR_1"])
    }

    @Test func `somebody who joins again is another session`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann", sid: "PA_old")])
        #expect(
            dialogue.server(Dialogue.update(Dialogue.info("ann", sid: "PA_new")))
                == ["* disconnected ann", "* connected ann"])
        // The old one's end is told later.
        #expect(
            dialogue.server(Dialogue.update(Dialogue.info("ann", sid: "PA_old") { $0.state = .disconnected })).isEmpty)
    }

    @Test func `tracks are asked for and settled by name`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann", tracks: [Self.camera])], autoSubscribe: false)
        dialogue.machine.setSubscribed(true, to: TrackSID("TR_1"))
        #expect(dialogue.said() == ["> subscribe TR_1"])
        dialogue.machine.setQuality(TrackSID("TR_1"), .low)
        dialogue.machine.setQuality(TrackSID("TR_1"), nil)
        #expect(dialogue.said() == ["> track_setting low", "> track_setting off"])
        dialogue.machine.setSubscribed(false, to: TrackSID("TR_1"))
        #expect(dialogue.said() == ["> unsubscribe TR_1"])
    }

    @Test func `what was asked for of tracks is asked for again in a new session, of those that are there`() {
        let tracks = [Self.camera, Dialogue.track("TR_2", "screen"), Dialogue.track("TR_3", "more")]
        let dialogue = Dialogue.connected([Dialogue.info("ann", tracks: tracks)], autoSubscribe: false)
        dialogue.machine.setSubscribed(true, to: TrackSID("TR_1"))
        dialogue.machine.setQuality(TrackSID("TR_1"), .low)
        dialogue.machine.setQuality(TrackSID("TR_2"), .low)
        dialogue.machine.setQuality(TrackSID("TR_2"), nil)
        dialogue.machine.setQuality(TrackSID("TR_3"), .medium)
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        let ann = Dialogue.info("ann", version: 2, tracks: Array(tracks.prefix(2)))
        let lines = dialogue.server(Dialogue.join([ann], sid: "PA_again")).filter { $0.hasPrefix("> ") }
        #expect(lines == ["> subscribe TR_1", "> track_setting low", "> track_setting off"])
    }

    private func lines(_ lines: [String]) -> [String] { lines.filter { $0.hasPrefix("> ") } }

    @Test func `a track that the server has not told of is asked for without its publisher`() throws {
        let dialogue = Dialogue.connected([Dialogue.info("ann", tracks: [Self.camera])], autoSubscribe: false)
        dialogue.machine.setSubscribed(true, to: TrackSID("TR_9"))
        #expect(dialogue.said() == ["> subscribe TR_9"])
        dialogue.machine.setSubscribed(true, to: TrackSID("TR_1"))
        #expect(dialogue.said() == ["> subscribe TR_1"])
        let publishers = dialogue.requests.compactMap { request -> [String]? in
            guard case .subscription(let update) = request else { return nil }
            return update.participantTracks.map(\.participantSid)
        }
        #expect(publishers == [[], ["PA_ann"]])
    }

    @Test func `what was asked for before the room is joined is said then, and not in the next room`() {
        let dialogue = Dialogue(autoSubscribe: false)
        dialogue.machine.setSubscribed(true, to: TrackSID("TR_1"))
        dialogue.machine.setQuality(TrackSID("TR_1"), .low)
        #expect(dialogue.said().isEmpty)
        let ann = Dialogue.info("ann", tracks: [Self.camera])
        func join() -> [String] {
            dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
            _ = dialogue.said()
            return lines(dialogue.server(Dialogue.join([ann])))
        }
        // A connect that fails has not joined.
        dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
        _ = dialogue.signalLost()
        #expect(join() == ["> subscribe TR_1", "> track_setting low"])
        _ = dialogue.media(.stateChanged(.subscriber, .connected))
        dialogue.machine.leave()
        #expect(join().isEmpty)
        _ = dialogue.media(.stateChanged(.subscriber, .connected))
        dialogue.machine.leave()
        _ = dialogue.said()
        // After the end it is for the room that comes, and of two words the last one counts.
        dialogue.machine.setQuality(TrackSID("TR_1"), .low)
        dialogue.machine.setQuality(TrackSID("TR_1"), .medium)
        #expect(join() == ["> track_setting medium"])
    }

    @Test(arguments: [false, true])
    func `what was asked for of a track ends with it`(leaves: Bool) throws {
        let dialogue = Dialogue.connected([Dialogue.info("ann", tracks: [Self.camera])])
        dialogue.machine.setSubscribed(false, to: TrackSID("TR_1"))
        dialogue.machine.setQuality(TrackSID("TR_1"), nil)
        let gone = Dialogue.info("ann", version: 2) { $0.state = leaves ? .disconnected : .active }
        _ = dialogue.server(Dialogue.update(gone))
        #expect(dialogue.machine.subscribing.wanted.isEmpty && dialogue.machine.subscribing.qualities.isEmpty)
        // Another one of that name is another one.
        _ = dialogue.server(Dialogue.update(Dialogue.info("ann", version: 3, tracks: [Self.camera])))
        _ = dialogue.signalLost()
        _ = dialogue.server(.reconnect(.init()))
        let state = try #require(
            dialogue.requests.compactMap { if case .syncState(let state) = $0 { state } else { nil } }.last)
        #expect(state.subscription.trackSids.isEmpty && state.trackSidsDisabled.isEmpty)
    }

    @Test func `those who are heard are told by how loud they are, until they are silent`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann"), Dialogue.info("bob")])
        func speaks(_ sid: String, _ level: Float) -> LiveKitSpeakerInfo {
            .with {
                $0.sid = sid
                $0.level = level
                $0.active = level > 0
            }
        }
        #expect(
            dialogue.server(.speakersChanged(.with { $0.speakers = [speaks("PA_ann", 0.2), speaks("PA_bob", 0.7)] }))
                == ["* speaking [\"bob\", \"ann\"]"])
        #expect(
            dialogue.server(.speakersChanged(.with { $0.speakers = [speaks("PA_bob", 0)] }))
                == ["* speaking [\"ann\"]"])
    }
}
