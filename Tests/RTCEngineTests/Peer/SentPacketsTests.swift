import RTCWire
import Testing

@testable import RTCEngine

/// Protected packets that are kept to be sent again as they are.
@Suite struct SentPacketsTests {
    private func packet(_ sequence: UInt16, ssrc: UInt16 = 7) -> [UInt8] {
        var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: 100)
        bytes.set(uint16: sequence, at: 2)
        bytes.set(uint16: 0, at: 8)
        bytes.set(uint16: ssrc, at: 10)
        return bytes
    }

    @Test func `what left in the last half second is there, at whatever rate, and 512 packets at most`() {
        for (rate, kept) in [(100, 64), (250, 128), (900, 512), (4_000, 512)] {
            var sent = SentPackets()
            sent.keep(7)
            // Over the wrap.
            let count = 3_000
            for number in 0..<count {
                sent.insert(
                    packet(UInt16(truncatingIfNeeded: 64_000 + number)),
                    at: .zero + .milliseconds(Int64(number * 1_000 / rate)))
            }
            let last = 64_000 + count - 1
            for age in 0..<kept {
                let wanted = packet(UInt16(truncatingIfNeeded: last - age))
                #expect(sent.packet(like: wanted) == wanted, "\(rate) packets a second, \(age) back")
            }
            #expect(sent.packet(like: packet(UInt16(truncatingIfNeeded: last - kept))) == nil)
        }
    }

    @Test func `sources that are not kept are not, and one that has ended no longer`() {
        var sent = SentPackets()
        sent.insert(packet(1), at: .zero)
        #expect(sent.packet(like: packet(1)) == nil)
        sent.keep(7)
        sent.insert(packet(1), at: .zero)
        sent.insert(packet(1, ssrc: 8), at: .zero)
        #expect(sent.packet(like: packet(1)) == packet(1))
        #expect(sent.packet(like: packet(1, ssrc: 8)) == nil)
        sent.forget(7)
        #expect(sent.packet(like: packet(1)) == nil)
        #expect(sent.isEmpty)
    }
}
