import RTCWire

/// Payloads, each after a byte with its length; a descriptor that is read is written the same; and the same bytes as a
/// frame that is packed and unpacked.
func fuzzVP9(_ bytes: RawSpan) {
    var depacketizer = Depacketizer(format: .vp9)
    var frame: [UInt8] = []
    var reader = ByteReader(bytes)
    while let size = reader.readUInt8(), let payload = reader.readSpan(min(Int(size), reader.remaining)) {
        _ = depacketizer.startsFrame(payload)
        _ = depacketizer.startsKeyFrame(payload)
        _ = depacketizer.isCertainFrameStart(payload)
        let before = frame.count
        if !depacketizer.append(payload, to: &frame) {
            precondition(frame.count == before, "a refused payload leaves no trace")
        }
        guard let descriptor = VP9PayloadDescriptor(payload) else { continue }
        var written: [UInt8] = []
        descriptor.write(into: &written)
        // Reserved bits of the structure are not kept, but its length is.
        precondition(written.count == descriptor.byteCount)
        let again = VP9PayloadDescriptor(written.span.bytes)
        precondition(again == descriptor)
    }
    precondition(frame.count <= bytes.byteCount)

    _ = VP9FrameHeader(bytes)
    var packetizer = Packetizer(format: .vp9, maximumPayloadSize: 20, firstPictureID: 0x7fff)
    var list = PayloadList()
    packetizer.packetize(bytes, into: &list)
    var joined: [UInt8] = []
    for index in 0..<list.count {
        let isFine = depacketizer.append(list[index], to: &joined)
        precondition(isFine, "what we send can be read")
    }
    precondition(joined == bytes.withUnsafeBytes { [UInt8]($0) }, "a round trip changes nothing")
}
