import MediaFiles
import RTCEngine
import RTCWire
import Testing

@testable import RTCNetwork

@Suite(.timeLimit(.minutes(2))) struct NetworkLoopTests {
    /// Lives on a loop, to look at it from inside.
    private actor Probe {
        nonisolated let loop: NetworkLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(_ loop: NetworkLoop) { self.loop = loop }

        var load: (timers: Int, readers: Int) { loop.load }

        func schedule(_ impatient: Impatient) { loop.schedule(impatient.timer, at: .zero) }
    }

    /// Always wants to be called at once.
    private final class Impatient: TimerTarget, @unchecked Sendable {
        let timer = LoopTimer()
        let calls = Counter()
        private let loop: NetworkLoop

        init(_ loop: NetworkLoop) {
            self.loop = loop
            timer.target = self
        }

        func timerFired(at now: Instant) {
            calls.increment()
            loop.schedule(timer, at: now)
        }
    }

    @Test func `an owner that always wants to be called leaves the loop to the others`() async {
        let loop = NetworkLoop(name: "test-impatient")
        let probe = Probe(loop)
        let impatient = Impatient(loop)
        await probe.schedule(impatient)
        for _ in 0..<100 { #expect(await probe.load.timers == 1) }
        #expect(impatient.calls.value > 0)
    }

    @Test func `a call keeps one deadline a connection, however many packets it has`() async throws {
        let loop = NetworkLoop(name: "test-timers")
        let pair = try await ConnectedPair.connected(on: loop)
        let video = try testVideo().frames
        let frames = pair.answererVideo.receiver.frames
        let reader = Task { for await _ in frames {} }
        let probe = Probe(loop)
        for index in 0..<300 {
            try await pair.offererVideo.sender.send(
                EncodedFrame(
                    payload: video[index % 60].payload, timestamp: UInt32(index) * 3_000, isKeyFrame: index % 60 == 0,
                    format: .h264))
            #expect(await probe.load.timers <= 2)
        }
        await pair.close()
        await reader.value
        #expect(await probe.load.readers == 0)
    }

    @Test func `a socket that never runs dry leaves the loop to the others`() async throws {
        let loop = NetworkLoop(name: "test-flood")
        let flooded = PeerConnection(configuration: try ConnectedPair.configuration(), loop: loop)
        let events = flooded.events
        _ = try await flooded.addTransceiver(.video)
        try await flooded.setLocalDescription()
        var target: TransportAddress?
        for await event in events {
            guard case .iceCandidate(let candidate) = event else { continue }
            let fields = candidate.candidate.split(separator: " ")
            target = UInt16(fields[5]).map { TransportAddress(.v4(0x7f00_0001), port: $0) }
            break
        }
        let address = try #require(target)
        let done = Counter()
        // A thread of its own: the pool's are for the tests.
        #expect(DetachedThread.start(named: "test-flooder") { try? Self.flood(address, until: done) })
        defer { done.increment() }
        let pair = try await ConnectedPair.connected(on: loop)
        let frames = pair.answererVideo.receiver.frames
        let first = try testVideo().frames[0]
        try await pair.offererVideo.sender.send(
            EncodedFrame(payload: first.payload, timestamp: 0, isKeyFrame: true, format: .h264))
        for await _ in frames { break }
        await pair.close()
        #expect(await flooded.getStats().transport?.packetsReceived ?? 0 > 100)
        await flooded.close()
    }

    private static func flood(_ address: TransportAddress, until done: Counter) throws {
        let socket = try UDPSocket(binding: TransportAddress(.v4(0x7f00_0001), port: 0))
        var batch = SendBatch()
        while done.value == 0 {
            for _ in 0..<32 { batch.append([UInt8](repeating: 0xff, count: 100), to: address) }
            batch.flush(on: socket)
        }
    }
}
