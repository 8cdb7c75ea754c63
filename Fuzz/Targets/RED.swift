import RTCEngine
import RTCWire

/// A redundant payload, read and written with another payload type; and packets of redundancy and telephone events,
/// each after a byte with its length, on a stream that makes frames and on one that passes packets on.
func fuzzRED(_ bytes: RawSpan) {
    var blocks = RedundantAudio.Reader(bytes)
    while let block = blocks.next() {
        precondition(block.range.lowerBound >= 0 && block.range.upperBound <= bytes.byteCount)
    }
    let contents = RedundantAudio.contents(of: bytes)
    if let contents { precondition(contents.primaryOffset > 0 && contents.primaryOffset <= bytes.byteCount) }
    var written: [UInt8] = []
    written.append(addingCapacity: bytes.byteCount) { RedundantAudio.append(bytes, payloadType: 96, to: &$0) }
    precondition(written.count == bytes.byteCount)
    let again = RedundantAudio.contents(of: written.span.bytes)
    if let contents {
        precondition(again?.payloadType == 96 && again?.primaryOffset == contents.primaryOffset)
    }
    for unit in [MediaUnit.frames, .packets] { fuzzRED(bytes, unit) }
}

private func fuzzRED(_ bytes: RawSpan, _ unit: MediaUnit) {
    var configuration = ReceiveStreamConfiguration(
        ssrc: 1, localSSRC: 2, cname: "fuzz",
        codecs: [111: .media(.opus), 0: .media(.pcmu), 63: .redundancy, 110: .telephoneEvent(clockRate: 48_000)])
    configuration.unit = unit
    var stream = ReceiveStream(configuration: configuration)
    var queue = PacketQueue()
    var reader = ByteReader(bytes)
    var number: UInt16 = 0
    while let step = reader.readUInt8(), let size = reader.readUInt8(),
        let payload = reader.readSpan(min(Int(size), reader.remaining))
    {
        number &+= UInt16(step & 0x0f)
        var packet: [UInt8] = []
        RTPHeader(
            marker: false, payloadType: step & 0x80 == 0 ? 63 : 110, sequenceNumber: number,
            timestamp: UInt32(number) * 960, ssrc: 1
        ).write(into: &packet)
        packet.append(contentsOf: payload)
        guard let header = try? RTPHeader(parsing: packet.span.bytes) else { return }
        stream.receive(header, packet.span.bytes, into: &queue, at: .zero + .milliseconds(Int64(number)))
        while let output = stream.pollOutput() {
            if case .frame(let frame) = output { precondition(!frame.payload.isEmpty) }
        }
    }
}
