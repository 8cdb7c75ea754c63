/// What every packet begins with (RFC 9260 §3.1).
public struct SCTPCommonHeader: Hashable, Sendable {
    public static let size = 12

    public var sourcePort: UInt16
    public var destinationPort: UInt16
    public var verificationTag: UInt32

    public init(sourcePort: UInt16, destinationPort: UInt16, verificationTag: UInt32) {
        self.sourcePort = sourcePort
        self.destinationPort = destinationPort
        self.verificationTag = verificationTag
    }

    /// Begins a packet; `SCTPChecksum.seal` fills the checksum in.
    public func write(into packet: inout [UInt8]) {
        packet.append(uint16: sourcePort)
        packet.append(uint16: destinationPort)
        packet.append(uint32: verificationTag)
        packet.append(uint32: 0)
    }
}

/// The checksum field of the common header.
public enum SCTPChecksum {
    private static let offset = 8
    private static let zeros: [UInt8] = [0, 0, 0, 0]

    /// What the field of this packet says, and what it ought to say. RFC 9653 §5.3: a zero may stand for "not
    /// computed".
    public enum Verdict: Hashable, Sendable {
        case correct, zero, wrong
    }

    /// Writes the checksum of a finished packet into it.
    public static func seal(_ packet: inout [UInt8]) {
        guard packet.count >= SCTPCommonHeader.size else { return }
        packet.set(uint32: compute(packet.span.bytes).byteSwapped, at: offset)
    }

    public static func verdict(on packet: RawSpan) -> Verdict {
        guard let found = packet.uint32(at: offset) else { return .wrong }
        // The correct checksum may happen to be zero: then both readings accept the packet.
        if found == 0 { return .zero }
        return found == compute(packet).byteSwapped ? .correct : .wrong
    }

    /// Whether a packet whose field is zero is right even so.
    public static func isTrulyZero(_ packet: RawSpan) -> Bool {
        packet.byteCount >= SCTPCommonHeader.size && compute(packet) == 0
    }

    /// RFC 9260 §6.8: over the whole packet, the field itself taken as zero.
    private static func compute(_ packet: RawSpan) -> UInt32 {
        var checksum = CRC32c()
        checksum.update(packet.extracting(0..<offset))
        checksum.update(zeros.span.bytes)
        checksum.update(packet.extracting(SCTPCommonHeader.size..<packet.byteCount))
        return checksum.value
    }
}
