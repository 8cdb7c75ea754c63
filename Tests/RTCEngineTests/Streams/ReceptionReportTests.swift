import RTCEngine
import RTCWire
import Testing

/// The numbers of report blocks against the formulas of RFC 3550.
@Suite struct ReceptionReportTests {
    @Test func `the fraction lost is of the interval since the last report`() {
        var script = PacketScript(codecs: [96: .media(.opus)])
        for number in [10, 11, 12, 14] as [UInt16] { script.packet(number, timestamp: 0, [1]) }
        // RFC 3550 §A.3: 5 expected, 1 lost: 256 / 5.
        let first = script.stream.reportBlock(at: script.now)
        #expect(first?.fractionLost == 51)
        #expect(first?.cumulativeLost == 1)
        #expect(first?.highestSequenceNumber == 14)
        for number in 15...18 as ClosedRange<UInt16> { script.packet(number, timestamp: 0, [1]) }
        let second = script.stream.reportBlock(at: script.now)
        #expect(second?.fractionLost == 0)
        #expect(second?.cumulativeLost == 1)
        // Duplicates make the loss negative, which the fraction does not show.
        for _ in 0..<3 { script.packet(18, timestamp: 0, [1]) }
        let third = script.stream.reportBlock(at: script.now)
        #expect(third?.fractionLost == 0)
        #expect(third?.cumulativeLost == -2)
    }

    @Test func `what was lost before a source numbers its packets anew is in the statistics, and not in reports`() {
        var script = PacketScript(codecs: [96: .media(.opus)])
        for number in [10, 11, 13] as [UInt16] { script.packet(number, timestamp: 0, [1]) }
        #expect(script.stream.stats(at: script.now).packetsLost == 1)
        // RFC 3550 §A.1: the second one confirms the first, and what is counted for reports begins there.
        for number in [30_000, 30_001, 30_003] as [UInt16] { script.packet(number, timestamp: 0, [1]) }
        #expect(script.stream.stats(at: script.now).packetsLost == 2)
        #expect(script.stream.reportBlock(at: script.now)?.cumulativeLost == 1)
        for number in [10, 11] as [UInt16] { script.packet(number, timestamp: 0, [1]) }
        #expect(script.stream.stats(at: script.now).packetsLost == 2)
        #expect(script.stream.reportBlock(at: script.now)?.cumulativeLost == 0)
    }

    @Test func `the highest sequence number counts its cycles`() {
        var script = PacketScript(codecs: [96: .media(.opus)])
        for number in [65_534, 65_535, 0, 1] as [UInt16] { script.packet(number, timestamp: 0, [1]) }
        let block = script.stream.reportBlock(at: script.now)
        #expect(block?.highestSequenceNumber == 0x1_0001)
        #expect(block?.cumulativeLost == 0)
    }

    @Test func `jitter is the sixteenth-gain mean of RFC 3550`() {
        var script = PacketScript(codecs: [96: .media(.opus)])
        var random = EngineRandom.seeded(5)
        var expected = 0.0
        var lastTransit: Double?
        for number in 0..<300 as Range<UInt16> {
            let timestamp = UInt32(number) * 960
            script.packet(number, timestamp: timestamp, [1])
            // §6.4.1: D is the difference of the transits, J += (|D| - J) / 16.
            let transit = script.now.nanoseconds.asSeconds * 48_000 - Double(timestamp)
            if let lastTransit { expected += (abs(transit - lastTransit) - expected) / 16 }
            lastTransit = transit
            script.now += .milliseconds(20 + Int64.random(in: -8...8, using: &random))
        }
        let jitter = Double(script.stream.reportBlock(at: script.now)?.jitter ?? 0)
        #expect(expected > 100)
        #expect(abs(jitter - expected) < 3)
    }

    @Test func `a report echoes the last sender report and the time since`() {
        var script = PacketScript()
        script.picture(10, isKeyFrame: true)
        #expect(script.stream.reportBlock(at: script.now)?.lastSenderReport == 0)
        let report = SenderReport(
            ssrc: PacketScript.ssrc, ntpTime: NTPTimestamp(value: 0x1122_3344_5566_7788), rtpTimestamp: 30_000,
            packetCount: 1, octetCount: 10)
        script.stream.receive(.senderReport(report), at: script.now)
        script.now += .milliseconds(1_500)
        let block = script.stream.reportBlock(at: script.now)
        #expect(block?.lastSenderReport == 0x3344_5566)
        #expect(block?.delaySinceLastSenderReport == 98_304)
        // Half a second of media after the report.
        #expect(
            script.stream.captureTime(of: 30_000 + 45_000) == NTPTimestamp(value: 0x1122_3344_d566_7788))
    }

    @Test func `reports come about once a second, never evenly`() {
        var schedule = ReportSchedule(random: .seeded(9))
        #expect(schedule.nextWake == nil)
        schedule.start(at: .zero)
        var times: [Instant] = []
        for _ in 0..<200 {
            guard let wake = schedule.nextWake else { break }
            let due = [schedule.isDue(at: wake - .milliseconds(1)), schedule.isDue(at: wake)]
            #expect(due == [false, true])
            times.append(wake)
        }
        let pauses = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(pauses.allSatisfy { $0 >= .milliseconds(500) && $0 <= .milliseconds(1_500) })
        #expect(Set(pauses).count > 190)
        let mean = pauses.reduce(0) { $0 + $1.seconds } / Double(pauses.count)
        #expect(abs(mean - 1) < 0.1)
    }

    @Test func `a compound begins with a report and names every source`() {
        var queue = PacketQueue()
        var builder = ReportBuilder(localSSRC: 5, cname: "roost")
        let block = ReportBlock(
            ssrc: 9, fractionLost: 0, cumulativeLost: 0, highestSequenceNumber: 0, jitter: 0, lastSenderReport: 0,
            delaySinceLastSenderReport: 0)
        for _ in 0..<40 { builder.add(block) }
        builder.add(goodbyeOf: 5)
        builder.write(into: &queue)
        var compounds: [[RTCPPacket]] = []
        while let packet = queue.popFirst() {
            #expect(packet.kind == .rtcp)
            #expect(packet.bytes.count <= 1_200)
            compounds.append(rtcp(packet.bytes))
        }
        let name = RTCPPacket.sourceDescription(SourceDescription(chunks: [.init(ssrc: 5, cname: "roost")]))
        #expect(
            compounds == [
                [.receiverReport(ReceiverReport(ssrc: 5, blocks: Array(repeating: block, count: 31))), name],
                [
                    .receiverReport(ReceiverReport(ssrc: 5, blocks: Array(repeating: block, count: 9))), name,
                    .goodbye(Goodbye(ssrcs: [5])),
                ],
            ])
    }
}

extension Int64 {
    fileprivate var asSeconds: Double { Double(self) / 1e9 }
}
