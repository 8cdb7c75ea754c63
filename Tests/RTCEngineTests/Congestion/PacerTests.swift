import RTCWire
import Testing

@testable import RTCEngine

/// The leaky bucket.
@Suite struct PacerTests {
    private func packet(_ priority: PacketPriority = .video, bytes: Int = 1_000, ssrc: UInt32 = 7) -> QueuedPacket {
        var packet = QueuedPacket(kind: .rtp, bytes: [UInt8](repeating: 0, count: bytes))
        packet.bytes.set(uint16: UInt16(truncatingIfNeeded: ssrc >> 16), at: 8)
        packet.bytes.set(uint16: UInt16(truncatingIfNeeded: ssrc), at: 10)
        packet.priority = priority
        return packet
    }

    private func pacer(_ rate: Bitrate = .megabits(1), queue: Interval = .seconds(Int64(1))) -> Pacer {
        Pacer(rate: rate, maximumQueueTime: queue, initialWindow: 0)
    }

    /// Lets time pass from one wish to be woken to the next; what left, and when, in milliseconds.
    private func run(_ pacer: inout Pacer, from start: Instant, for time: Interval) -> [(at: Double, bytes: Int)] {
        var left: [(at: Double, bytes: Int)] = []
        var now = start
        while now <= start + time {
            while let packet = pacer.next(at: now) { left.append(((now - start).milliseconds, packet.bytes.count)) }
            guard let wake = pacer.nextWake else { break }
            now = max(now + .microseconds(1), wake)
        }
        return left
    }

    @Test func `packets leave at the rate, in bursts of five milliseconds`() {
        var pacer = pacer(.megabits(8))
        for _ in 0..<100 { pacer.enqueue(packet(), at: .zero) }
        let left = run(&pacer, from: .zero, for: .seconds(Int64(1)))
        #expect(left.count == 100)
        // 8 Mbit/s are 1,000 bytes in a millisecond.
        #expect((90...100).contains(left.last?.at ?? 0))
        #expect(left.filter { $0.at == 0 }.count == 5)
        let moments = Set(left.map(\.at)).sorted()
        #expect(zip(moments, moments.dropFirst()).allSatisfy { $1 - $0 >= 4.9 })
    }

    @Test func `on a fast path a picture that the estimate holds leaves in one piece`() {
        let estimate = Bitrate.megabits(5)
        var pacer = pacer(estimate * CongestionConfiguration().pacingFactor)
        for number in Int64(0)..<20 {
            let now = Instant.zero + .milliseconds(50 * number)
            for _ in 0..<25 { pacer.enqueue(packet(), at: now) }
            #expect(run(&pacer, from: now, for: .milliseconds(1)).count == 25)
        }
    }

    @Test func `of pictures that another has paced, each leaves as it came, and what is more than that waits`() {
        let estimate = Bitrate.megabits(1)
        let rate = estimate * CongestionConfiguration().pacingFactor
        var pacer = Pacer(rate: rate, maximumQueueTime: .seconds(Int64(1)), isForwarding: true, initialWindow: 0)
        // 25 a second at the estimate.
        for number in Int64(0)..<20 {
            let now = Instant.zero + .milliseconds(40 * number)
            for _ in 0..<5 { pacer.enqueue(packet(), at: now) }
            #expect(run(&pacer, from: now, for: .zero).count == 5)
        }
        for _ in 0..<40 { pacer.enqueue(packet(), at: .zero + .seconds(Int64(2))) }
        let left = run(&pacer, from: .zero + .seconds(Int64(2)), for: .seconds(Int64(1)))
        // 40 ms at 2.5 Mbit/s are 12,500 bytes.
        #expect(left.filter { $0.at == 0 }.count == 13)
        #expect((90...130).contains(left.last?.at ?? 0))
    }

    @Test func `no burst is larger than 63 kilobytes, however fast the path is said to be`() {
        var pacer = pacer(.megabits(80))
        for _ in 0..<200 { pacer.enqueue(packet(), at: .zero) }
        let left = run(&pacer, from: .zero, for: .seconds(Int64(1)))
        #expect(left.filter { $0.at == 0 }.count == 63)
        // 80 Mbit/s are 10,000 bytes in a millisecond.
        #expect((18...20).contains(left.last?.at ?? 0))
    }

    @Test func `the first twelve kilobytes of the first picture wait for nothing, and the rest for its turn`() {
        var pacer = Pacer(rate: .megabits(1), maximumQueueTime: .seconds(Int64(1)))
        pacer.begin(ProbeCluster(id: 1, rate: .megabits(3), at: .zero))
        for _ in 0..<20 { pacer.enqueue(packet(), at: .zero) }
        let left = run(&pacer, from: .zero, for: .seconds(Int64(1)))
        #expect(left.filter { $0.at == 0 }.count == 13)
        #expect(left.count == 20)
        for _ in 0..<5 { pacer.enqueue(packet(), at: .zero + .seconds(Int64(5))) }
        #expect(run(&pacer, from: .zero + .seconds(Int64(5)), for: .seconds(Int64(1))).filter { $0.at == 0 }.count == 1)
    }

