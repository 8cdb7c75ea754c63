import RTCEngine
import RTCNetwork
import RTCWire

/// What a connection carries in this benchmark.
enum Cargo: String {
    case video, data
}

/// Two connections of this process on 127.0.0.1.
struct Pair {
    let caller: PeerConnection
    let callee: PeerConnection

    static func configuration(paces: Bool = true, receives: MediaUnit = .frames) throws -> PeerConnectionConfiguration {
        // A certificate of its own for each connection, as the peers that it is compared with make.
        var configuration = try PeerConnectionConfiguration(
            addresses: .only([.v4(0x7f00_0001)]), videoCodecs: [.vp8])
        if !paces { configuration.congestion.pacing = .off }
        configuration.receives = receives
        return configuration
    }

    init() throws {
        caller = PeerConnection(configuration: try Self.configuration())
        callee = PeerConnection(configuration: try Self.configuration())
    }

    /// The caller's description, with all candidates.
    func offer() async throws -> SessionDescriptionInit {
        try await caller.setLocalDescription()
        guard let offer = await caller.localDescription else { throw BenchmarkError.notConnected }
        return offer
    }

    /// The callee's, and what is left to do with it.
    func answer(_ offer: SessionDescriptionInit) async throws {
        try await callee.setRemoteDescription(offer)
        try await callee.setLocalDescription()
        guard let answer = await callee.localDescription else { throw BenchmarkError.notConnected }
        try await caller.setRemoteDescription(answer)
    }

    static func connected(_ events: AsyncStream<PeerConnectionEvent>) async {
        for await event in events {
            if case .connectionStateChange(.connected, _) = event { return }
        }
    }

    /// The channel that the peer opens.
    static func dataChannel(_ events: AsyncStream<PeerConnectionEvent>) async -> DataChannel? {
        for await event in events {
            if case .dataChannel(let channel) = event { return channel }
        }
        return nil
    }

    func close() async {
        await caller.close()
        await callee.close()
    }
}

enum BenchmarkError: Error {
    case nothingArrived, notConnected
}

extension EncodedFrame {
    /// Bytes in the shape of VP8, for stacks that look at the first of them only.
    static func vp8(bytes count: Int, timestamp: UInt32, isKeyFrame: Bool) -> EncodedFrame {
        var payload = [UInt8](repeating: 0x55, count: max(count, 10))
        // RFC 6386 §9.1: the tag, and for a key frame start code and size.
        payload.replaceSubrange(0..<3, with: [isKeyFrame ? 0x10 : 0x11, 0, 0])
        if isKeyFrame { payload.replaceSubrange(3..<10, with: [0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00]) }
        return EncodedFrame(payload: payload, timestamp: timestamp, isKeyFrame: isKeyFrame, format: .vp8)
    }
}
