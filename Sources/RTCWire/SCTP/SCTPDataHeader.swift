/// What stands before the bytes of DATA (RFC 9260 §3.3.1) and I-DATA (RFC 8260 §2.1).
public struct SCTPDataHeader: Hashable, Sendable {
    public var isInterleaved: Bool
    public var tsn: UInt32
    public var stream: UInt16
    public var isUnordered: Bool
    /// The message's first, and its last fragment.
    public var isFirst: Bool
    public var isLast: Bool
    /// RFC 7053: the sender wants the acknowledgment now.
    public var wantsAcknowledgment: Bool
    /// The stream sequence number of DATA, which says nothing when unordered; the message identifier of I-DATA.
    public var message: UInt32
    /// I-DATA: the fragment's number within its message, 0 for the first. 0 in DATA.
    public var fragment: UInt32
    /// I-DATA has it in the first fragment only; 0 in the others.
    public var payloadProtocol: UInt32

    public init(
        isInterleaved: Bool, tsn: UInt32, stream: UInt16, isUnordered: Bool, isFirst: Bool, isLast: Bool,
        wantsAcknowledgment: Bool = false, message: UInt32, fragment: UInt32, payloadProtocol: UInt32
    ) {
        self.isInterleaved = isInterleaved
        self.tsn = tsn
        self.stream = stream
        self.isUnordered = isUnordered
        self.isFirst = isFirst
        self.isLast = isLast
        self.wantsAcknowledgment = wantsAcknowledgment
        self.message = message
        self.fragment = fragment
        self.payloadProtocol = payloadProtocol
    }

    /// Bytes before the user's, chunk header included.
    public static func size(isInterleaved: Bool) -> Int { isInterleaved ? 20 : 16 }

    /// Nil when the chunk is too short. The user's bytes are `chunk.value` from `size - 4` on; there may be none.
    public init?(_ chunk: borrowing SCTPChunk) {
        let value = chunk.value
        let isInterleaved = chunk.type == SCTPChunkType.interleavedData.rawValue
        guard value.byteCount >= Self.size(isInterleaved: isInterleaved) - 4, let tsn = value.uint32(at: 0),
            let stream = value.uint16(at: 4), let sequence = value.uint16(at: 6), let third = value.uint32(at: 8)
        else { return nil }
        let isFirst = chunk.flags & SCTPChunkFlag.beginning != 0
        let fourth = isInterleaved ? value.uint32(at: 12) ?? 0 : 0
        self.init(
            isInterleaved: isInterleaved, tsn: tsn, stream: stream,
            isUnordered: chunk.flags & SCTPChunkFlag.unordered != 0, isFirst: isFirst,
            isLast: chunk.flags & SCTPChunkFlag.end != 0,
            wantsAcknowledgment: chunk.flags & SCTPChunkFlag.acknowledgeNow != 0,
            message: isInterleaved ? third : UInt32(sequence),
            // RFC 8260 §2.1: one field, the payload protocol in the first fragment, the fragment's number in others.
            fragment: isInterleaved && !isFirst ? fourth : 0,
            payloadProtocol: isInterleaved ? (isFirst ? fourth : 0) : third)
    }

    /// Writes the chunk up to where the user's bytes begin; the length counts them.
    public func write(payloadCount: Int, into packet: inout [UInt8]) {
        var flags: UInt8 = 0
        if isLast { flags |= SCTPChunkFlag.end }
        if isFirst { flags |= SCTPChunkFlag.beginning }
        if isUnordered { flags |= SCTPChunkFlag.unordered }
        if wantsAcknowledgment { flags |= SCTPChunkFlag.acknowledgeNow }
        packet.append(isInterleaved ? SCTPChunkType.interleavedData.rawValue : SCTPChunkType.data.rawValue)
        packet.append(flags)
        packet.append(
            uint16: UInt16(truncatingIfNeeded: Self.size(isInterleaved: isInterleaved) + payloadCount))
        packet.append(uint32: tsn)
        packet.append(uint16: stream)
        if isInterleaved {
            packet.append(uint16: 0)
            packet.append(uint32: message)
            packet.append(uint32: isFirst ? payloadProtocol : fragment)
        } else {
            packet.append(uint16: UInt16(truncatingIfNeeded: message))
            packet.append(uint32: payloadProtocol)
        }
    }
}
