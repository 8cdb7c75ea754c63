import RTCWire

/// Any bytes as an Opus packet: its length, where it has one, is one that Opus has.
func fuzzOpus(_ bytes: RawSpan) {
    if let packet = OpusPacket(bytes) {
        precondition((120...OpusPacket.maximumSamples).contains(packet.samples))
    }
    var depacketizer = Depacketizer(format: .opus)
    var frame: [UInt8] = []
    _ = depacketizer.append(bytes, to: &frame)
    precondition(frame.count == bytes.byteCount)
}
