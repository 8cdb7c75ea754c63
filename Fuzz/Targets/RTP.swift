import RTCWire

/// Any packet: the header and its extensions stay inside it, and a retransmission of it parses again.
func fuzzRTP(_ bytes: RawSpan) {
    _ = try? RTPHeader(parsingProtected: bytes)
    guard let header = try? RTPHeader(parsing: bytes) else { return }
    precondition(header.payloadRange.upperBound + header.paddingCount == bytes.byteCount)
    var elements = HeaderExtensionIterator(header)
    while let element = elements.next(in: bytes) {
        precondition(element.range.lowerBound >= header.extensionRange.lowerBound)
        precondition(element.range.upperBound <= header.extensionRange.upperBound)
        _ = header.text(element.id, in: bytes)
        _ = header.audioLevel(element.id, in: bytes)
        _ = header.absoluteSendTime(element.id, in: bytes)
        _ = header.transportSequence(element.id, in: bytes)
    }
    var resent: [UInt8] = []
    RTXPayload.write(bytes, header: header, ssrc: 1, payloadType: 97, sequenceNumber: 2, into: &resent)
    guard let again = try? RTPHeader(parsing: resent.span.bytes) else {
        fatalError("a retransmission does not parse")
    }
    precondition(again.payloadRange.count == header.payloadRange.count + 2)
}