    @Test func `layers of the first picture share the window, and a later picture takes its turn`() {
        var pacer = Pacer(rate: .megabits(1), maximumQueueTime: .seconds(Int64(1)))
        for _ in 0..<3 {
            for _ in 0..<2 { pacer.enqueue(packet(), at: .zero) }
            #expect(run(&pacer, from: .zero, for: .zero).count == 2)
        }
        let later = Instant.zero + .milliseconds(101)
        for _ in 0..<3 { pacer.enqueue(packet(), at: later) }
        #expect(run(&pacer, from: later, for: .milliseconds(1)).count == 1)
    }

    @Test func `an empty pacer wants no timer`() {
        var pacer = pacer()
        #expect(pacer.nextWake == nil)
        pacer.enqueue(packet(), at: .zero)
        #expect(pacer.next(at: .zero) != nil)
        #expect(pacer.next(at: .zero) == nil)
        #expect(pacer.nextWake == nil)
    }

    @Test func `retransmissions overtake pictures`() {
        var pacer = pacer()
        pacer.enqueue(packet(.video), at: .zero)
        pacer.enqueue(packet(.video), at: .zero)
        pacer.enqueue(packet(.retransmission, bytes: 500), at: .zero)
        #expect(run(&pacer, from: .zero, for: .seconds(Int64(1))).map(\.bytes) == [500, 1_000, 1_000])
    }

    @Test func `what passed by fills the bucket`() {
        var pacer = pacer(.megabits(1))
        // 12,500 bytes are 100 ms.
        pacer.passed(12_500, at: .zero)
        pacer.enqueue(packet(), at: .zero)
        let left = run(&pacer, from: .zero, for: .seconds(Int64(1)))
        #expect((90...101).contains(left.first?.at ?? 0))
    }

    @Test func `nothing waits much longer than it may, however slow the rate`() {
        var pacer = pacer(.kilobits(50), queue: .milliseconds(500))
        for _ in 0..<100 { pacer.enqueue(packet(), at: .zero) }
        let left = run(&pacer, from: .zero, for: .seconds(Int64(10)))
        #expect(left.count == 100)
        #expect((300...1_000).contains(left.last?.at ?? 0))
    }

    @Test func `a flood leaves rather than fill the memory`() {
        var pacer = pacer(.kilobits(50))
        for _ in 0..<10_000 {
            pacer.enqueue(packet(bytes: 100), at: .zero)
            while pacer.next(at: .zero) != nil {}
        }
        #expect(pacer.queuedPackets <= 4_096)
    }

    @Test func `a probe leaves at its own rate, and carries its name`() {
        var pacer = pacer(.kilobits(500))
        for _ in 0..<40 { pacer.enqueue(packet(), at: .zero) }
        let cluster = ProbeCluster(id: 3, rate: .megabits(4), at: .zero)
        pacer.begin(cluster)
        var probes = 0
        var last = Instant.zero
        var now = Instant.zero
        while probes < 8, let wake = pacer.nextWake {
            now = max(now, wake)
            while let packet = pacer.next(at: now), packet.probe == 3 {
                probes += 1
                last = now
            }
            if !pacer.isProbing { break }
        }
        // 15 ms of 4 Mbit/s are 7,500 bytes: eight packets, 2 ms apart.
        #expect(probes == 8)
        #expect(last == .zero + .milliseconds(14))
        #expect(!pacer.isProbing)
    }

    @Test func `a probe asks for padding when the media end, and is over when there is none`() {
        var pacer = pacer()
        pacer.begin(ProbeCluster(id: 1, rate: .megabits(4), at: .zero))
        let wish = pacer.paddingWanted(at: .zero)
        #expect(wish.bytes >= 900)
        #expect(wish.probe == 1)
        pacer.padded(1_000, packets: 1, at: .zero)
        #expect(pacer.paddingWanted(at: .zero).bytes == 0)
        #expect(pacer.nextWake == .zero + .milliseconds(2))
        #expect(pacer.paddingWanted(at: .zero + .milliseconds(2)).bytes > 0)
        pacer.padded(0, packets: 0, at: .zero + .milliseconds(2))
        #expect(!pacer.isProbing)
        #expect(pacer.nextWake == nil)
    }

    @Test func `a probe that begins with a large packet ends with as much, however small the padding's packets are`() {
        var pacer = pacer()
        pacer.enqueue(packet(), at: .zero)
        pacer.begin(ProbeCluster(id: 1, rate: .kilobits(400), at: .zero))
        #expect(pacer.next(at: .zero)?.probe == 1)
        var pieces: [(at: Double, bytes: Int)] = []
        while pacer.isProbing, pieces.count < 20, let wake = pacer.nextWake {
            let wish = pacer.paddingWanted(at: wake).bytes
            let packets = (wish + 249) / 250
            pacer.padded(packets * 250, packets: packets, at: wake)
            pieces.append(((wake - Instant.zero).milliseconds, packets * 250))
        }
        // 15 ms of 400 kbit/s are 750 bytes, and five packets at three moments are the fewest.
        #expect(pieces.map(\.bytes) == [1_000, 1_000])
        #expect(pieces.map(\.at) == [20, 40])
    }

