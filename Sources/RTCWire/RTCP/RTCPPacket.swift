/// One packet of a compound (RFC 3550 §6, RFC 4585, RFC 5104).
public enum RTCPPacket: Sendable, Hashable {
    case senderReport(SenderReport)
    case receiverReport(ReceiverReport)
    case sourceDescription(SourceDescription)
    case goodbye(Goodbye)
    case nack(GenericNACK)
    case pictureLossIndication(PictureLossIndication)
    case fullIntraRequest(FullIntraRequest)
    case receiverEstimatedBitrate(ReceiverEstimatedBitrate)
    case transportFeedback(TransportFeedback)

    /// The five-bit count of the common header.
    static let maximumCount = 31
}

/// Packet types (RFC 3550 §12.1, RFC 4585 §6.1, RFC 3611 §2).
enum RTCPType {
    static let senderReport: UInt8 = 200
    static let receiverReport: UInt8 = 201
    static let sourceDescription: UInt8 = 202
    static let goodbye: UInt8 = 203
    static let transportFeedback: UInt8 = 205
    static let payloadFeedback: UInt8 = 206
}

/// Formats of feedback packets, the field that counts elsewhere.
enum RTCPFeedbackFormat {
    static let nack: UInt8 = 1
    static let transportWide: UInt8 = 15
    static let pictureLossIndication: UInt8 = 1
    static let fullIntraRequest: UInt8 = 4
    static let applicationLayer: UInt8 = 15
}

extension RTCPPacket {
    /// Appends the packet, header included, to `bytes`.
    public func write(into bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(0x80 | countField)
        bytes.append(type)
        bytes.append(uint16: 0)
        switch self {
        case .senderReport(let report): report.writeBody(into: &bytes)
        case .receiverReport(let report): report.writeBody(into: &bytes)
        case .sourceDescription(let description): description.writeBody(into: &bytes)
        case .goodbye(let goodbye): goodbye.writeBody(into: &bytes)
        case .nack(let nack): nack.writeBody(into: &bytes)
        case .pictureLossIndication(let indication): indication.writeBody(into: &bytes)
        case .fullIntraRequest(let request): request.writeBody(into: &bytes)
        case .receiverEstimatedBitrate(let estimate): estimate.writeBody(into: &bytes)
        case .transportFeedback(let feedback): feedback.writeBody(into: &bytes)
        }
        // Only transport feedback ends within a word: it is padded as RFC 3550 §6.4.1 says, the last byte counting.
        let padding = (4 - (bytes.count - start) % 4) % 4
        if padding > 0 {
            for _ in 1..<padding { bytes.append(0) }
            bytes.append(UInt8(padding))
            bytes[start] |= 0x20
        }
        bytes.set(uint16: UInt16(truncatingIfNeeded: (bytes.count - start) / 4 - 1), at: start + 2)
    }

    private var type: UInt8 {
        switch self {
        case .senderReport: RTCPType.senderReport
        case .receiverReport: RTCPType.receiverReport
        case .sourceDescription: RTCPType.sourceDescription
        case .goodbye: RTCPType.goodbye
        case .nack, .transportFeedback: RTCPType.transportFeedback
        case .pictureLossIndication, .fullIntraRequest, .receiverEstimatedBitrate: RTCPType.payloadFeedback
        }
    }

    private var countField: UInt8 {
        func count(_ value: Int) -> UInt8 { UInt8(min(value, Self.maximumCount)) }
        return switch self {
        case .senderReport(let report): count(report.blocks.count)
        case .receiverReport(let report): count(report.blocks.count)
        case .sourceDescription(let description): count(description.chunks.count)
        case .goodbye(let goodbye): count(goodbye.ssrcs.count)
        case .nack: RTCPFeedbackFormat.nack
        case .pictureLossIndication: RTCPFeedbackFormat.pictureLossIndication
        case .fullIntraRequest: RTCPFeedbackFormat.fullIntraRequest
        case .receiverEstimatedBitrate: RTCPFeedbackFormat.applicationLayer
        case .transportFeedback: RTCPFeedbackFormat.transportWide
        }
    }
}
