import RTCWire
import Testing

@testable import RTCEngine

/// Arrival times from a receiver to a sender (draft-holmer-rmcat-transport-wide-cc-extensions-01).
@Suite struct TransportFeedbackTests {
    private func take(_ queue: inout PacketQueue) -> [TransportFeedback] {
        var feedback: [TransportFeedback] = []
        while let packet = queue.popFirst() {
            for case .transportFeedback(let one) in rtcp(packet.bytes) { feedback.append(one) }
        }
        return feedback
    }

    @Test func `feedback comes 100 ms after the first packet, and tells losses between and after`() {
        var generator = TransportFeedbackGenerator()
        var queue = PacketQueue()
        let start = Instant.zero + .seconds(Int64(64))
        generator.received(100, ssrc: 7, size: 1_200, at: start)
        generator.received(102, ssrc: 7, size: 1_200, at: start + .milliseconds(10))
        #expect(generator.nextWake == start + .milliseconds(100))
        generator.tick(into: &queue, senderSSRC: 1, at: start + .milliseconds(99))
        #expect(queue.isEmpty)
        generator.tick(into: &queue, senderSSRC: 1, at: start + .milliseconds(100))
        #expect(
            take(&queue) == [
                TransportFeedback(
                    senderSSRC: 1, mediaSSRC: 7, baseSequence: 100, statusCount: 3, referenceTime: 1_000,
                    feedbackCount: 0, arrivals: [.init(offset: 0, delta: 0), .init(offset: 2, delta: 40)])
            ])
        #expect(generator.nextWake == nil)
        generator.received(104, ssrc: 7, size: 1_200, at: start + .milliseconds(120))
        generator.tick(into: &queue, senderSSRC: 1, at: start + .milliseconds(220))
        let second = take(&queue)
        #expect(second.first?.baseSequence == 103)
        #expect(second.first?.statusCount == 2)
        #expect(second.first?.feedbackCount == 1)
    }

    @Test func `what was told of is not told of as lost beside a late packet`() {
        var generator = TransportFeedbackGenerator()
        var queue = PacketQueue()
        let start = Instant.zero + .seconds(Int64(64))
        for number: UInt16 in [0, 1, 2, 4, 6, 7] { generator.received(number, ssrc: 7, size: 1_200, at: start) }
        generator.tick(into: &queue, senderSSRC: 1, at: start + .milliseconds(100))
        _ = take(&queue)
        for number: UInt16 in [5, 3, 9] {
            generator.received(number, ssrc: 7, size: 1_200, at: start + .milliseconds(110))
        }
        generator.tick(into: &queue, senderSSRC: 1, at: start + .milliseconds(400))
        let told = take(&queue)
        #expect(told.map(\.baseSequence) == [3, 5, 8])
        #expect(told.map(\.statusCount) == [1, 1, 2])
    }

    @Test(arguments: [(Int64(4_000), Int64(50)), (600, 50), (100, 108), (20, 250)])
    func `feedback takes a twentieth of what arrives, between 50 and 250 ms apart`(kilobits: Int64, wanted: Int64) {
        var generator = TransportFeedbackGenerator()
        var queue = PacketQueue()
        var now = Instant.zero
        for number in 0..<400 as Range<UInt16> {
            generator.received(number, ssrc: 7, size: 500, at: now)
            now += Interval.microseconds(4_000_000 / kilobits)
            generator.tick(into: &queue, senderSSRC: 1, at: now)
        }
        #expect(abs(generator.interval.milliseconds - Double(wanted)) < Double(wanted) / 10 + 1)
    }

    @Test func `the receiver's clock goes on where its 24 bits begin anew`() throws {
        var tracker = TransportFeedbackTracker()
        var arrivals: [Instant] = []
        // 64 ms apart, over the largest number and over zero.
        let references: [Int32] = [0x7f_fffe, 0x7f_ffff, -0x80_0000, -0x7f_ffff, -0x7f_fffe]
        for (number, reference) in references.enumerated() {
            let sequence = UInt16(number)
            tracker.sent(sequence, size: 1_200, at: .zero + .milliseconds(Int64(64 * number)))
            tracker.receive(
                TransportFeedback(
                    senderSSRC: 1, mediaSSRC: 2, baseSequence: sequence, statusCount: 1, referenceTime: reference,
                    feedbackCount: UInt8(number), arrivals: [.init(offset: 0, delta: 0)]))
            arrivals.append(try #require(tracker.lastResults.first?.arrivedAt))
        }
        #expect(zip(arrivals, arrivals.dropFirst()).allSatisfy { $1 - $0 == .milliseconds(64) })
    }

    @Test func `a receiver whose clock leaps as far as it can, for ever, is only believed`() throws {
        var tracker = TransportFeedbackTracker()
        var estimator = AcknowledgedBitrate()
        for number in 0..<200_000 {
            let now = Instant.zero + .milliseconds(Int64(number))
            let sequence = UInt16(truncatingIfNeeded: number)
            tracker.sent(sequence, size: 1_200, at: now)
            tracker.receive(
                TransportFeedback(
                    senderSSRC: 1, mediaSSRC: 2, baseSequence: sequence, statusCount: 1,
                    referenceTime: Int32(truncatingIfNeeded: number * 0x7f_ffff << 8) >> 8, feedbackCount: 0,
                    arrivals: [.init(offset: 0, delta: .max)]))
            let arrival = try #require(tracker.lastResults.first?.arrivedAt)
            estimator.add(size: 1_200, arrivedAt: arrival, isLimited: false)
        }
    }

    @Test func `the sender learns what arrived, what was lost, and when`() {
        var tracker = TransportFeedbackTracker()
        var generator = TransportFeedbackGenerator()
        var queue = PacketQueue()
        var random = EngineRandom.seeded(2)
        var now = Instant.zero + .seconds(Int64(1))
        var lost = 0
        var results: [TransportFeedbackTracker.PacketResult] = []
        func hear() {
            for feedback in take(&queue) {
                tracker.receive(feedback)
                results += tracker.lastResults
            }
        }
        for number in 0..<3_000 {
            let sequence = UInt16(truncatingIfNeeded: 65_000 + number)
            tracker.sent(sequence, size: 1_200, at: now)
            // The first and the last arrive: losses before and after all arrivals are not told.
            if (1..<2_999).contains(number), random.next() % 10 == 0 {
                lost += 1
            } else {
                generator.received(sequence, ssrc: 7, size: 1_200, at: now + .milliseconds(20))
            }
            now += .milliseconds(2)
            if let wake = generator.nextWake, now >= wake {
                generator.tick(into: &queue, senderSSRC: 1, at: now)
                hear()
            }
        }
        generator.tick(into: &queue, senderSSRC: 1, at: now + .seconds(Int64(1)))
        hear()
        #expect(tracker.packetsSent == 3_000)
        #expect(Int(tracker.packetsLost) == lost)
        #expect(Int(tracker.packetsAcknowledged) == 3_000 - lost)
        let transits = results.compactMap { result in result.arrivedAt.map { $0 - result.sentAt } }
        // Rounded to 250 µs.
        #expect(transits.allSatisfy { $0 > .milliseconds(19) && $0 < .milliseconds(21) })
    }

    @Test(arguments: [(packets: 200, every: Interval.milliseconds(8)), (7_900, .microseconds(250))])
    func `what is on its way is remembered for as long as a path may be, however much it is`(
        packets: Int, every: Interval
    ) {
        var tracker = TransportFeedbackTracker()
        var now = Instant.zero
        for number in 0..<packets {
            tracker.sent(UInt16(truncatingIfNeeded: 60_000 + number), size: 1_200, at: now)
            now += every
        }
        let feedback = TransportFeedback(
            senderSSRC: 1, mediaSSRC: 7, baseSequence: 60_000, statusCount: UInt16(packets), referenceTime: 0,
            feedbackCount: 0, arrivals: (0..<UInt16(packets)).map { .init(offset: $0, delta: 1) })
        tracker.receive(feedback)
        #expect(tracker.packetsAcknowledged == UInt64(packets))
        #expect(tracker.lastResults.allSatisfy { $0.size == 1_200 && $0.arrivedAt != nil })
    }

    @Test func `a packet that was told lost and then arrives is not lost`() {
        var tracker = TransportFeedbackTracker()
        for number in 1...3 as ClosedRange<UInt16> { tracker.sent(number, size: 100, at: .zero) }
        func feedback(base: UInt16, count: UInt16, _ offsets: UInt16...) -> TransportFeedback {
            TransportFeedback(
                senderSSRC: 1, mediaSSRC: 7, baseSequence: base, statusCount: count, referenceTime: 0,
                feedbackCount: 0, arrivals: offsets.map { .init(offset: $0, delta: 4) })
        }
        tracker.receive(feedback(base: 1, count: 3, 0, 2))
        #expect(tracker.packetsLost == 1)
        tracker.receive(feedback(base: 2, count: 1, 0))
        #expect(tracker.packetsLost == 0)
        #expect(tracker.packetsAcknowledged == 3)
        // Repeated, and about packets that were never sent.
        tracker.receive(feedback(base: 1, count: 60_000, 0))
        #expect(tracker.packetsAcknowledged == 3)
        #expect(tracker.packetsLost == 0)
    }

    @Test func `feedback about more packets than are remembered loses none of those under way`() {
        var tracker = TransportFeedbackTracker()
        for number in 1...20 as ClosedRange<UInt16> { tracker.sent(number, size: 100, at: .zero) }
        // As Pion's interceptor 0.1.12 tells of 1, 2, 3 and, late, of 65,535 from before 0.
        let feedback = TransportFeedback(
            senderSSRC: 1, mediaSSRC: 7, baseSequence: 1, statusCount: 0xffff, referenceTime: 0, feedbackCount: 0,
            arrivals: [(0, 4), (1, 1), (2, 1), (65_534, 1)].map { .init(offset: $0, delta: $1) })
        tracker.receive(feedback)
        #expect(tracker.packetsLost == 0)
        #expect(tracker.lastResults.isEmpty)
    }

    @Test func `jumps and bursts become packets that fit`() {
        var generator = TransportFeedbackGenerator()
        var queue = PacketQueue()
        var random = EngineRandom.seeded(4)
        var now = Instant.zero
        for _ in 0..<5_000 {
            generator.received(UInt16(truncatingIfNeeded: random.next()), ssrc: 7, size: 1_200, at: now)
            now += .milliseconds(Int64.random(in: 0...30, using: &random))
            generator.tick(into: &queue, senderSSRC: 1, at: now)
        }
        while let packet = queue.popFirst() { #expect(packet.bytes.count <= 1_200) }
    }
}