    @Test func `a probe that begins with a large packet and goes on with small ones ends after three times the first`()
    {
        var pacer = pacer()
        pacer.enqueue(packet(bytes: 1_200), at: .zero)
        for _ in 0..<400 { pacer.enqueue(packet(bytes: 100), at: .zero) }
        pacer.begin(ProbeCluster(id: 1, rate: .kilobits(440), at: .zero))
        var bytes = 0
        var now = Instant.zero
        while pacer.isProbing, bytes < 40_000, let wake = pacer.nextWake {
            now = max(now, wake)
            guard let packet = pacer.next(at: now), packet.probe == 1 else { continue }
            bytes += packet.bytes.count
        }
        #expect(bytes == 3_600)
    }

    @Test func `a probe of a picture whose packets are a byte or two smaller than its first ends in its time`() {
        var pacer = pacer()
        pacer.enqueue(packet(bytes: 1_002), at: .zero)
        for _ in 0..<40 { pacer.enqueue(packet(), at: .zero) }
        pacer.begin(ProbeCluster(id: 1, rate: .megabits(4), at: .zero))
        var probes = 0
        var now = Instant.zero
        while pacer.isProbing, probes < 40, let wake = pacer.nextWake {
            now = max(now, wake)
            if pacer.next(at: now)?.probe == 1 { probes += 1 }
        }
        #expect(probes == 8)
    }

    @Test func `without padding a probe waits for media that are enough for it`() {
        var pacer = pacer(.kilobits(100))
        pacer.begin(ProbeCluster(id: 1, rate: .megabits(4), at: .zero))
        // What the owner does not know before it tries: nothing has left under the probe's name yet.
        #expect(pacer.paddingWanted(at: .zero).bytes > 0)
        pacer.padded(0, packets: 0, at: .zero)
        #expect(pacer.isProbing)
        #expect(pacer.paddingWanted(at: .zero).bytes == 0)
        #expect(pacer.nextWake == nil)
        // 15 ms of 4 Mbit/s are 7,500 bytes: seven packets are too few, and leave as they would without a probe.
        for _ in 0..<7 { pacer.enqueue(packet(), at: .zero) }
        let first = pacer.next(at: .zero)
        #expect(first?.probe == 0)
        #expect(pacer.next(at: .zero) == nil)
        for _ in 0..<3 { pacer.enqueue(packet(), at: .zero) }
        var probes = 0
        for step in 0..<8 {
            while let packet = pacer.next(at: .zero + .milliseconds(Int64(2 * step))) {
                probes += packet.probe == 1 ? 1 : 0
            }
        }
        #expect(probes == 8)
        #expect(!pacer.isProbing)
    }

    @Test func `while a probe waits for media, fewer packets than it is made of go past it`() {
        var pacer = pacer(.kilobits(500))
        func mayPass(batch: Int, canPad: Bool = false, after time: Interval = .zero) -> Bool {
            pacer.mayPass(batch: batch, canPad: canPad, at: .zero + time)
        }
        pacer.begin(ProbeCluster(id: 1, rate: .megabits(4), at: .zero))
        // Whether there is padding is not known yet, and with padding the next packet begins the probe.
        let beforeKnown = mayPass(batch: 1)
        pacer.canPad = false
        let batches = (1...6).map { mayPass(batch: $0) }
        let withPadding = mayPass(batch: 1, canPad: true)
        #expect(!beforeKnown)
        #expect(batches == [true, true, true, true, false, false], "five may begin it")
        #expect(!withPadding, "its stream has padding, which is new")
        // A full bucket holds a packet back as ever, and those that follow wait behind it.
        while mayPass(batch: 1) { pacer.passedInTurn(1_000) }
        pacer.enqueue(packet(), at: .zero)
        let behind = mayPass(batch: 1, after: .milliseconds(100))
        #expect(!behind)
    }

    @Test func `the packets of a source that ends are taken out`() {
        var pacer = pacer()
        for index in 0..<6 { pacer.enqueue(packet(ssrc: index % 2 == 0 ? 7 : 70_000), at: .zero) }
        var recycled = 0
        pacer.removeAll(where: { $0.bytes.span.bytes.uint32(at: 8) == 70_000 }, recycle: { _ in recycled += 1 })
        #expect(recycled == 3)
        #expect(pacer.queuedPackets == 3)
        #expect(pacer.queuedBytes == 3_000)
        #expect(run(&pacer, from: .zero, for: .seconds(Int64(1))).count == 3)
    }
}
