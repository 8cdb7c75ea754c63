import LiveKitProtocol
import RTCEngine
import RTCWire
import SwiftProtobuf
import Testing

@testable import LiveKitClient

@Suite(.timeLimit(.minutes(2))) struct PublishingTests {
    private static let film = TrackPublishOptions(name: "film", source: .camera)
    private static let id = LocalTrackID(rawValue: 1)

    @Test func `a track is announced, named by the server, and then offered`() {
        let dialogue = Dialogue.connected()
        let request = dialogue.request()
        dialogue.machine.publish(Self.id, .vp8, Self.film, request: request)
        #expect(dialogue.said() == ["! add vp8 as 1"])
        #expect(dialogue.media(.trackAdded(Self.id, cid: "c1")) == ["> add_track c1 film"])
        let published = dialogue.server(
            .trackPublished(
                .with {
                    $0.cid = "c1"
                    $0.track = Dialogue.track("TR_1", "film")
                }))
        #expect(published == ["! offer #1", "= 2 TR_1", "* published TR_1"])
        #expect(dialogue.media(.offerMade(id: 1, sdp: "offer")) == ["> offer #1"])
        #expect(dialogue.server(.answer(.with { $0.id = 1 })) == ["! take answer"])
    }

    @Test func `the announcement names the codec, and the id that the offer has`() throws {
        let dialogue = Dialogue.connected()
        var options = Self.film
        (options.width, options.height) = (640, 360)
        dialogue.machine.publish(Self.id, .vp9, options, request: dialogue.request())
        _ = dialogue.media(.trackAdded(Self.id, cid: "c1"))
        guard case .addTrack(let announced)? = dialogue.requests.last else {
            Issue.record("not announced")
            return
        }
        #expect(announced.type == .video && announced.source == .camera)
        #expect((announced.width, announced.height) == (640, 360))
        #expect(announced.simulcastCodecs.map(\.codec) == ["vp9"])
        #expect(announced.simulcastCodecs.map(\.cid) == ["c1"])
    }

    @Test func `layers are announced from the smallest on, and sent by the names that LiveKit gives them`() throws {
        let dialogue = Dialogue.connected()
        var options = Self.film
        options.layers = [
            VideoLayer(quality: .high, width: 640, height: 360, bitrate: 500_000),
            VideoLayer(quality: .low, width: 160, height: 90, bitrate: 60_000),
            VideoLayer(quality: .medium, width: 320, height: 180, bitrate: 150_000),
        ]
        dialogue.machine.publish(Self.id, .vp8, options, request: dialogue.request())
        #expect(dialogue.said() == ["! add vp8 as 1 f h q"])
        _ = dialogue.media(.trackAdded(Self.id, cid: "c1"))
        guard case .addTrack(let announced)? = dialogue.requests.last else {
            Issue.record("not announced")
            return
        }
        #expect((announced.width, announced.height) == (640, 360))
        let codec = try #require(announced.simulcastCodecs.first)
        #expect(codec.videoLayerMode == .oneSpatialLayerPerStream)
        for layers in [announced.layers, codec.layers] {
            #expect(layers.map(\.quality) == [.low, .medium, .high])
            #expect(layers.map(\.width) == [160, 320, 640] && layers.map(\.bitrate) == [60_000, 150_000, 500_000])
        }
        // Of two they are the first two names, as LiveKit's SDKs have it.
        options.layers.remove(at: 2)
        dialogue.machine.publish(LocalTrackID(rawValue: 2), .vp8, options, request: dialogue.request())
        #expect(dialogue.said() == ["! add vp8 as 2 h q"])
    }

    @Test(arguments: [[VideoQuality.low], [.low, .low], [.low, .medium, .high, .high]])
    func `what are no layers of a picture is refused, and so are those of sound`(qualities: [VideoQuality]) {
        let dialogue = Dialogue.connected()
        var options = Self.film
        options.layers = qualities.map { VideoLayer(quality: $0, width: 160, height: 90) }
        dialogue.machine.publish(Self.id, .vp8, options, request: dialogue.request())
        let refusal = "= 2 failed: \(RoomError.invalidLayers)"
        #expect(dialogue.said() == [refusal])
        options.layers = [.low, .high].map { VideoLayer(quality: $0, width: 160, height: 90) }
        dialogue.machine.publish(Self.id, .opus, options, request: RequestID(rawValue: 2))
        #expect(dialogue.said() == [refusal])
    }

    @Test func `tracks that come together are offered one exchange after the other`() {
        let dialogue = Dialogue.connected()
        for number in [1, 2] as [UInt32] {
            let id = LocalTrackID(rawValue: number)
            dialogue.machine.publish(id, .vp8, Self.film, request: dialogue.request())
            _ = dialogue.media(.trackAdded(id, cid: "c\(number)"))
        }
        func published(_ cid: String) -> LiveKitSignalResponse.OneOf_Message {
            .trackPublished(
                .with {
                    $0.cid = cid
                    $0.track = Dialogue.track("TR_\(cid)", "film")
                })
        }
        #expect(dialogue.server(published("c1")).first == "! offer #1")
        #expect(dialogue.server(published("c2")) == ["= 3 TR_c2", "* published TR_c2"])
        _ = dialogue.media(.offerMade(id: 1, sdp: "offer"))
        // An answer to another offer is none to this one.
        #expect(dialogue.server(.answer(.with { $0.id = 7 })).isEmpty)
        #expect(dialogue.server(.answer(.with { $0.id = 0 })) == ["! take answer"])
        #expect(dialogue.media(.answerTaken) == ["! offer #2"])
    }

    @Test func `a refusal and a silence are both told, and the track is taken back`() {
        let dialogue = Dialogue.connected()
        dialogue.machine.publish(Self.id, .vp8, Self.film, request: dialogue.request())
        _ = dialogue.media(.trackAdded(Self.id, cid: "c1"))
        let refused = dialogue.server(
            .requestResponse(
                .with {
                    $0.reason = .notAllowed
                    $0.addTrack = .with { $0.cid = "c1" }
                }))
        #expect(refused == ["! remove 1", "= 2 failed: The server refused it (not_allowed)."])
        let second = LocalTrackID(rawValue: 2)
        dialogue.machine.publish(second, .vp8, Self.film, request: dialogue.request())
        _ = dialogue.media(.trackAdded(second, cid: "c2"))
        let late = dialogue.pass(.seconds(Int64(11))).filter { !$0.contains("ping") }
        #expect(late == ["! remove 2", "= 3 failed: \(RoomError.timedOut)"])
    }

    @Test func `what the peer connection cannot send costs the track, and not the room`() {
        let dialogue = Dialogue.connected()
        dialogue.machine.publish(Self.id, .h265, Self.film, request: dialogue.request())
        _ = dialogue.said()
        #expect(
            dialogue.media(.trackRefused(Self.id, "h265 is not sent"))
                == ["! remove 1", "= 2 failed: The media connection failed: h265 is not sent"])
        #expect(dialogue.machine.connectionState == .connected)
    }

    @Test func `muting is said by us, and heard from the server`() {
        let dialogue = Dialogue.connected()
        dialogue.publish()
        _ = dialogue.said()
        dialogue.machine.setMuted(Self.id, true)
        dialogue.machine.setMuted(Self.id, true)
        #expect(dialogue.said() == ["> mute TR_mine"])
        dialogue.machine.setMuted(Self.id, false)
        #expect(dialogue.said() == ["> unmute TR_mine"])
        #expect(
            dialogue.server(
                .mute(
                    .with {
                        $0.sid = "TR_mine"
                        $0.muted = true
                    })) == ["* muted TR_mine"])
    }

    @Test func `a track that is muted before the server has named it is muted afterwards`() {
        let dialogue = Dialogue.connected()
        dialogue.machine.publish(Self.id, .vp8, Self.film, request: dialogue.request())
        _ = dialogue.media(.trackAdded(Self.id, cid: "c1"))
        dialogue.machine.setMuted(Self.id, true)
        #expect(dialogue.said().isEmpty)
        let lines = dialogue.server(
            .trackPublished(
                .with {
                    $0.cid = "c1"
                    $0.track = Dialogue.track("TR_1", "film")
                }))
        #expect(lines.last == "> mute TR_1")
    }

    @Test func `a track is withdrawn by not being offered any more`() {
        let dialogue = Dialogue.connected()
        dialogue.publish()
        _ = dialogue.said()
        dialogue.machine.unpublish(Self.id, at: dialogue.now)
        #expect(dialogue.said() == ["! remove 1", "! offer #2", "* unpublished TR_mine"])
    }

    @Test func `a track that the new session does not take is told as gone`() {
        let dialogue = Dialogue.connected()
        dialogue.publish()
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        _ = dialogue.server(Dialogue.join(sid: "PA_again"))
        _ = dialogue.media(.trackAdded(Self.id, cid: "c2"))
        let refused = dialogue.server(
            .requestResponse(
                .with {
                    $0.reason = .notAllowed
                    $0.addTrack = .with { $0.cid = "c2" }
                }))
        #expect(refused == ["! remove 1", "* unpublished TR_mine"])
    }

    @Test func `what is said of us is confirmed by an answer, or by being so`() {
        let dialogue = Dialogue.connected()
        dialogue.machine.updateMetadata(
            name: "Me", metadata: nil, attributes: [:], request: dialogue.request(), at: dialogue.now)
        #expect(dialogue.said() == ["> update_metadata #1 Me"])
        #expect(
            dialogue.server(Dialogue.update(Dialogue.info("me", sid: "PA_me", version: 2) { $0.name = "Me" }))
                == ["* name Me", "= 2 done"])
        dialogue.machine.updateMetadata(
            name: "You", metadata: nil, attributes: [:], request: dialogue.request(), at: dialogue.now)
        _ = dialogue.said()
        #expect(
            dialogue.server(
                .requestResponse(
                    .with {
                        $0.requestID = 2
                        $0.reason = .notAllowed
                    })) == ["= 3 failed: The server refused it (not_allowed)."])
    }
}
