import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Testing

/// Layers between two real connections over UDP on 127.0.0.1.
@Suite(.timeLimit(.minutes(2))) struct SimulcastTests {
    @Test func `a connection that receives simulcast takes every layer, each with its name`() async throws {
        var receiving = try ConnectedPair.configuration()
        receiving.receivesSimulcast = true
        let sender = PeerConnection(configuration: try ConnectedPair.configuration())
        let receiver = PeerConnection(configuration: receiving)
        let layers = ["q", "h", "f"]
        let video = try await sender.addTransceiver(
            .video, direction: .sendonly, sendEncodings: layers.map { SendEncoding(rid: $0) })
        try await negotiate(sender, receiver)
        let answer = try #require(await receiver.localDescription)
        #expect(answer.sdp.contains("a=simulcast:recv q;h;f\r\n"))

        let frames = try #require(await receiver.transceivers.first).receiver.frames
        let key = try #require(try testVideo().frames.first)
        for rid in layers {
            try await video.sender.send(
                EncodedFrame(payload: key.payload, timestamp: 3_000, isKeyFrame: true, format: .h264), rid: rid)
        }
        var received: Set<String> = []
        for await frame in frames {
            #expect(frame.payload == key.payload)
            received.insert(frame.metadata.rid ?? "none")
            if received.count == layers.count { break }
        }
        #expect(received == Set(layers))
        await sender.close()
        await receiver.close()
    }

    @Test func `one that does not takes one stream without a name`() async throws {
        let sender = PeerConnection(configuration: try ConnectedPair.configuration())
        let receiver = PeerConnection(configuration: try ConnectedPair.configuration())
        _ = try await sender.addTransceiver(
            .video, direction: .sendonly, sendEncodings: [SendEncoding(rid: "q"), SendEncoding(rid: "f")])
        try await negotiate(sender, receiver)
        let answer = try #require(await receiver.localDescription)
        #expect(!answer.sdp.contains("a=simulcast") && !answer.sdp.contains("a=rid"))
        await sender.close()
        await receiver.close()
    }

    /// Descriptions with all candidates in them, until both sides are connected.
    private func negotiate(_ offerer: PeerConnection, _ answerer: PeerConnection) async throws {
        let streams = [offerer.events, answerer.events]
        try await answerer.setRemoteDescription(try await described(offerer))
        try await offerer.setRemoteDescription(try await described(answerer))
        for events in streams {
            for await event in events {
                if case .connectionStateChange(.connected, _) = event { break }
            }
        }
    }

    private func described(_ connection: PeerConnection) async throws -> SessionDescriptionInit {
        let events = connection.events
        try await connection.setLocalDescription()
        if await connection.iceGatheringState != .complete {
            for await event in events {
                if case .iceGatheringStateChange(.complete) = event { break }
            }
        }
        return try #require(await connection.localDescription)
    }
}
