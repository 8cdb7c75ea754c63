/// Redundant audio data (RFC 2198 §3): a packet that carries earlier packets' sound beside its own.
public enum RedundantAudio {
    /// The largest offset of an earlier block, in ticks: it has fourteen bits.
    public static let maximumOffset = 0x3fff
    /// The longest earlier block, in bytes: its length has ten bits.
    public static let maximumBlockSize = 0x3ff

    /// One packet's sound within a redundant payload.
    public struct Block: Sendable, Equatable {
        /// Of the sound itself, seven bits.
        public var payloadType: UInt8
        /// How much earlier than the packet's timestamp it belongs, in ticks; 0 for the packet's own sound.
        public var timestampOffset: UInt16
        /// Where it lies in the payload.
        public var range: Range<Int>

        public init(payloadType: UInt8, timestampOffset: UInt16, range: Range<Int>) {
            self.payloadType = payloadType
            self.timestampOffset = timestampOffset
            self.range = range
        }
    }

    /// Walks the blocks of a payload, earliest first and the packet's own sound last. One that claims more than the
    /// payload has none.
    public struct Reader: ~Escapable {
        private var headers: ByteReader
        private var dataOffset: Int
        private let end: Int
        /// How many blocks are left.
        public private(set) var count: Int

        /// A peer may write hundreds of headers in a packet; nobody sends more than a few.
        private static let maximumBlocks = 32

        @_lifetime(copy payload)
        public init(_ payload: RawSpan) {
            headers = ByteReader(payload)
            end = payload.byteCount
            count = 0
            dataOffset = 0
            var sizes = 0
            while let first = payload.byte(at: dataOffset), count < Self.maximumBlocks {
                count += 1
                // F: another header follows, and this one has four bytes.
                guard first & 0x80 != 0 else {
                    dataOffset += 1
                    if dataOffset + sizes > end { count = 0 }
                    return
                }
                sizes += Int(payload.uint16(at: dataOffset + 2) ?? 0) & RedundantAudio.maximumBlockSize
                dataOffset += 4
            }
            // No header was the last one.
            count = 0
        }

        /// The next block; nil at the end.
        public mutating func next() -> Block? {
            guard count > 0, let first = headers.readUInt8() else { return nil }
            count -= 1
            guard first & 0x80 != 0 else {
                count = 0
                return Block(payloadType: first, timestampOffset: 0, range: dataOffset..<end)
            }
            guard let fields = headers.readUInt24() else { return nil }
            let size = Int(fields) & RedundantAudio.maximumBlockSize
            defer { dataOffset += size }
            return Block(
                payloadType: first & 0x7f, timestampOffset: UInt16(fields >> 10), range: dataOffset..<dataOffset + size)
        }
    }

    /// What a payload carries whose blocks are all of one format.
    public struct Contents: Sendable, Hashable {
        /// Of each block.
        public var payloadType: UInt8
        /// Where the packet's own sound, which is last, begins: never 0.
        public var primaryOffset: Int
        /// How many blocks of earlier sound there are.
        public var earlierBlocks: Int

        public init(payloadType: UInt8, primaryOffset: Int, earlierBlocks: Int) {
            self.payloadType = payloadType
            self.primaryOffset = primaryOffset
            self.earlierBlocks = earlierBlocks
        }
    }

    /// Looks at all the blocks of a payload.
    ///
    /// - Returns: nil for one that claims more than it has, and for one whose blocks are of several formats.
    public static func contents(of payload: RawSpan) -> Contents? {
        var blocks = Reader(payload)
        let count = blocks.count
        guard let first = blocks.next() else { return nil }
        var last = first
        while let block = blocks.next() {
            guard block.payloadType == first.payloadType else { return nil }
            last = block
        }
        return Contents(
            payloadType: first.payloadType, primaryOffset: last.range.lowerBound, earlierBlocks: count - 1)
    }

    /// Appends a payload with another payload type for its blocks: numbers of formats are each connection's own
    /// (RFC 3264 §5.1), also those inside.
    public static func append(_ payload: RawSpan, payloadType: UInt8, to bytes: inout OutputSpan<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: payload)
        var place = 0
        while let first = payload.byte(at: place) {
            bytes[start + place] = first & 0x80 | payloadType & 0x7f
            guard first & 0x80 != 0 else { return }
            place += 4
        }
    }

    /// Appends the header of an earlier block; its data follow the headers of all.
    public static func appendHeader(
        payloadType: UInt8, timestampOffset: UInt16, size: Int, to payload: inout [UInt8]
    ) {
        payload.append(0x80 | payloadType & 0x7f)
        payload.append(
            uint24: (UInt32(timestampOffset) & UInt32(maximumOffset)) << 10 | UInt32(size & maximumBlockSize))
    }

    /// Appends the header of the packet's own sound, which is the last.
    public static func appendHeader(payloadType: UInt8, to payload: inout [UInt8]) {
        payload.append(payloadType & 0x7f)
    }
}
