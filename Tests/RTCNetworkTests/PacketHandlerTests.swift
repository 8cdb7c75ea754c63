import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Synchronization
import Testing

/// Packets in the place of frames, between two real connections over UDP on 127.0.0.1.
@Suite(.timeLimit(.minutes(1))) struct PacketHandlerTests {
    /// What a handler has been given, put together again.
    private final class Reader: Sendable {
        struct Taken {
            var numbers: [Int64] = []
            var sources: Set<UInt32> = []
            var frames: [[UInt8]] = []
            var frame: [UInt8] = []
            var depacketizer = Depacketizer(format: .h264)
            var callsElsewhere = 0
        }

        let taken = Mutex(Taken())

        func take(_ packet: ReceivedPacket, _ bytes: RawSpan, on loop: NetworkLoop) {
            taken.withLock { taken in
                if loop.isIsolatingCurrentContext() != true { taken.callsElsewhere += 1 }
                taken.numbers.append(packet.sequence)
                taken.sources.insert(packet.header.ssrc)
                guard packet.format == .h264, (try? RTPHeader(parsing: bytes)) == packet.header,
                    taken.depacketizer.append(packet.header.payload(of: bytes), to: &taken.frame)
                else { return }
                guard packet.header.marker else { return }
                taken.frames.append(taken.frame)
                taken.frame = []
                taken.depacketizer.reset()
            }
        }
    }

    private func pair(on loop: NetworkLoop = .shared) async throws -> ConnectedPair {
        var receiving = try ConnectedPair.configuration()
        receiving.receives = .packets
        return try await ConnectedPair.connected(ConnectedPair.configuration(), receiving, on: loop)
    }

    private func send(_ frames: ArraySlice<MediaTrack.Frame>, by sender: RTPSender) async throws {
        for (index, frame) in frames.enumerated() {
            try await sender.send(
                EncodedFrame(
                    payload: frame.payload, timestamp: UInt32(index) * 3_000, isKeyFrame: frame.isKeyFrame,
                    format: .h264))
        }
    }

    @Test func `packets come each once, in order and decrypted, on the loop's thread`() async throws {
        let loop = NetworkLoop(name: "test-packets")
        let pair = try await pair(on: loop)
        let reader = Reader()
        pair.answererVideo.receiver.setPacketHandler { packet, bytes in reader.take(packet, bytes, on: loop) }
        let sent = try testVideo().frames.prefix(30)
        try await send(sent, by: pair.offererVideo.sender)
        try await until("all pictures are taken") { reader.taken.withLock { $0.frames.count } >= sent.count }
        reader.taken.withLock { taken in
            #expect(taken.frames == sent.map(\.payload))
            #expect(zip(taken.numbers, taken.numbers.dropFirst()).allSatisfy { $1 == $0 + 1 })
            #expect(taken.sources.count == 1)
            #expect(taken.callsElsewhere == 0)
        }
        // Probes for bandwidth repeat packets that have come.
        let stats = try #require(await pair.answerer.getStats().inboundRTP.first)
        #expect(stats.ownPacketsReceived == UInt64(reader.taken.withLock { $0.numbers.count }))
        await pair.close()
    }

    @Test func `frames go out of a connection that takes packets`() async throws {
        let pair = try await pair()
        let frames = pair.offererVideo.receiver.frames
        let sent = try testVideo().frames.prefix(10)
        try await send(sent, by: pair.answererVideo.sender)
        var received: [[UInt8]] = []
        for await frame in frames {
            received.append(frame.payload)
            if received.count == sent.count { break }
        }
        #expect(received == sent.map(\.payload))
        await pair.close()
    }

    @Test func `a handler may close its connection, and is not called again`() async throws {
        let pair = try await pair()
        let calls = Counter()
        let events = pair.answerer.events
        pair.answererVideo.receiver.setPacketHandler { [answerer = pair.answerer] _, _ in
            calls.increment()
            answerer.assumeIsolated { $0.close() }
        }
        // A key frame is many packets: more of them than one have come when the first is handed out.
        try await send(try testVideo().frames.prefix(1), by: pair.offererVideo.sender)
        for await _ in events {}
        #expect(await pair.answerer.connectionState == .closed)
        #expect(calls.value == 1)
        await pair.close()
    }

    @Test func `one handler takes the place of another, and none lets packets go by`() async throws {
        let pair = try await pair()
        let (first, second) = (Counter(), Counter())
        let receiver = pair.answererVideo.receiver
        receiver.setPacketHandler { [weak receiver] _, _ in
            first.increment()
            receiver?.setPacketHandler { _, _ in second.increment() }
        }
        try await send(try testVideo().frames.prefix(5), by: pair.offererVideo.sender)
        try await until("the second handler has a packet") { second.value > 0 }
        #expect(first.value == 1)
        receiver.setPacketHandler(nil)
        let before = second.value
        let received = await pair.answerer.getStats().inboundRTP.first?.ownPacketsReceived ?? 0
        try await send(try testVideo().frames.prefix(5), by: pair.offererVideo.sender)
        try await until("five more packets have come") {
            await pair.answerer.getStats().inboundRTP.first?.ownPacketsReceived ?? 0 >= received + 5
        }
        // What the loop was handing out at that moment may still have come.
        #expect(second.value <= before + 1)
        await pair.close()
    }
}
