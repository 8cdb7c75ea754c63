import ClientKit
import Foundation
import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Testing

@testable import ClientRTC

/// A call whose file has a key frame every twenty seconds only, with a `PeerConnection` as the other side.
@Suite struct `A key frame that the peer asks for` {
    private static let frameCount = 2_400
    private static let keyFrameInterval = 600
    private static let packetCount = frameCount / 30 * 50

    /// VP8 frames that tell their number, written as IVF by the recorder and read from there.
    private func picture() throws -> MediaTrack {
        let path = FileManager.default.temporaryDirectory.appending(path: "roost-\(UUID().uuidString).ivf").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try RecordingFile(path: path, video: .vp8, audio: nil, container: .ivf)
        for number in 0..<Self.frameCount {
            let isKeyFrame = number % Self.keyFrameInterval == 0
            // RFC 6386 §9.1: the tag, and behind it in a key frame the start code and the size, 64 by 64 pixels.
            let header: [UInt8] = isKeyFrame ? [0x10, 2, 0, 0x9d, 0x01, 0x2a, 64, 0, 64, 0] : [0x11, 2, 0]
            try file.receive(
                EncodedFrame(
                    payload: header + Self.bytes(number), timestamp: UInt32(number) * 3_000, isKeyFrame: isKeyFrame,
                    format: .vp8),
                at: .zero + .seconds(Double(number) / 30))
        }
        try file.finish()
        return try #require(try MediaFile(path: path).video)
    }

    /// Opus packets of 20 ms that tell their number, as long as the picture.
    private static let voice = MediaTrack(
        format: .opus,
        frames: (0..<packetCount).map {
            MediaTrack.Frame(
                payload: [0xf8] + bytes($0), decodeTime: Int64($0) * 960, duration: 960, isKeyFrame: true)
        })

    private static func bytes(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }

    private static func number(_ frame: EncodedFrame) -> Int {
        frame.payload.suffix(2).reduce(0) { $0 << 8 | Int($1) }
    }

    private func negotiate(
        _ caller: RTCCallMediaSession, _ peer: PeerConnection
    ) async throws -> (video: RTPTransceiver, audio: RTPTransceiver) {
        let audio = try await peer.addTrack(.audio)
        let video = try await peer.addTrack(.video)
        let offer = try await caller.createOffer()
        try await peer.setRemoteDescription(SessionDescriptionInit(type: .offer, sdp: offer.sdp))
        try await peer.setLocalDescription()
        let answer = try #require(await peer.localDescription)
        try await caller.setRemoteAnswer(SessionDescriptionPayload(type: .answer, sdp: answer.sdp))
        return (video, audio)
    }

    private func handOver(from caller: RTCCallMediaSession, to peer: PeerConnection) async {
        for await case .localCandidate(let candidate) in caller.events {
            try? await peer.addICECandidate(
                ICECandidateInit(
                    candidate: candidate.candidate, sdpMid: candidate.sdpMid, sdpMLineIndex: candidate.sdpMLineIndex))
        }
    }

    private func handOver(
        _ events: AsyncStream<PeerConnectionEvent>, to caller: RTCCallMediaSession
    ) async {
        for await case .iceCandidate(let candidate) in events {
            try? await caller.addRemoteCandidate(
                IceCandidatePayload(
                    candidate: candidate.candidate, sdpMid: candidate.sdpMid, sdpMLineIndex: candidate.sdpMLineIndex))
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `is the file's next one, at once, and the sound goes there too`() async throws {
        let configuration = try PeerConnectionConfiguration(
            addresses: .only([try #require(IPAddress("127.0.0.1"))]), videoCodecs: [.vp8])
        let caller = RTCCallMediaSession(
            connection: PeerConnection(configuration: configuration),
            media: CallMedia(video: [try picture()], sound: .file(Self.voice)), restartsICEAfter: nil, sink: nil)
        let peer = PeerConnection(configuration: configuration)
        let events = peer.events
        await caller.start()
        let (video, audio) = try await negotiate(caller, peer)
        async let ours: Void = handOver(from: caller, to: peer)
        async let theirs: Void = handOver(events, to: caller)
        let (pictures, sounds) = (video.receiver.frames, audio.receiver.frames)

        // The request comes when a key frame is long past, and is answered long before the next is due by itself.
        let (askedAfter, patience) = (30, 120)
        var received: [EncodedFrame] = []
        for await frame in pictures {
            // While the call begins, the connections may ask by themselves.
            if frame.isKeyFrame, received.count <= askedAfter { received = [] }
            received.append(frame)
            if received.count == askedAfter + 1 { await peer.requestKeyFrame(on: video) }
            if received.count > askedAfter + 1, frame.isKeyFrame || received.count > askedAfter + patience { break }
        }
        let (before, last) = (received[received.count - 2], received[received.count - 1])
        #expect(last.isKeyFrame)
        #expect(Self.number(last) == (Self.number(received[0]) + Self.keyFrameInterval) % Self.frameCount)
        // For the receiver no time has been left out.
        #expect(last.timestamp &- before.timestamp == 3_000)

        let left = (Self.keyFrameInterval - askedAfter - patience) / 30 * 50
        var (packets, previous) = (0, Int?.none)
        var hasJumped = false
        for await packet in sounds {
            let number = Self.number(packet)
            if let previous { hasJumped = (number - previous + Self.packetCount) % Self.packetCount >= left }
            (packets, previous) = (packets + 1, number)
            if hasJumped || packets == 500 { break }
        }
        #expect(hasJumped)
        await caller.close()
        await peer.close()
        _ = await (ours, theirs)
    }
}
