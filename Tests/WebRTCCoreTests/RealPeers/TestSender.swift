import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Testing
import WebRTCCore

/// Somebody who sends: a real `PeerConnection` over UDP on 127.0.0.1.
struct TestSender: Sendable {
    let name: String
    let connection: PeerConnection
    let events: AsyncStream<PeerConnectionEvent>

    static func configuration() throws -> PeerConnectionConfiguration {
        try PeerConnectionConfiguration(addresses: .only([.v4(0x7f00_0001)]))
    }

    init(_ name: String, configuration: PeerConnectionConfiguration? = nil) throws {
        self.name = name
        connection = PeerConnection(configuration: try configuration ?? Self.configuration())
        events = connection.events
    }

    /// Offers to send on these, besides what was added before. The description has all candidates.
    func offer(adding kinds: [MediaKind] = []) async throws -> WebRTCOffer {
        for kind in kinds { _ = try await connection.addTransceiver(kind, streams: ["camera"]) }
        try await connection.setLocalDescription()
        let description = try #require(await connection.localDescription)
        return WebRTCOffer(sdp: description.sdp, type: "offer", from: name, to: "watcher", videoSource: "camera")
    }

    func accept(_ answer: WebRTCAnswer) async throws {
        try await accept(sdp: answer.sdp)
    }

    func accept(sdp: String) async throws {
        try await connection.setRemoteDescription(SessionDescriptionInit(type: .answer, sdp: sdp))
    }

    /// Returns once the connection is in this state.
    func reached(_ state: PeerConnectionState) async {
        for await event in events {
            if case .connectionStateChange(state, _) = event { return }
        }
    }

    /// Sends the first frames of the test video, marked as its own by the first frame's timestamp.
    func sendVideo(_ frames: Range<Int> = 0..<10) async throws {
        let video = try TestMedia.video()
        let transceiver = try #require(await connection.transceivers.first { $0.kind == .video })
        for index in frames {
            let frame = video.frames[index % video.frames.count]
            try await transceiver.sender.send(
                EncodedFrame(
                    payload: frame.payload, timestamp: UInt32(index) * 3_000, isKeyFrame: frame.isKeyFrame,
                    format: .h264))
        }
    }

    func sendSound(_ packets: Int = 10) async throws {
        let transceiver = try #require(await connection.transceivers.first { $0.kind == .audio })
        for index in 0..<packets {
            try await transceiver.sender.send(
                EncodedFrame(
                    payload: [0xf8, 0xff, UInt8(index)], timestamp: UInt32(index) * 960, isKeyFrame: true,
                    format: .opus))
        }
    }
}

extension RemoteTrack {
    /// The next frames.
    func next(_ count: Int) async -> [EncodedFrame] { await Self.take(count, of: frames) }

    static func take(_ count: Int, of frames: AsyncStream<EncodedFrame>) async -> [EncodedFrame] {
        var taken: [EncodedFrame] = []
        for await frame in frames {
            taken.append(frame)
            if taken.count == count { break }
        }
        return taken
    }
}
