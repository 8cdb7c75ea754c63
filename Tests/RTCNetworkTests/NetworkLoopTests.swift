import MediaFiles
import RTCEngine
import RTCWire
import Testing

@testable import RTCNetwork

@Suite struct NetworkLoopTests {
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
}
