import RTCEngine
import RTCNetwork
import RTCWire

/// Two connections of this process on 127.0.0.1, the first one sending pictures to the second one.
struct Pair {
    let caller: PeerConnection
    let callee: PeerConnection
    let video: RTPTransceiver

    static func configuration() throws -> PeerConnectionConfiguration {
        // A certificate of its own for each connection, as the peers that it is compared with make.
        try PeerConnectionConfiguration(addresses: .only([.v4(0x7f00_0001)]), videoCodecs: [.vp8])
    }

    init() async throws {
        caller = PeerConnection(configuration: try Self.configuration())
        callee = PeerConnection(configuration: try Self.configuration())
        video = try await caller.addTransceiver(.video, direction: .sendonly)
    }

    /// Descriptions with all candidates, one after the other.
    func negotiate() async throws {
        try await offer()
        guard let offer = await caller.localDescription else { return }
        try await callee.setRemoteDescription(offer)
        try await callee.setLocalDescription()
        guard let answer = await callee.localDescription else { return }
        try await caller.setRemoteDescription(answer)
    }

    func offer() async throws { try await caller.setLocalDescription() }

    static func connected(_ connection: PeerConnection, _ events: AsyncStream<PeerConnectionEvent>) async {
        for await event in events {
            if case .connectionStateChange(.connected, _) = event { return }
        }
    }

    func close() async {
        await caller.close()
        await callee.close()
    }
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
