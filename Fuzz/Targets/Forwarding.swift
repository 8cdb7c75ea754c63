import RTCEngine
import RTCWire
import SFUCore

/// A publisher's whole conduct, forwarded to one subscriber: chunks of two bytes of length, one of time, one that says
/// which stream it is or what the subscriber does, then a packet. No number goes out twice, and what is asked for again
/// is as long as it was.
func fuzzForwarding(_ bytes: RawSpan) {
    for (format, streams) in [(PayloadFormat.vp8, 3), (.vp9, 1), (.vp9, 3), (.av1, 1), (.h264, 2)] {
        fuzzForwarding(bytes, format, streams: streams)
    }
}

private func fuzzForwarding(_ bytes: RawSpan, _ format: PayloadFormat, streams: Int) {
    var track = PublishedTrack(
        format: format, streams: streams, arrangement: streams > 1 ? .simulcast : .scalable())
    var forwarder = VideoForwarder(
        selector: LayerSelector(),
        rewriter: StreamRewriter(capacity: 64, clockRate: 90_000, firstSequenceNumber: 65_530))
    var extensions = HeaderExtensionIDs()
    extensions.dependencyDescriptor = 1
    var now = Instant.zero + .seconds(Int64(1))
    var sizes: [UInt16: Int] = [:]
    var unwrapper = SequenceUnwrapper()
    var lines: Set<Int64> = []
    var reader = ByteReader(bytes)
    while let length = reader.readUInt16(), let pause = reader.readUInt8(), let what = reader.readUInt8() {
        guard let data = reader.readSpan(min(Int(length) % 1_500, reader.remaining)) else { return }
        now += .milliseconds(Int64(pause))
        if what & 0x80 != 0 {
            forwarder.target =
                what & 0x40 != 0 ? nil : LayerTarget(spatial: Int(what & 3), temporal: Int(what >> 2 & 3))
        }
        guard let header = try? RTPHeader(parsing: data),
            let packet = track.receive(header, data, layer: Int(what & 3) % streams, extensions: extensions, at: now)
        else { continue }
        var next: PublishedPacket? = packet
        while let packet = next {
            if let out = forwarder.receive(packet, of: track, at: now) {
                precondition(lines.insert(unwrapper.unwrap(out.sequenceNumber)).inserted, "a number went out twice")
                sizes[out.sequenceNumber] = written(out, packet, track)
            }
            next = nil
            while next == nil, let (layer, sequence) = forwarder.nextMissed() {
                next = track.packet(layer: Int(layer), sequence: sequence, at: now)
            }
        }
        _ = forwarder.keyFrameWish(of: track, at: now)
        let number = forwarder.rewriter.lastSequenceNumber &- UInt16(pause)
        if let answer = forwarder.repair(number, of: track, roundTrip: .zero, at: now) {
            precondition(written(answer.out, answer.packet, track) == sizes[number], "sent again as something else")
        }
    }
}

private func written(_ out: OutgoingPacket, _ packet: PublishedPacket, _ track: borrowing PublishedTrack) -> Int {
    var bytes: [UInt8] = []
    track.withBytes(of: packet) { source in
        guard let header = try? RTPHeader(parsing: source) else { return }
        bytes.append(addingCapacity: OutgoingPacket.room(for: source)) {
            out.appendPayload(header.payload(of: source), of: packet, to: &$0)
        }
    }
    return bytes.count
}
