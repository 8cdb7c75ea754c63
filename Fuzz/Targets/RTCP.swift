import RTCWire

/// Any compound: it is read to its end, and what was understood reads the same once written.
func fuzzRTCP(_ bytes: RawSpan) {
    var reader = RTCPReader(bytes)
    while let element = reader.next() {
        guard case .packet(let packet) = element else { continue }
        var written: [UInt8] = []
        packet.write(into: &written)
        var second = RTCPReader(written.span.bytes)
        guard case .packet(let again) = second.next() else { fatalError("what was written does not parse") }
        // Text that was not UTF-8, or became longer by being mended, is the one thing that may change.
        switch packet {
        case .sourceDescription, .goodbye: continue
        case .senderReport, .receiverReport, .nack, .pictureLossIndication, .fullIntraRequest, .transportFeedback:
            precondition(again == packet)
        case .receiverEstimatedBitrate(let estimate):
            // An estimate beyond 64 bits is read as "no limit", which 18 bits of mantissa cannot say.
            precondition(estimate.bitrate == .max || again == packet)
        }
    }
}
