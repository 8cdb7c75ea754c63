import Foundation
import MediaFiles
import RTCEngine
import RTCWire
import Synchronization
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

        func add(_ tally: Tally) { tally.run() }

        /// From one loop's thread to another loop, which does nothing.
        func visit(_ other: NetworkLoop) -> (inLoop: [Bool], inCaller: [Bool]) {
            let there = Note(other)
            let here = Note(loop)
            other.visit(Both(there, here))
            return (there.places, here.places)
        }

        /// True when the call has not been made by the time that the visit is over.
        func visitFromInside(_ note: Note) -> Bool {
            loop.visit(note)
            return note.places.isEmpty
        }
    }

    /// Where it was when it was called.
    private final class Note: LoopCall, Sendable {
        let (calls, source) = AsyncStream<Void>.makeStream()
        private let noted = Mutex<[Bool]>([])
        private let loop: NetworkLoop

        /// Whether the caller had the loop's turn, for each call.
        var places: [Bool] { noted.withLock { $0 } }

        init(_ loop: NetworkLoop) { self.loop = loop }

        func run() {
            let isCurrent = loop.isCurrent
            noted.withLock { $0.append(isCurrent) }
            source.yield()
        }
    }

    private final class Both: LoopCall, Sendable {
        private let first: Note
        private let second: Note

        init(_ first: Note, _ second: Note) {
            self.first = first
            self.second = second
        }

        func run() {
            first.run()
            second.run()
        }
    }

    /// Sets a timer.
    private final class Patient: LoopCall, TimerTarget, @unchecked Sendable {
        let (calls, source) = AsyncStream<Void>.makeStream()
        private(set) var hasBeenOnTime = false
        private let timer = LoopTimer()
        private let deadline = NetworkLoop.now + .milliseconds(1)
        private let loop: NetworkLoop

        init(_ loop: NetworkLoop) {
            self.loop = loop
            timer.target = self
        }

        func run() { loop.schedule(timer, at: deadline) }

        func timerFired(at now: Instant) {
            hasBeenOnTime = now >= deadline && loop.isCurrent
            source.yield()
        }
    }

    /// Counts without a lock: what only who has the loop's turn may do.
    private final class Tally: LoopCall, @unchecked Sendable {
        private(set) var total = 0
        private(set) var threads: Set<UInt> = []
        private(set) var wasElsewhere = false
        private let loop: NetworkLoop

        init(_ loop: NetworkLoop) { self.loop = loop }

        func run() {
            let before = total
            // Long enough for another to come in between, if it could.
            for _ in 0..<20 where NetworkLoop.now == .zero || !loop.isCurrent { wasElsewhere = true }
            total = before + 1
            threads.insert(NetworkLoop.caller)
        }
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

    @Test func `what is to be done is done on the caller's thread while the loop's sleeps`() async {
        let loop = NetworkLoop(name: "test-visit")
        let other = NetworkLoop(name: "test-visited")
        // It may be awake at first, and does it itself then.
        var places = await Probe(other).visit(loop)
        for _ in 0..<10_000 where places.inCaller != [true] { places = await Probe(other).visit(loop) }
        #expect(places.inLoop == [true], "a visitor has the loop's turn")
        #expect(places.inCaller == [true], "and is where it came from")
        #expect(!loop.isCurrent && !other.isCurrent)
    }

    @Test func `a visitor whose host is awake leaves its call there, and is not served in the middle of another`() async
    {
        let loop = NetworkLoop(name: "test-busy")
        let probe = Probe(loop)
        let inner = Note(loop)
        let hasWaited = await probe.visitFromInside(inner)
        #expect(hasWaited)
        for await _ in inner.calls { break }
        #expect(inner.places == [true])
    }

    @Test func `who visits sets a timer, and the thread that sleeps for longer gets up for it`() async {
        let loop = NetworkLoop(name: "test-alarm")
        // At first it may be awake yet.
        for _ in 0..<20 {
            let patient = Patient(loop)
            loop.visit(patient)
            for await _ in patient.calls { break }
            #expect(patient.hasBeenOnTime)
        }
    }

    @Test func `visitors and jobs never have a loop at the same time`() async throws {
        let loop = NetworkLoop(name: "test-exclusive")
        let probe = Probe(loop)
        let count = Tally(loop)
        let (ends, end) = AsyncStream<Void>.makeStream()
        for _ in 0..<2 {
            // Threads of their own: the pool's may be busy with other tests.
            let hasStarted = DetachedThread.start(named: "test-visitor") {
                for number in 0..<100_000 {
                    loop.visit(count)
                    // Or else the loop would be awake all the time, and nobody's host: where there is work enough for
                    // the machine without this, for as long as visitors come.
                    for _ in 0..<40 { _ = NetworkLoop.now }
                    if number.isMultiple(of: 200) { Thread.sleep(forTimeInterval: 0.001) }
                }
                end.yield()
            }
            try #require(hasStarted)
        }
        for _ in 0..<100 { await probe.add(count) }
        for await _ in ends.prefix(2) {}
        // What visitors have left to the loop comes before this.
        await probe.add(count)
        #expect(count.total == 2 * 100_000 + 100 + 1)
        #expect(!count.wasElsewhere)
        #expect(count.threads.count > 1, "not only the loop has served them")
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
