import RTCWire

/// Payloads, each after a byte with its length, into one temporal unit; what was read survives another trip. The same
/// bytes also are a temporal unit.
func fuzzAV1(_ bytes: RawSpan) {
    var depacketizer = Depacketizer(format: .av1)
    var frame: [UInt8] = []
    var reader = ByteReader(bytes)
    while let size = reader.readUInt8(), let payload = reader.readSpan(min(Int(size), reader.remaining)) {
        _ = depacketizer.startsFrame(payload)
        _ = depacketizer.startsKeyFrame(payload)
        let before = frame
        if !depacketizer.append(payload, to: &frame) {
            precondition(frame == before, "a refused payload leaves no trace")
        }
    }
    precondition(frame.count <= 4 * bytes.byteCount, "a few bytes do not become many")
    if depacketizer.isAtUnitBoundary { roundTripAV1(frame.span.bytes) }
    roundTripAV1(bytes)
    _ = AV1SequenceHeader(inTemporalUnit: bytes)
    _ = PayloadFormat.av1.isKeyFrame(bytes)
}

/// Units that are packed and unpacked twice are the same both times. The first trip drops what RTP does not carry.
private func roundTripAV1(_ frame: RawSpan) {
    let once = tripAV1(frame)
    let twice = tripAV1(once.span.bytes)
    precondition(once == twice, "a second trip changes nothing")
}

private func tripAV1(_ frame: RawSpan) -> [UInt8] {
    var packetizer = Packetizer(format: .av1, maximumPayloadSize: 20)
    var list = PayloadList()
    packetizer.packetize(frame, into: &list)
    var depacketizer = Depacketizer(format: .av1)
    var joined: [UInt8] = []
    for index in 0..<list.count {
        precondition(list.range(index).count <= packetizer.maximumPayloadSize)
        // More units than a temporal unit may have are refused.
        guard depacketizer.append(list[index], to: &joined) else { return [] }
    }
    precondition(depacketizer.isAtUnitBoundary)
    return joined
}
