import RTCEngine
import RTCNetwork
import RTCWire
import Testing

@testable import LiveKitClient

/// Frames of data tracks over a connection with a peer of this process, which does not read them.
@Suite(.timeLimit(.minutes(2))) struct DataTrackWaitingTests {
    /// 160,000 bytes.
    private static let frame = [[UInt8]](repeating: [UInt8](repeating: 7, count: 16_000), count: 10)

    /// Of frames, what was given to the connection. Bytes.
    private static func sent(_ connections: MediaConnections) async -> UInt64 {
        let channels = await connections.stats(.publisher).dataChannels
        return channels.first { $0.label == DataLabel.tracks.rawValue }?.bytesSent ?? 0
    }

    private static func window(_ connections: MediaConnections) async -> UInt64 {
        await connections.stats(.publisher).sctpTransport?.receiverWindow ?? .max
    }

    /// Answers the offer, and gives the peer's end of the channel for frames once it is open.
    private static func connected(
        _ connections: MediaConnections, _ facts: AsyncStream<MediaFact>, _ server: PeerConnection
    ) async throws -> DataChannel {
        let events = server.events
        await connections.start()
        connections.enqueue(.makeOffer(id: 1, iceRestart: false))
        for await fact in facts {
            if case .offerMade(_, let sdp) = fact {
                try await server.setRemoteDescription(SessionDescriptionInit(type: .offer, sdp: sdp))
                let answer = try await server.setLocalDescription()
                connections.enqueue(.takeAnswer(sdp: answer.sdp))
            }
            if case .channelOpen(.tracks, let id) = fact {
                // RFC 8832 §6: the third channel of the client's in DTLS, or of the server's.
                #expect([4, 5].contains(id))
                break
            }
        }
        for await event in events {
            if case .dataChannel(let channel) = event, channel.label == DataLabel.tracks.rawValue { return channel }
        }
        throw DataChannelError.connectionClosed
    }

    @Test func `a frame waits while more than 256 KiB of those before are to be sent, and goes out afterwards`()
        async throws
    {
        let configuration = try PeerConnectionConfiguration(addresses: .only([.v4(0x7f00_0001)]))
        let (facts, reported) = AsyncStream<MediaFact>.makeStream()
        let connections = MediaConnections(
            configuration: configuration, waitForListeners: {}, report: { fact in reported.yield(fact) },
            tell: { _, _ in })
        let server = PeerConnection(configuration: configuration)
        let channel = try await Self.connected(connections, facts, server)
        // Nobody reads until the peer's window is used up.
        while await Self.window(connections) > 65_536 {
            connections.enqueue(frame: Self.frame)
            await Task.yield()
        }
        // Up to the mark, the frame with which it is passed, and what the window still takes.
        let most = await Self.sent(connections) + 262_144 + 160_000 + 262_144
        for _ in 0..<100 {
            connections.enqueue(frame: Self.frame)
            let sent = await Self.sent(connections)
            #expect(sent <= most)
        }
        let before = await Self.sent(connections)
        let reader = Task { for await _ in channel.messages {} }
        // Of those that have waited.
        while await Self.sent(connections) < before + 2_000_000 { await Task.yield() }
        await connections.close()
        await server.close()
        await reader.value
    }
}
