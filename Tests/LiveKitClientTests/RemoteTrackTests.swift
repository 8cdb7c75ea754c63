import LiveKitProtocol
import RTCEngine
import RTCWire
import Testing

@testable import LiveKitClient
@testable import RTCNetwork

/// The frames of a track on their way to whoever reads them.
@Suite(.timeLimit(.minutes(1))) struct RemoteTrackTests {
    private static func track(_ receiver: RTPReceiver) throws -> RemoteTrack {
        let info = Dialogue.track("TR_1", "camera")
        return RemoteTrack(
            publication: try #require(RemoteTrackPublication(info)),
            participant: RemoteParticipant(Dialogue.info("ann", tracks: [info])), receiver: receiver,
            askForKeyFrame: {})
    }

    private static func frame(_ number: UInt32, isKey: Bool = false) -> EncodedFrame {
        EncodedFrame(payload: [UInt8](repeating: 1, count: 10), timestamp: number, isKeyFrame: isKey, format: .vp8)
    }

    @Test func `a reader that was away goes on at a picture that can be decoded by itself`() async throws {
        let receiver = RTPReceiver(kind: .video)
        let frames = try Self.track(receiver).frames
        for number: UInt32 in 0..<3_000 {
            _ = receiver.frameBroadcast.send(Self.frame(number, isKey: number == 0))
            // Whoever would take frames out for the reader has the time to.
            if number % 100 == 0 { try await Task.sleep(for: .milliseconds(2)) }
        }
        _ = receiver.frameBroadcast.send(Self.frame(3_000, isKey: true))
        _ = receiver.frameBroadcast.send(Self.frame(3_001))
        receiver.finish()
        var read: [EncodedFrame] = []
        for await frame in frames { read.append(frame) }
        #expect(read.map(\.timestamp) == [3_000, 3_001])
    }

    @Test func `streams end with the subscription, and what the transceiver carries then is another's`() async throws {
        let receiver = RTPReceiver(kind: .video)
        let track = try Self.track(receiver)
        let first = track.frames
        let second = track.frames
        _ = receiver.frameBroadcast.send(Self.frame(1, isKey: true))
        track.end()
        _ = receiver.frameBroadcast.send(Self.frame(2))
        for stream in [first, second, track.frames] {
            var read: [UInt32] = []
            for await frame in stream { read.append(frame.timestamp) }
            #expect(read == [1] || read.isEmpty)
        }
        let next = try Self.track(receiver)
        let frames = next.frames
        _ = receiver.frameBroadcast.send(Self.frame(3, isKey: true))
        next.end()
        var read: [UInt32] = []
        for await frame in frames { read.append(frame.timestamp) }
        #expect(read == [3])
    }
}
