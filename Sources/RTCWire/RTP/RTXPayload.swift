/// Retransmission packets (RFC 4588 §4): the original sequence number, two bytes, then the original payload.
public enum RTXPayload {
    /// Bytes of the original sequence number, before the original payload.
    public static let overhead = 2

    /// The original sequence number of a retransmission; nil when the payload is empty, as in packets that only
    /// probe for bandwidth.
    public static func originalSequenceNumber(_ payload: RawSpan) -> UInt16? {
        payload.uint16(at: 0)
    }

    /// The original payload; nil when there is no original sequence number.
    @_lifetime(copy payload)
    public static func originalPayload(_ payload: RawSpan) -> RawSpan? {
        guard payload.byteCount >= overhead else { return nil }
        return payload.extracting(overhead..<payload.byteCount)
    }

    /// Appends to `packet` the retransmission of `original`, a whole packet whose header is `header`. The header
    /// keeps timestamp, marker, contributing sources and extensions (RFC 4588 §4); padding is left off.
    public static func write(
        _ original: RawSpan, header: RTPHeader, ssrc: UInt32, payloadType: UInt8, sequenceNumber: UInt16,
        into packet: inout [UInt8]
    ) {
        let start = packet.count
        guard header.payloadRange.upperBound <= original.byteCount, header.headerSize >= RTPHeader.fixedSize else {
            return
        }
        packet.append(contentsOf: original.extracting(0..<header.headerSize))
        packet[start] &= ~0x20
        packet[start + 1] = packet[start + 1] & 0x80 | payloadType & 0x7f
        packet.set(uint16: sequenceNumber, at: start + 2)
        packet.set(uint32: ssrc, at: start + 8)
        packet.append(uint16: header.sequenceNumber)
        packet.append(contentsOf: header.payload(of: original))
    }
}
