/// FORWARD TSN (RFC 3758 §3.2) and I-FORWARD-TSN (RFC 8260 §2.3.1): the sender gives up what came before.
public struct SCTPForwardTSN: Hashable, Sendable {
    /// The last message of a stream that is given up.
    public struct Skipped: Hashable, Sendable {
        public var stream: UInt16
        /// I-FORWARD-TSN only; FORWARD TSN names ordered messages alone.
        public var isUnordered: Bool
        /// A stream sequence number, or a message identifier.
        public var message: UInt32

        public init(stream: UInt16, isUnordered: Bool, message: UInt32) {
            self.stream = stream
            self.isUnordered = isUnordered
            self.message = message
        }
    }

    public var isInterleaved: Bool
    /// Nothing up to this TSN is waited for any longer.
    public var cumulativeTSN: UInt32
    public var skipped: [Skipped]

    public init(isInterleaved: Bool, cumulativeTSN: UInt32, skipped: [Skipped] = []) {
        self.isInterleaved = isInterleaved
        self.cumulativeTSN = cumulativeTSN
        self.skipped = skipped
    }

    /// Nil when there is no TSN.
    public init?(_ chunk: borrowing SCTPChunk) {
        var reader = ByteReader(chunk.value)
        guard let tsn = reader.readUInt32() else { return nil }
        self.init(
            isInterleaved: chunk.type == SCTPChunkType.interleavedForwardTSN.rawValue, cumulativeTSN: tsn)
        while reader.remaining >= (isInterleaved ? 8 : 4) {
            guard let stream = reader.readUInt16(), let second = reader.readUInt16() else { return }
            if isInterleaved {
                guard let message = reader.readUInt32() else { return }
                skipped.append(Skipped(stream: stream, isUnordered: second & 1 != 0, message: message))
            } else {
                skipped.append(Skipped(stream: stream, isUnordered: false, message: UInt32(second)))
            }
        }
    }

    public func write(into packet: inout [UInt8]) {
        let start = packet.beginSCTPChunk(isInterleaved ? .interleavedForwardTSN : .forwardTSN)
        packet.append(uint32: cumulativeTSN)
        for skip in skipped {
            packet.append(uint16: skip.stream)
            if isInterleaved {
                packet.append(uint16: skip.isUnordered ? 1 : 0)
                packet.append(uint32: skip.message)
            } else {
                packet.append(uint16: UInt16(truncatingIfNeeded: skip.message))
            }
        }
        packet.endSCTPChunk(start)
    }
}
