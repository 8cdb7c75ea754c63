import ClientKit
import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Testing

@testable import ClientRTC

/// Two sessions of the real engine over UDP on loopback, with a hand-carried signaling between them.
@Suite struct `The media of a call` {
    private static let picture = MediaTrack(
        format: .vp8,
        frames: (0..<30).map {
            // A VP8 key frame's header (RFC 6386 §9.1): 64 by 64 pixels.
            MediaTrack.Frame(
                payload: [0x10, 2, 0, 0x9d, 0x01, 0x2a, 64, 0, 64, 0, UInt8($0)], decodeTime: $0 * 3_000,
                duration: 3_000, isKeyFrame: true)
        })
    private static let voice = MediaTrack(
        format: .opus,
        frames: (0..<51).map {
            MediaTrack.Frame(payload: [0xf8, UInt8($0)], decodeTime: $0 * 960, duration: 960, isKeyFrame: true)
        })

    private func session() throws -> RTCCallMediaSession {
        let configuration = try PeerConnectionConfiguration(
            addresses: .only([try #require(IPAddress("127.0.0.1"))]), videoCodecs: [.vp8])
        return RTCCallMediaSession(
            connection: PeerConnection(configuration: configuration),
            media: CallMedia(video: [Self.picture], sound: .file(Self.voice)), restartsICEAfter: nil, sink: nil)
    }

    /// Hands candidates over, and collects the rest until the statistics have come twice.
    private func follow(_ session: RTCCallMediaSession, to other: RTCCallMediaSession) async -> [String] {
        var log: [String] = []
        for await event in session.events {
            switch event {
            case .localCandidate(let candidate): try? await other.addRemoteCandidate(candidate)
            case .connectionState(let state): log.append(state.rawValue)
            case .remoteTrack(let kind, _): log.append(kind.rawValue)
            case .statistics(let statistics):
                log.append((statistics.videoReceived?.frames ?? 0) > 0 ? "pictures" : "no pictures")
                if log.filter({ $0.hasSuffix("pictures") }).count == 2 { return log }
            case .negotiationNeeded: log.append("negotiation")
            }
        }
        return log
    }

    @Test(.timeLimit(.minutes(5)))
    func `statistics come a second after the connection, with what arrived until then`() async throws {
        let (caller, callee) = (try session(), try session())
        await caller.start()
        await callee.start()
        let offer = try await caller.createOffer()
        let answer = try await callee.createAnswer(to: offer)
        try await caller.setRemoteAnswer(answer)
        async let called = follow(caller, to: callee)
        async let answered = follow(callee, to: caller)
        for log in await [called, answered] {
            let connected = try #require(log.firstIndex(of: "connected"))
            #expect(log[connected...].filter { $0.hasSuffix("pictures") } == ["pictures", "pictures"])
            #expect(!log[..<connected].contains { $0.hasSuffix("pictures") })
            #expect(log.contains("audio") && log.contains("video"))
        }
        await caller.close()
        await callee.close()
    }

    @Test func `a round of the loop is as long as the longest track`() {
        let media = CallMedia(video: [Self.picture], sound: .file(Self.voice))
        #expect(media.roundLength == .milliseconds(1_020))
        #expect(CallMedia(video: [Self.picture], sound: .echo).roundLength == .seconds(1))
        #expect(CallMedia(video: [], sound: .none).roundLength == .zero)
    }
}
