import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Testing

@testable import LiveKitClient

/// A track may be withdrawn or muted while the connection that it is to go over is being made.
@Suite(.timeLimit(.minutes(1))) struct StoppedPublicationTests {
    @Test func `a track that was withdrawn while its sender was made is not played`() async throws {
        let connection = PeerConnection(
            configuration: try PeerConnectionConfiguration(addresses: .only([try #require(IPAddress("127.0.0.1"))])))
        let frame = MediaTrack.Frame(
            payload: [0x10, 2, 0, 0x9d, 0x01, 0x2a, 64, 0, 64, 0], decodeTime: 0, duration: 3_000, isKeyFrame: true)
        let publication = LocalTrackPublication(
            id: LocalTrackID(rawValue: 1), options: TrackPublishOptions(name: "film", source: .camera), kind: .video,
            playing: [MediaSource(track: MediaTrack(format: .vp8, frames: [frame]))], room: nil)
        let sender = try await connection.addTrack(.video).sender
        // `Room.mediaHappened` is in `use`, or on its way there; `Room.unpublish` goes between.
        publication.stop()
        await publication.use(sender)
        #expect(publication.player == nil)
        await connection.close()
    }
}
