import RTCWire

/// Payloads, each after a byte with its length, into one frame: the frame stays within what came in, and what was read
/// survives another trip. The same bytes also are a parameter set, a record, a sample and a frame.
func fuzzH264(_ bytes: RawSpan) {
    var depacketizer = Depacketizer(format: .h264)
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
    precondition(frame.count <= 4 * bytes.byteCount, "a few bytes do not become many")
    roundTrip(frame.span.bytes)
    roundTrip(bytes)

    _ = H264SequenceParameterSet(bytes)
    if let configuration = AVCConfiguration(bytes) { _ = configuration.annexB }
    var sample: [UInt8] = []
    for lengthSize in 1...4 { _ = AnnexB.append(avcc: bytes, lengthSize: lengthSize, to: &sample) }
}

/// Units that are packed and unpacked twice are the same both times. The first trip may drop what RTP cannot carry.
private func roundTrip(_ frame: RawSpan) {
    let once = trip(frame)
    let twice = trip(once.span.bytes)
    precondition(once == twice, "a second trip changes nothing")
}

private func trip(_ frame: RawSpan) -> [UInt8] {
    let packetizer = Packetizer(format: .h264, maximumPayloadSize: 20)
    var sending = packetizer
    var list = PayloadList()
    sending.packetize(frame, into: &list)
    var depacketizer = Depacketizer(format: .h264)
    var joined: [UInt8] = []
    for index in 0..<list.count {
        precondition(list.range(index).count <= packetizer.maximumPayloadSize)
        let isFine = depacketizer.append(list[index], to: &joined)
        precondition(isFine, "what we send can be read")
    }
    precondition(depacketizer.isAtUnitBoundary)
    return joined
}
