import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// A peer that has the keys and means no good: what it can make us do is bounded.
@Suite struct HostilePeerTests {
    private func connected() -> CallSimulation {
        var call = CallSimulation { $0.video = [.vp8] }
        call.begin([.video])
        call.connects()
        call.run(for: .seconds(Int64(1)))
        return call
    }

    /// A packet of the left peer's, protected with its keys, arrives at the right one.
    private func send(
        _ sequence: UInt16, ssrc: UInt32, _ payload: [UInt8], in call: inout CallSimulation, timestamp: UInt32 = 0,
        isRetransmission: Bool = false
    ) {
        guard let srtp = call[.left].machine.secure.srtp,
            let configuration = call[.left].machine.senders.first?.stream.configuration,
            let type = isRetransmission ? configuration.retransmission?.payloadType : configuration.payloadType
        else { return }
        var bytes: [UInt8] = []
        RTPHeader(marker: true, payloadType: type, sequenceNumber: sequence, timestamp: timestamp, ssrc: ssrc)
            .write(into: &bytes)
        bytes += payload
        guard (try? srtp.protectRTP(&bytes)) != nil else { return }
        call.tell(.right) { machine, now in
            machine.receive(&bytes, from: CallSimulation.leftBase, to: CallSimulation.rightBase, at: now)
        }
    }

    private func sendRTCP(_ packets: [RTCPPacket], in call: inout CallSimulation) {
        var bytes: [UInt8] = []
        for packet in packets { packet.write(into: &bytes) }
        guard let srtp = call[.left].machine.secure.srtp, (try? srtp.protectRTCP(&bytes)) != nil else { return }
        call.tell(.right) { machine, now in
            machine.receive(&bytes, from: CallSimulation.leftBase, to: CallSimulation.rightBase, at: now)
        }
    }

    private func receivedSSRC(_ call: borrowing CallSimulation) -> UInt32? {
        call[.right].machine.receivers.first?.stream?.ssrc
    }

    private func received(_ ssrc: UInt32, _ call: borrowing CallSimulation) -> InboundRTPStreamStats? {
        call[.right].machine.stats(at: call.now).inboundRTP.first { $0.ssrc == ssrc }
    }

    @Test func `a source that starts over under a new SSRC is taken, and late packets of the old one are not`() {
        var call = connected()
        // The honest application falls silent, or its packets would come between.
        call.setConditions(.cut, of: .left)
        call.run(for: .milliseconds(500))
        let old = receivedSSRC(call) ?? 0
        let before = received(old, call)
        send(1_000, ssrc: 77, VP8.payload(isKeyFrame: true), in: &call)
        #expect(receivedSSRC(call) == 77)
        call.run(for: .milliseconds(200))
        let place = call[.left].machine.senders.first?.stream.sequenceNumber ?? 0
        // Overtaken on the way by the new source's first packets.
        send(place &+ 100, ssrc: old, VP8.payload(isKeyFrame: false), in: &call)
        #expect(receivedSSRC(call) == 77)
        send(1_001, ssrc: 77, VP8.payload(isKeyFrame: false), in: &call, timestamp: 3_000)
        #expect(call[.right].machine.receivers.first?.stream?.counters.framesReceived == 2)
        // Later the new one has fallen silent, and the old one may come back.
        call.run(for: .seconds(Int64(10)))
        send(place &+ 101, ssrc: old, VP8.payload(isKeyFrame: true), in: &call)
        #expect(receivedSSRC(call) == old)
        // It is counted on, for its statistics have the identifier of before.
        let after = received(old, call)
        #expect(after?.id == before?.id)
        #expect(after?.packetsReceived == (before?.packetsReceived ?? 0) + 1)
    }

    @Test func `a source that says goodbye and comes back is counted on`() {
        var call = connected()
        call.setConditions(.cut, of: .left)
        call.run(for: .milliseconds(500))
        let ssrc = receivedSSRC(call) ?? 0
        let place = call[.left].machine.senders.first?.stream.sequenceNumber ?? 0
        send(place &+ 2, ssrc: ssrc, VP8.payload(isKeyFrame: true), in: &call)
        let before = received(ssrc, call)
        #expect(before?.packetsLost ?? 0 > 0)
        sendRTCP([.goodbye(Goodbye(ssrcs: [ssrc]))], in: &call)
        #expect(receivedSSRC(call) == nil)
        send(place &+ 3, ssrc: ssrc, VP8.payload(isKeyFrame: true), in: &call)
        let after = received(ssrc, call)
        #expect(after?.id == before?.id)
        #expect(after?.packetsReceived == (before?.packetsReceived ?? 0) + 1)
        #expect(after?.packetsLost == before?.packetsLost)
        // A report is of what has come since (RFC 3550 §6.4.1).
        let lost = call[.right].machine.receivers.first?.stream?.record.packetsLost
        #expect(lost == 0)
    }

