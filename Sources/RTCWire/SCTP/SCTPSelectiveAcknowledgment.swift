/// SACK (RFC 9260 §3.3.4).
public struct SCTPSelectiveAcknowledgment: Hashable, Sendable {
    /// TSNs that have come behind a gap, as offsets from the cumulative one. Both ends belong to it.
    public struct Block: Hashable, Sendable {
        public var start: UInt16
        public var end: UInt16

        public init(start: UInt16, end: UInt16) {
            self.start = start
            self.end = end
        }
    }

    /// Every TSN up to this one has come.
    public var cumulativeTSN: UInt32
    public var receiverWindow: UInt32
    public var blocks: [Block]
    /// TSNs that came again.
    public var duplicates: [UInt32]

    public init(cumulativeTSN: UInt32, receiverWindow: UInt32, blocks: [Block] = [], duplicates: [UInt32] = []) {
        self.cumulativeTSN = cumulativeTSN
        self.receiverWindow = receiverWindow
        self.blocks = blocks
        self.duplicates = duplicates
    }

    /// Nil when it is shorter than its counts say.
    public init?(_ chunk: borrowing SCTPChunk) {
        var reader = ByteReader(chunk.value)
        guard let tsn = reader.readUInt32(), let window = reader.readUInt32(), let blocks = reader.readUInt16(),
            let duplicates = reader.readUInt16(), reader.remaining >= 4 * (Int(blocks) + Int(duplicates))
        else { return nil }
        self.init(cumulativeTSN: tsn, receiverWindow: window)
        self.blocks.reserveCapacity(Int(blocks))
        for _ in 0..<blocks {
            guard let start = reader.readUInt16(), let end = reader.readUInt16() else { return nil }
            self.blocks.append(Block(start: start, end: end))
        }
        for _ in 0..<duplicates {
            guard let tsn = reader.readUInt32() else { return nil }
            self.duplicates.append(tsn)
        }
    }

    public func write(into packet: inout [UInt8]) {
        let start = packet.beginSCTPChunk(.selectiveAcknowledgment)
        packet.append(uint32: cumulativeTSN)
        packet.append(uint32: receiverWindow)
        packet.append(uint16: UInt16(truncatingIfNeeded: blocks.count))
        packet.append(uint16: UInt16(truncatingIfNeeded: duplicates.count))
        for block in blocks {
            packet.append(uint16: block.start)
            packet.append(uint16: block.end)
        }
        for tsn in duplicates { packet.append(uint32: tsn) }
        packet.endSCTPChunk(start)
    }
}
