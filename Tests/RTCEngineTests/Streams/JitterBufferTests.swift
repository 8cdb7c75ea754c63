import RTCWire
import Testing

@testable import RTCEngine

/// The ring that packets wait in.
@Suite struct JitterBufferTests {
    private static let start = Instant.zero + .seconds(Int64(3))
    private var buffer = JitterBuffer(
        limits: JitterBuffer.Limits(
            packets: 2_048, bytes: 8 << 20, videoHold: .seconds(Int64(1)), audioHold: .milliseconds(100)))

    /// A picture of one packet, whose bytes tell its number.
    private mutating func insert(_ sequence: Int64) -> JitterBuffer.Insertion {
        var slot = JitterBuffer.Slot()
        slot.sequence = sequence
        slot.content = .packet
        slot.timestamp = UInt32(truncatingIfNeeded: sequence * 3_000)
        slot.marker = true
        slot.format = .vp8
        slot.startsFrame = true
        slot.startsKeyFrame = true
        slot.isCertainStart = true
        return buffer.insert(slot, payload: bytes(sequence).span.bytes, at: Self.start)
    }

    private func bytes(_ sequence: Int64) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: 20 + Int(sequence & 7))
    }

    /// The numbers of the pictures that leave, whose bytes are their own.
    private mutating func taken() -> [Int64] {
        var taken: [Int64] = []
        while case .frame(let range) = buffer.step(at: Self.start) {
            if buffer.payloads[buffer.place(range.lowerBound)] == bytes(range.lowerBound) {
                taken.append(range.lowerBound)
            }
            buffer.consume(range)
        }
        return taken
    }

    @Test mutating func `pictures that come and go need few places`() {
        for sequence in Int64(1_000)..<6_000 {
            let (insertion, pictures) = (insert(sequence), taken())
            #expect(insertion == .inserted)
            #expect(pictures == [sequence])
        }
        #expect(buffer.slots.count == 64)
    }

    @Test mutating func `the ring grows with what has to wait behind a lost packet, and everything keeps its place`() {
        #expect(buffer.slots.isEmpty)
        for sequence in Int64(40)..<50 { _ = insert(sequence) }
        let first = taken()
        #expect(first == Array(40..<50))
        let waiting = (Int64(51)..<1_051).map { insert($0) }
        #expect(waiting.allSatisfy { $0 == .inserted })
        let none = taken()
        #expect(none == [])
        #expect(buffer.slots.count == 1_024)
        let late = [insert(500), insert(50)]
        #expect(late == [.duplicate, .inserted])
        let rest = taken()
        #expect(rest == Array(50..<1_051))
        #expect(buffer.byteCount == 0)
    }

    @Test mutating func `packets from before the first one have their places too`() {
        let insertions = (Int64(100)..<400).reversed().map { insert($0) }
        #expect(insertions.allSatisfy { $0 == .inserted })
        #expect(buffer.slots.count == 512)
        let pictures = taken()
        #expect(pictures == Array(100..<400))
    }

    @Test mutating func `the ring grows no further than it may`() {
        _ = insert(1)
        for sequence in Int64(3)..<5_000 { _ = insert(sequence) }
        #expect(buffer.slots.count == 2_048)
    }
}