    @Test func `late retransmissions of the source before are not taken for those of the one in its place`() {
        var call = connected()
        call.setConditions(.cut, of: .left)
        call.run(for: .milliseconds(500))
        let former = call[.right].machine.receivers.first?.stream?.retransmissionSSRC ?? 0
        #expect(former != 0)
        send(1_000, ssrc: 77, VP8.payload(isKeyFrame: true), in: &call)
        send(1_002, ssrc: 77, VP8.payload(isKeyFrame: false), in: &call, timestamp: 6_000)
        send(50, ssrc: former, VP8.repeated(9), in: &call, isRetransmission: true)
        #expect(call[.right].machine.receivers.first?.stream?.retransmissionSSRC == nil)
        send(1, ssrc: 78, VP8.repeated(1_001), in: &call, timestamp: 3_000, isRetransmission: true)
        #expect(call[.right].machine.receivers.first?.stream?.retransmissionSSRC == 78)
        #expect(call[.right].machine.receivers.first?.stream?.counters.framesReceived == 3)
    }

    @Test func `a source that is switched away and back within two seconds is heard again`() {
        var call = connected()
        call.setConditions(.cut, of: .left)
        call.run(for: .milliseconds(500))
        send(1, ssrc: 77, VP8.payload(isKeyFrame: true), in: &call)
        call.run(for: .milliseconds(600))
        send(1, ssrc: 88, VP8.payload(isKeyFrame: true), in: &call)
        // As long as the second one is heard, packets of the first one are late ones.
        for sequence in 2...20 as ClosedRange<UInt16> {
            call.run(for: .milliseconds(33))
            send(sequence, ssrc: 88, VP8.payload(isKeyFrame: false), in: &call, timestamp: UInt32(sequence) * 3_000)
            send(sequence, ssrc: 77, VP8.payload(isKeyFrame: false), in: &call, timestamp: UInt32(sequence) * 3_000)
            #expect(receivedSSRC(call) == 88)
        }
        // The switch back, less than a second after the switch away.
        call.run(for: .milliseconds(150))
        send(40, ssrc: 77, VP8.payload(isKeyFrame: true), in: &call, timestamp: 120_000)
        #expect(receivedSSRC(call) == 77)
    }

    @Test func `a new source with every packet makes few streams`() {
        var call = connected()
        call.setConditions(.cut, of: .left)
        call.run(for: .milliseconds(500))
        var sources: Set<UInt32> = []
        for ssrc in 5_000..<5_030 as Range<UInt32> {
            send(1, ssrc: ssrc, VP8.payload(isKeyFrame: true), in: &call)
            call.run(for: .milliseconds(1))
            if let current = receivedSSRC(call) { sources.insert(current) }
        }
        #expect(sources.count <= 2)
    }

    @Test func `a datagram full of transport feedback is looked at in part`() {
        var call = connected()
        let before = call[.right].machine.feedbackTracker.feedbackReceived
        let feedback = TransportFeedback(
            senderSSRC: 1, mediaSSRC: 1, baseSequence: 0, statusCount: 8_000, referenceTime: 0, feedbackCount: 0,
            arrivals: [])
        sendRTCP([RTCPPacket](repeating: .transportFeedback(feedback), count: 60), in: &call)
        let taken = call[.right].machine.feedbackTracker.feedbackReceived - before
        #expect(taken > 0)
        #expect(taken <= 16)
    }

    @Test func `a round trip of a minute, as a wrong clock makes it, does not silence requests for key frames`() {
        var call = connected()
        guard let ssrc = call[.right].machine.senders.first?.stream.ssrc else { return }
        // Right is told that left answered, at once, a report of 50 seconds ago.
        call.setConditions(.cut, of: .left)
        let now = call[.right].machine.clock.ntp(at: call.now)
        let block = ReportBlock(
            ssrc: ssrc, fractionLost: 0, cumulativeLost: 0, highestSequenceNumber: 0, jitter: 0,
            lastSenderReport: now.middle &- 50 << 16, delaySinceLastSenderReport: 0)
        sendRTCP([.receiverReport(ReceiverReport(ssrc: 5, blocks: [block]))], in: &call)
        #expect((call[.right].machine.senders.first?.stream.roundTripTime ?? .zero) > .seconds(Int64(49)))
        call.run(for: .milliseconds(1_600))
        for receiver in call[.right].machine.receivers.values {
            #expect((receiver.stream?.roundTripTime ?? .zero) <= .milliseconds(1_000))
        }
    }
}
