import RTCEngine
import RTCWire

/// A sender's whole conduct: chunks of two bytes of length, one of time, then a packet. Whatever comes, memory stays
/// bounded and feedback small.
func fuzzReceiveStream(_ bytes: RawSpan) {
    var configuration = ReceiveStreamConfiguration(
        ssrc: 1, localSSRC: 2, cname: "fuzz",
        codecs: [
            96: .media(.vp8), 97: .retransmission(of: 96), 98: .media(.h264), 99: .retransmission(of: 98),
            111: .media(.opus),
        ])
    configuration.maximumPackets = 64
    configuration.maximumBytes = 16_384
    var stream = ReceiveStream(configuration: configuration)
    var queue = PacketQueue()
    var now = Instant.zero
    var reader = ByteReader(bytes)
    while let length = reader.readUInt16(), let pause = reader.readUInt8() {
        guard let packet = reader.readSpan(min(Int(length) % 1_500, reader.remaining)) else { return }
        now += .milliseconds(Int64(pause))
        if RTPMultiplexing.isRTCP(packet) {
            var rtcp = RTCPReader(packet)
            while let element = rtcp.next() {
                if case .packet(let packet) = element { stream.receive(packet, at: now) }
            }
        } else if let header = try? RTPHeader(parsing: packet) {
            stream.receive(header, packet, into: &queue, at: now)
        }
        stream.tick(into: &queue, at: now)
        precondition(stream.heldPackets <= 64 && stream.heldBytes <= 16_384)
        precondition(queue.count <= 8)
        while let feedback = queue.popFirst() { queue.recycle(feedback.bytes) }
        while let output = stream.pollOutput() {
            if case .frame(let frame) = output { precondition(!frame.payload.isEmpty) }
        }
        _ = stream.reportBlock(at: now)
        _ = stream.stats(at: now)
    }
}
