import Foundation
import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Synchronization

/// Two connections of this process over 127.0.0.1, with their candidates and descriptions handed to each other.
struct ConnectedPair {
    let offerer: PeerConnection
    let answerer: PeerConnection
    let offererVideo: RTPTransceiver
    let answererVideo: RTPTransceiver

    static func configuration(_ address: IPAddress = .v4(0x7f00_0001)) throws -> PeerConnectionConfiguration {
        try PeerConnectionConfiguration(addresses: .only([address]))
    }

    /// Negotiates one video section in both directions and waits until both sides are connected.
    static func connected(
        over address: IPAddress = .v4(0x7f00_0001), on loop: NetworkLoop = .shared
    ) async throws -> ConnectedPair {
        try await connected(configuration(address), configuration(address), on: loop)
    }

    /// As above, with a configuration for each side: first who offers.
    static func connected(
        _ first: PeerConnectionConfiguration, _ second: PeerConnectionConfiguration, on loop: NetworkLoop
    ) async throws -> ConnectedPair {
        let offerer = PeerConnection(configuration: first, loop: loop)
        let answerer = PeerConnection(configuration: second, loop: loop)
        let fromOfferer = offerer.events
        let fromAnswerer = answerer.events
        let offererVideo = try await offerer.addTransceiver(.video, streams: ["camera"])
        let answererVideo = try await answerer.addTrack(.video, streams: ["camera"])

        try await offerer.setLocalDescription()
        guard let offer = await offerer.localDescription else { throw PeerConnectionError.peer(.closed) }
        try await answerer.setRemoteDescription(offer)
        try await answerer.setLocalDescription()
        guard let answer = await answerer.localDescription else { throw PeerConnectionError.peer(.closed) }
        try await offerer.setRemoteDescription(answer)

        async let first: Void = forward(fromOfferer, to: answerer)
        async let second: Void = forward(fromAnswerer, to: offerer)
        _ = await (first, second)
        return ConnectedPair(
            offerer: offerer, answerer: answerer, offererVideo: offererVideo, answererVideo: answererVideo)
    }

    /// Hands candidates over until this side is connected.
    private static func forward(_ events: AsyncStream<PeerConnectionEvent>, to other: PeerConnection) async {
        for await event in events {
            switch event {
            case .iceCandidate(let candidate): try? await other.addICECandidate(candidate)
            case .connectionStateChange(.connected, _): return
            default: continue
            }
        }
    }

    func close() async {
        await offerer.close()
        await answerer.close()
    }
}

/// The committed test video.
func testVideo() throws -> MediaTrack {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    guard let track = try MediaFile(path: root.appending(path: "Media/webRtcTestVideo.mp4").path).video else {
        throw MediaFileError.unreadable(file: "webRtcTestVideo.mp4")
    }
    return track
}

/// Counts from any thread.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .sequentiallyConsistent) }

    func increment() { count.add(1, ordering: .sequentiallyConsistent) }
}
