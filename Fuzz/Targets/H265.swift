import RTCWire

/// Payloads, each after a byte with its length, into one access unit; what was read survives another trip.
func fuzzH265(_ bytes: RawSpan) {
    var depacketizer = Depacketizer(format: .h265)
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
    }
    precondition(frame.count <= 4 * bytes.byteCount + 4, "a few bytes do not become many")
    let once = tripH265(bytes)
    let twice = tripH265(once.span.bytes)
    precondition(once == twice, "a second trip changes nothing")
    _ = PayloadFormat.h265.isKeyFrame(bytes)
    _ = H265SequenceParameterSet(bytes)
    guard let configuration = HEVCConfiguration(bytes) else { return }
    _ = configuration.annexB
    var record: [UInt8] = []
    guard configuration.write(into: &record, isComplete: true) else { return }
    precondition(HEVCConfiguration(record.span.bytes) == configuration, "what is written is read again")
}

private func tripH265(_ frame: RawSpan) -> [UInt8] {
    var packetizer = Packetizer(format: .h265, maximumPayloadSize: 20)
    var list = PayloadList()
    packetizer.packetize(frame, into: &list)
    var depacketizer = Depacketizer(format: .h265)
    var joined: [UInt8] = []
    for index in 0..<list.count {
        precondition(list.range(index).count <= packetizer.maximumPayloadSize)
        let isFine = depacketizer.append(list[index], to: &joined)
        precondition(isFine, "what we send can be read")
    }
    precondition(depacketizer.isAtUnitBoundary)
    return joined
}
