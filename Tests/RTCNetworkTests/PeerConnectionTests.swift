import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Testing

/// Two real connections over UDP on 127.0.0.1.
@Suite(.timeLimit(.minutes(2))) struct PeerConnectionTests {
    @Test func `frames arrive complete, in order and unchanged`() async throws {
        let pair = try await ConnectedPair.connected()
        let frames = pair.answererVideo.receiver.frames
        let sent = try testVideo().frames.prefix(60)
        for (index, frame) in sent.enumerated() {
            try await pair.offererVideo.sender.send(
                EncodedFrame(
                    payload: frame.payload, timestamp: UInt32(index) * 3_000, isKeyFrame: frame.isKeyFrame,
                    format: .h264))
        }
        var received: [EncodedFrame] = []
        for await frame in frames {
            received.append(frame)
            if received.count == sent.count { break }
        }
        #expect(received.map(\.payload) == sent.map(\.payload))
        #expect(received.map(\.isKeyFrame) == sent.map(\.isKeyFrame))
        let steps = zip(received, received.dropFirst()).map { $1.timestamp &- $0.timestamp }
        #expect(steps.allSatisfy { $0 == 3_000 })
        await pair.close()
    }

    @Test func `frames that are handed over arrive like those that are sent, among them and in order`() async throws {
        let pair = try await ConnectedPair.connected()
        let frames = pair.answererVideo.receiver.frames
        let sent = try testVideo().frames.prefix(60)
        for (index, frame) in sent.enumerated() {
            let next = EncodedFrame(
                payload: frame.payload, timestamp: UInt32(index) * 3_000, isKeyFrame: frame.isKeyFrame, format: .h264)
            if index % 7 == 0 {
                try await pair.offererVideo.sender.send(next)
            } else {
                #expect(pair.offererVideo.sender.enqueue(next))
            }
        }
        var received: [[UInt8]] = []
        for await frame in frames {
            received.append(frame.payload)
            if received.count == sent.count { break }
        }
        #expect(received == sent.map(\.payload))
        await pair.close()
        let late = EncodedFrame(payload: [0], timestamp: 0, isKeyFrame: true, format: .h264)
        #expect(!pair.offererVideo.sender.enqueue(late))
    }

    @Test func `a thread that is behind takes no more frames than it can send`() async throws {
        let loop = NetworkLoop(name: "test-behind")
        let pair = try await ConnectedPair.connected(on: loop)
        let frame = EncodedFrame(payload: [0], timestamp: 0, isKeyFrame: false, format: .vp8)
        // On the loop's thread: nothing is taken from the outbox meanwhile.
        let taken = await pair.offerer.run { _ in (0..<1_000).count { _ in pair.offererVideo.sender.enqueue(frame) } }
        #expect(taken == 256)
        let large = EncodedFrame(
            payload: [UInt8](repeating: 0, count: 3 << 20), timestamp: 0, isKeyFrame: false, format: .vp8)
        let takenLarge = await pair.offerer.run { _ in (0..<10).count { _ in pair.offererVideo.sender.enqueue(large) } }
        #expect(takenLarge == 2)
        // What it did take is over with; there is room again.
        #expect(await pair.offerer.run { _ in pair.offererVideo.sender.enqueue(frame) })
        await pair.close()
    }

    private static let hasIPv6 =
        (try? NetworkInterface.current().contains { $0.address == .v6(0, 1) }) ?? false

    @Test(.enabled(if: hasIPv6, "this host has no ::1"))
    func `the same over IPv6`() async throws {
        let pair = try await ConnectedPair.connected(over: .v6(0, 1))
        let frames = pair.answererVideo.receiver.frames
        let first = try testVideo().frames[0]
        try await pair.offererVideo.sender.send(
            EncodedFrame(payload: first.payload, timestamp: 0, isKeyFrame: true, format: .h264))
        for await frame in frames {
            #expect(frame.payload == first.payload)
            break
        }
        await pair.close()
    }

    @Test func `a wanted key frame is asked of the other side`() async throws {
        let pair = try await ConnectedPair.connected()
        let events = pair.offerer.events
        let video = try testVideo().frames
        try await pair.offererVideo.sender.send(
            EncodedFrame(payload: video[0].payload, timestamp: 0, isKeyFrame: true, format: .h264))
        for await _ in pair.answererVideo.receiver.frames { break }
        await pair.answerer.requestKeyFrame(on: pair.answererVideo)
        for await event in events {
            if case .keyFrameRequested(let transceiver) = event {
                #expect(transceiver == pair.offererVideo)
                break
            }
        }
        await pair.close()
    }

    @Test func `closing one side closes the other, and ends every stream`() async throws {
        let pair = try await ConnectedPair.connected()
        let events = pair.answerer.events
        await pair.offerer.close()
        var last: PeerConnectionState?
        for await event in events {
            if case .connectionStateChange(let state, _) = event { last = state }
            if last == .closed { break }
        }
        #expect(last == .closed)
        for await _ in pair.offererVideo.receiver.frames {}
        for await _ in pair.offerer.events {}
        await pair.close()
    }

    @Test func `a closed connection refuses everything, and may be closed again`() async throws {
        let connection = PeerConnection(configuration: try ConnectedPair.configuration())
        let video = try await connection.addTransceiver(.video)
        await connection.close()
        await connection.close()
        await #expect(throws: PeerConnectionError.peer(.closed)) { try await connection.createOffer() }
        await #expect(throws: PeerConnectionError.peer(.closed)) { try await connection.addTransceiver(.audio) }
        await #expect(throws: PeerConnectionError.peer(.closed)) {
            try await video.sender.send(EncodedFrame(payload: [0], timestamp: 0, isKeyFrame: true, format: .vp8))
        }
        #expect(await connection.connectionState == .closed)
    }

    @Test func `closing while descriptions are being set does no harm`() async throws {
        for _ in 0..<20 {
            let connection = PeerConnection(configuration: try ConnectedPair.configuration())
            _ = try await connection.addTransceiver(.video)
            async let setting = connection.setLocalDescription()
            async let closing: Void = connection.close()
            _ = try? await setting
            await closing
            #expect(await connection.connectionState == .closed)
        }
    }

    @Test func `a connection that is forgotten is freed with its sockets`() async throws {
        weak var forgotten: PeerConnection?
        var events: AsyncStream<PeerConnectionEvent>?
        do {
            let connection = PeerConnection(configuration: try ConnectedPair.configuration())
            events = connection.events
            _ = try await connection.addTransceiver(.video)
            try await connection.setLocalDescription()
            forgotten = connection
        }
        // The stream ends when the connection is gone.
        if let events { for await _ in events {} }
        #expect(forgotten == nil)
    }

    @Test func `a description that is none is refused, and nothing has changed`() async throws {
        let connection = PeerConnection(configuration: try ConnectedPair.configuration())
        await #expect(throws: PeerConnectionError.self) {
            try await connection.setRemoteDescription(SessionDescriptionInit(type: .offer, sdp: "nonsense"))
        }
        #expect(await connection.signalingState == .stable)
        await #expect(throws: PeerConnectionError.self) {
            try await connection.addICECandidate(
                ICECandidateInit(candidate: "candidate:1 1 udp 1 192.0.2.1 9 typ host", sdpMid: "0"))
        }
        await connection.close()
    }

    @Test func `statistics tell of both directions and of the path`() async throws {
        let pair = try await ConnectedPair.connected()
        let frames = pair.answererVideo.receiver.frames
        let video = try testVideo().frames
        for index in 0..<10 {
            try await pair.offererVideo.sender.send(
                EncodedFrame(
                    payload: video[index].payload, timestamp: UInt32(index) * 3_000, isKeyFrame: index == 0,
                    format: .h264))
        }
        var count = 0
        for await _ in frames {
            count += 1
            if count == 10 { break }
        }
        let sending = await pair.offerer.getStats()
        let receiving = await pair.answerer.getStats()
        #expect(sending.outboundRTP.first?.framesSent == 10)
        #expect(receiving.inboundRTP.first?.framesReceived == 10)
        #expect(sending.transport?.dtlsState == "connected")
        #expect(sending.transport?.srtpCipher == "SRTP_AEAD_AES_128_GCM")
        #expect(sending.transport?.selectedCandidatePairID != nil)
        #expect(receiving.codecs.contains { $0.mimeType == "video/H264" })
        await pair.close()
    }

    @Test func `what an offer brought ends when another one takes its place`() async throws {
        let offerer = PeerConnection(configuration: try ConnectedPair.configuration())
        _ = try await offerer.addTransceiver(.audio)
        let first = try await offerer.createOffer()
        let answerer = PeerConnection(configuration: try ConnectedPair.configuration())
        let events = answerer.events
        try await answerer.setRemoteDescription(first)
        let lost = try #require(await answerer.transceivers.first)
        // Of somebody else's picture: the same offer again would keep it.
        let other = PeerConnection(configuration: try ConnectedPair.configuration())
        _ = try await other.addTransceiver(.video)
        try await answerer.setRemoteDescription(try await other.createOffer())
        #expect(await answerer.transceivers != [lost])
        // Nothing will ever come out of it: its stream has ended, and the application has been told.
        for await _ in lost.receiver.frames {}
        var told: [String] = []
        for await event in events {
            switch event {
            case .track(let transceiver): told.append(transceiver == lost ? "lost" : "new")
            case .trackEnded(let transceiver): told.append(transceiver == lost ? "lost ended" : "new ended")
            default: continue
            }
            if told.count == 3 { break }
        }
        #expect(told == ["lost", "lost ended", "new"])
        for connection in [answerer, offerer, other] { await connection.close() }
    }
}

extension PeerConnection {
    /// Does something on the loop's thread.
    fileprivate func run<Result: Sendable>(_ body: @Sendable (isolated PeerConnection) -> Result) -> Result {
        body(self)
    }
}
