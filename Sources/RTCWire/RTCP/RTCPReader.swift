/// Why a packet of a compound was dropped.
public enum RTCPError: Error, Sendable, Hashable {
    /// Fewer than the four bytes of a header.
    case truncatedHeader
    /// Not version 2: the rest of the compound is not looked at.
    case unsupportedVersion(UInt8)
    /// The length reaches past the end: the rest of the compound is not looked at.
    case lengthPastEnd
    /// A padding count of zero or larger than the packet.
    case invalidPadding
    /// The body of a packet of this type does not parse; the next packet is read.
    case malformedBody(type: UInt8)
}

/// What stood at one place of a compound.
public enum RTCPElement: Sendable, Hashable {
    case packet(RTCPPacket)
    /// A type or format that the stack has no use for (APP, XR, SLI, …).
    case skipped(type: UInt8)
    case dropped(RTCPError)
}

/// Reads the packets of a compound (RFC 3550 §6.1) or of a reduced-size one (RFC 5506), one after the other.
public struct RTCPReader: ~Escapable {
    private var reader: ByteReader

    @_lifetime(copy bytes)
    public init(_ bytes: RawSpan) { reader = ByteReader(bytes) }

    /// The next element; nil at the end.
    public mutating func next() -> RTCPElement? {
        guard reader.remaining > 0 else { return nil }
        guard let first = reader.readUInt8(), let type = reader.readUInt8(), let words = reader.readUInt16() else {
            return stop(.truncatedHeader)
        }
        guard first >> 6 == 2 else { return stop(.unsupportedVersion(first >> 6)) }
        guard let whole = reader.readSpan(Int(words) * 4) else { return stop(.lengthPastEnd) }
        var length = whole.byteCount
        if first & 0x20 != 0 {
            guard let padding = whole.byte(at: length - 1), padding > 0, Int(padding) <= length else {
                return .dropped(.invalidPadding)
            }
            length -= Int(padding)
        }
        return Self.parse(whole.extracting(0..<length), type: type, count: first & 0x1f)
    }

    private mutating func stop(_ reason: RTCPError) -> RTCPElement {
        reader.skip(reader.remaining)
        return .dropped(reason)
    }

    private static func parse(_ body: RawSpan, type: UInt8, count: UInt8) -> RTCPElement {
        var reader = ByteReader(body)
        let packet: RTCPPacket?
        switch type {
        case RTCPType.senderReport:
            packet = SenderReport(reading: &reader, count: Int(count)).map { .senderReport($0) }
        case RTCPType.receiverReport:
            packet = ReceiverReport(reading: &reader, count: Int(count)).map { .receiverReport($0) }
        case RTCPType.sourceDescription:
            packet = SourceDescription(reading: &reader, count: Int(count)).map { .sourceDescription($0) }
        case RTCPType.goodbye:
            packet = Goodbye(reading: &reader, count: Int(count)).map { .goodbye($0) }
        case RTCPType.transportFeedback, RTCPType.payloadFeedback:
            return parseFeedback(&reader, type: type, format: count)
        default:
            return .skipped(type: type)
        }
        return element(packet, type: type)
    }

    private static func parseFeedback(_ reader: inout ByteReader, type: UInt8, format: UInt8) -> RTCPElement {
        guard let sender = reader.readUInt32(), let media = reader.readUInt32() else {
            return .dropped(.malformedBody(type: type))
        }
        let packet: RTCPPacket?
        switch (type, format) {
        case (RTCPType.transportFeedback, RTCPFeedbackFormat.nack):
            packet = GenericNACK(reading: &reader, senderSSRC: sender, mediaSSRC: media).map { .nack($0) }
        case (RTCPType.transportFeedback, RTCPFeedbackFormat.transportWide):
            packet = TransportFeedback(reading: &reader, senderSSRC: sender, mediaSSRC: media)
                .map { .transportFeedback($0) }
        case (RTCPType.payloadFeedback, RTCPFeedbackFormat.pictureLossIndication):
            packet = .pictureLossIndication(PictureLossIndication(senderSSRC: sender, mediaSSRC: media))
        case (RTCPType.payloadFeedback, RTCPFeedbackFormat.fullIntraRequest):
            packet = FullIntraRequest(reading: &reader, senderSSRC: sender).map { .fullIntraRequest($0) }
        case (RTCPType.payloadFeedback, RTCPFeedbackFormat.applicationLayer):
            guard reader.readUInt32() == ReceiverEstimatedBitrate.identifier else { return .skipped(type: type) }
            packet = ReceiverEstimatedBitrate(reading: &reader, senderSSRC: sender)
                .map { .receiverEstimatedBitrate($0) }
        default:
            return .skipped(type: type)
        }
        return element(packet, type: type)
    }

    private static func element(_ packet: RTCPPacket?, type: UInt8) -> RTCPElement {
        packet.map { .packet($0) } ?? .dropped(.malformedBody(type: type))
    }
}
