/// A client's datagram for a peer on its way to the server (RFC 8656 §11.1), read where it lies: each carries data, and
/// a whole `STUNMessage` would copy it.
public struct SendIndication: Hashable, Sendable {
    public let peer: TransportAddress
    /// Where the data stands in the message.
    public let data: Range<Int>

    /// Nil for anything else, for one whose peer or data is missing, and for one that asks for what is not known or not
    /// to be had, DONT-FRAGMENT among it: such indications are dropped (§11.2).
    public init?(_ bytes: RawSpan) {
        // The method 6 with the bits of an indication (RFC 8489 §5).
        guard STUNMessage.looksLikeSTUN(bytes), bytes.uint16(at: 0) == 0x0016, let length = bytes.uint16(at: 2),
            length % 4 == 0, STUNMessage.headerSize + Int(length) == bytes.byteCount, let high = bytes.uint32(at: 8),
            let middle = bytes.uint32(at: 12), let low = bytes.uint32(at: 16)
        else { return nil }
        let transaction = STUNTransactionID(high: high, low: UInt64(middle) << 32 | UInt64(low))
        var peer: TransportAddress?
        var data: Range<Int>?
        var offset = STUNMessage.headerSize
        while offset < bytes.byteCount {
            guard let type = bytes.uint16(at: offset), let size = bytes.uint16(at: offset + 2) else { return nil }
            let value = offset + 4..<offset + 4 + Int(size)
            guard value.upperBound <= bytes.byteCount else { return nil }
            switch type {
            case TURNAttributeType.xorPeerAddress:
                guard let address = TransportAddress(stunValue: bytes.extracting(value)) else { return nil }
                if peer == nil { peer = address.xored(with: transaction) }
            case TURNAttributeType.data:
                if data == nil { data = value }
            // Indications are not signed, but who signs them does no harm.
            case STUNAttributeType.username, STUNAttributeType.realm, STUNAttributeType.nonce,
                STUNAttributeType.messageIntegrity, STUNAttributeType.messageIntegritySHA256:
                break
            case let other where STUNAttributeType.isComprehensionRequired(other): return nil
            default: break
            }
            offset += 4 + (Int(size) + 3) & ~3
        }
        guard let peer, let data else { return nil }
        self.peer = peer
        self.data = data
    }
}
