/// Why bytes are not an RTP packet. Such a packet is dropped and counted.
public enum RTPHeaderError: Error, Sendable, Equatable {
    /// Fewer than twelve bytes, or fewer than the contributing sources need.
    case tooShort
    /// Not version 2.
    case unsupportedVersion(UInt8)
    /// The header extension reaches past the end.
    case truncatedExtension
    /// The padding count is zero or larger than what follows the header.
    case invalidPadding
}

/// The fixed header of an RTP packet (RFC 3550 §5.1), with the places of the rest as offsets into the packet: nothing
/// is copied.
public struct RTPHeader: Sendable, Equatable {
    /// The header without contributing sources and extension.
    public static let fixedSize = 12

    /// The payload format decides what it marks: the last packet of a picture, the first of a talk spurt.
    public var marker: Bool
    /// 0 to 127.
    public var payloadType: UInt8
    public var sequenceNumber: UInt16
    /// In ticks of the payload's clock.
    public var timestamp: UInt32
    public var ssrc: UInt32
    /// How many contributing sources follow the fixed header.
    public private(set) var contributingSourceCount = 0
    /// The "defined by profile" field of the extension (RFC 3550 §5.3.1); nil without an extension.
    public private(set) var extensionProfile: UInt16?
    /// The extension's data, without its four bytes of head.
    public private(set) var extensionRange = 0..<0
    /// The payload, without padding.
    public private(set) var payloadRange = 0..<0
    /// Bytes of padding after the payload, the counting byte included.
    public private(set) var paddingCount = 0

    /// A header to write, without contributing sources, extension or padding.
    public init(marker: Bool, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32) {
        self.marker = marker
        self.payloadType = payloadType & 0x7f
        self.sequenceNumber = sequenceNumber
        self.timestamp = timestamp
        self.ssrc = ssrc
    }

    /// Parses the header at the start of a whole, unprotected packet.
    public init(parsing packet: RawSpan) throws(RTPHeaderError) {
        try self.init(parsing: packet, isProtected: false)
    }

    /// Parses the header of a packet whose payload is still encrypted: padding is not looked at (RFC 3711 §3.1
    /// encrypts it), and `payloadRange` holds payload, padding and authentication tag.
    public init(parsingProtected packet: RawSpan) throws(RTPHeaderError) {
        try self.init(parsing: packet, isProtected: true)
    }

    private init(parsing packet: RawSpan, isProtected: Bool) throws(RTPHeaderError) {
        var reader = ByteReader(packet)
        guard let first = reader.readUInt8(), let second = reader.readUInt8(),
            let sequenceNumber = reader.readUInt16(), let timestamp = reader.readUInt32(),
            let ssrc = reader.readUInt32()
        else { throw .tooShort }
        guard first >> 6 == 2 else { throw .unsupportedVersion(first >> 6) }
        self.init(
            marker: second & 0x80 != 0, payloadType: second & 0x7f, sequenceNumber: sequenceNumber,
            timestamp: timestamp, ssrc: ssrc)

        contributingSourceCount = Int(first & 0x0f)
        guard reader.skip(contributingSourceCount * 4) else { throw .tooShort }

        if first & 0x10 != 0 {
            guard let profile = reader.readUInt16(), let words = reader.readUInt16() else { throw .truncatedExtension }
            let start = reader.offset
            guard reader.skip(Int(words) * 4) else { throw .truncatedExtension }
            extensionProfile = profile
            extensionRange = start..<reader.offset
        }

        if first & 0x20 != 0, !isProtected {
            // RFC 3550 §5.1: the last byte counts the padding, itself included.
            guard let count = packet.byte(at: packet.byteCount - 1), count > 0, Int(count) <= reader.remaining else {
                throw .invalidPadding
            }
            paddingCount = Int(count)
        }
        payloadRange = reader.offset..<packet.byteCount - paddingCount
    }

    /// Where the payload begins: the header with contributing sources and extension.
    public var headerSize: Int { payloadRange.lowerBound }

    /// The payload of the packet that this header was parsed from.
    @_lifetime(copy packet)
    public func payload(of packet: RawSpan) -> RawSpan {
        let end = min(payloadRange.upperBound, packet.byteCount)
        return packet.extracting(min(payloadRange.lowerBound, end)..<end)
    }

    /// The contributing source at `index`; nil past their count.
    public func contributingSource(_ index: Int, of packet: RawSpan) -> UInt32? {
        guard index >= 0, index < contributingSourceCount else { return nil }
        return packet.uint32(at: Self.fixedSize + index * 4)
    }

    /// How many bytes the header has with contributing sources and extensions (§5.1, §5.3.1); nil when the packet is
    /// shorter, or none of RTP's.
    public static func size(in packet: RawSpan) -> Int? {
        guard let first = packet.byte(at: 0), first >> 6 == 2 else { return nil }
        var size = fixedSize + 4 * Int(first & 0x0f)
        if first & 0x10 != 0 {
            guard let words = packet.uint16(at: size + 2) else { return nil }
            size += 4 + 4 * Int(words)
        }
        return size <= packet.byteCount ? size : nil
    }

    /// Appends the twelve bytes of the fixed header; what follows it is the caller's.
    public func write(into packet: inout OutputSpan<UInt8>) {
        packet.append(
            uint32: 0x8000_0000 | (marker ? 0x0080_0000 : 0) | UInt32(payloadType & 0x7f) << 16
                | UInt32(sequenceNumber))
        packet.append(uint32: timestamp)
        packet.append(uint32: ssrc)
    }

    /// As above, at the end of an array.
    public func write(into packet: inout [UInt8]) {
        packet.append(addingCapacity: Self.fixedSize) { write(into: &$0) }
    }
}

/// Tells RTP from RTCP on one port.
public enum RTPMultiplexing {
    /// RFC 5761 §4: a second byte of 192 to 223 is an RTCP packet type; RTP payload types 64 to 95 are not used.
    public static func isRTCP(_ datagram: RawSpan) -> Bool {
        guard let type = datagram.byte(at: 1) else { return false }
        return (192...223).contains(type)
    }
}
