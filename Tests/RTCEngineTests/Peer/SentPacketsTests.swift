import RTCWire
import Testing

@testable import RTCEngine

/// What is kept of packets that may be sent again.
@Suite struct SentPacketsTests {
    /// A header with an extension, and a hundred bytes that name the packet.
    private func packet(_ sequence: UInt16, ssrc: UInt32 = 7, sendTime: UInt8 = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        let header = RTPHeader(marker: false, payloadType: 96, sequenceNumber: sequence, timestamp: 1, ssrc: ssrc)
        bytes.append(addingCapacity: 32) { packet in
            header.write(into: &packet)
            let writer = HeaderExtensionWriter(form: .oneByte, in: &packet)
            _ = writer.begin(3, length: 1, in: &packet)
            packet.append(sendTime)
            writer.finish(in: &packet)
        }
        return bytes + [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: 100)
    }

    private func insert(_ packet: [UInt8], into sent: inout SentPackets, at now: Instant = .zero) {
        sent.insert(packet.span.bytes, at: now)
    }

    /// Whether the packet is given back the header that it went out with.
    private func isKept(_ packet: [UInt8], in sent: SentPackets) -> Bool {
        var again = packet
        guard let seal = sent.restore(&again) else { return false }
        return again == packet && seal == packet.span.bytes.uint64(at: packet.count - 8)
    }

    @Test func `what left in the last half second is there, at whatever rate, and 512 packets at most`() {
        for (rate, kept) in [(100, 64), (250, 128), (900, 512), (4_000, 512)] {
            var sent = SentPackets()
            sent.keep(7)
            // Over the wrap.
            let count = 3_000
            for number in 0..<count {
                insert(
                    packet(UInt16(truncatingIfNeeded: 64_000 + number)), into: &sent,
                    at: .zero + .milliseconds(Int64(number * 1_000 / rate)))
            }
            let last = 64_000 + count - 1
            for age in 0..<kept {
                #expect(
                    isKept(packet(UInt16(truncatingIfNeeded: last - age)), in: sent),
                    "\(rate) packets a second, \(age) back")
            }
            #expect(!isKept(packet(UInt16(truncatingIfNeeded: last - kept)), in: sent))
        }
    }

    @Test func `the header comes back as it was, however long another one is`() {
        var sent = SentPackets()
        sent.keep(7)
        insert(packet(1, sendTime: 5), into: &sent)
        var later = packet(1, sendTime: 9)
        #expect(sent.restore(&later) != nil)
        #expect(later == packet(1, sendTime: 5))
        var bare: [UInt8] = []
        RTPHeader(marker: true, payloadType: 96, sequenceNumber: 1, timestamp: 1, ssrc: 7).write(into: &bare)
        bare += [UInt8](repeating: 1, count: 100)
        #expect(sent.restore(&bare) != nil)
        #expect(bare == packet(1, sendTime: 5))
    }

    @Test func `sources that are not kept are not, and one that has ended no longer`() {
        var sent = SentPackets()
        insert(packet(1), into: &sent)
        #expect(!isKept(packet(1), in: sent))
        sent.keep(7)
        insert(packet(1), into: &sent)
        insert(packet(1, ssrc: 8), into: &sent)
        #expect(isKept(packet(1), in: sent))
        #expect(!isKept(packet(1, ssrc: 8), in: sent))
        sent.forget(7)
        #expect(!isKept(packet(1), in: sent))
        #expect(sent.isEmpty)
    }
}
