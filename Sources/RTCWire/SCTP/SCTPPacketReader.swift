/// One chunk of a packet (RFC 9260 §3.2), not yet understood.
public struct SCTPChunk: ~Escapable {
    public let type: UInt8
    public let flags: UInt8
    /// What follows the chunk's header, without padding.
    public let value: RawSpan
    /// The chunk as it was, header included, for reports.
    public let whole: RawSpan

    @_lifetime(copy whole)
    init(type: UInt8, flags: UInt8, whole: RawSpan) {
        self.type = type
        self.flags = flags
        self.whole = whole
        self.value = whole.extracting(4..<whole.byteCount)
    }
}

/// Reads a packet's chunks, one after the other.
public struct SCTPPacketReader: ~Escapable {
    public let header: SCTPCommonHeader
    /// The type of the first chunk: what a verification tag is judged by (RFC 9260 §8.5).
    public let firstType: UInt8?
    private var reader: ByteReader
    /// A chunk was shorter than its header or longer than the packet: what follows was not read.
    public private(set) var isMalformed = false

    /// Nil when there is no common header.
    @_lifetime(copy packet)
    public init?(_ packet: RawSpan) {
        var reader = ByteReader(packet)
        guard let source = reader.readUInt16(), let destination = reader.readUInt16(), let tag = reader.readUInt32(),
            reader.skip(4)
        else { return nil }
        header = SCTPCommonHeader(sourcePort: source, destinationPort: destination, verificationTag: tag)
        firstType = packet.byte(at: SCTPCommonHeader.size)
        self.reader = reader
    }

    /// Nothing follows the chunk that was read last.
    public var isAtEnd: Bool { reader.remaining == 0 }

    /// The next chunk; nil at the end, and where the packet stops making sense.
    @_lifetime(copy self)
    public mutating func next() -> SCTPChunk? {
        guard !isMalformed, reader.remaining > 0 else { return nil }
        var ahead = reader
        guard let type = ahead.readUInt8(), let flags = ahead.readUInt8(), let length = ahead.readUInt16(), length >= 4,
            let whole = reader.readSpan(Int(length))
        else {
            isMalformed = true
            return nil
        }
        // RFC 9260 §3.2: padded to four bytes; the last chunk's padding may be missing.
        reader.skip(min(-Int(length) & 3, reader.remaining))
        return SCTPChunk(type: type, flags: flags, whole: whole)
    }
}
