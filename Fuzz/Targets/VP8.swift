import RTCWire

/// Payloads, each after a byte with its length; and the same bytes as a frame that is packed and unpacked.
func fuzzVP8(_ bytes: RawSpan) {
    var depacketizer = Depacketizer(format: .vp8)
    var frame: [UInt8] = []
    var reader = ByteReader(bytes)
    while let size = reader.readUInt8(), let payload = reader.readSpan(min(Int(size), reader.remaining)) {
        _ = depacketizer.startsFrame(payload)
        _ = depacketizer.startsKeyFrame(payload)
        let before = frame.count
        if !depacketizer.append(payload, to: &frame) {
            precondition(frame.count == before, "a refused payload leaves no trace")
        }
    }
    precondition(frame.count <= bytes.byteCount)

    _ = VP8FrameHeader(bytes)
    var packetizer = Packetizer(format: .vp8, maximumPayloadSize: 20, firstPictureID: 0x7fff)
    var list = PayloadList()
    packetizer.packetize(bytes, into: &list)
    var joined: [UInt8] = []
    for index in 0..<list.count {
        let isFine = depacketizer.append(list[index], to: &joined)
        precondition(isFine, "what we send can be read")
    }
    precondition(joined == bytes.withUnsafeBytes { [UInt8]($0) }, "a round trip changes nothing")
}
