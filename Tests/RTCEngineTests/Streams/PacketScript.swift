import RTCEngine
import RTCWire

/// Packets made by hand for one receive stream, and what it answers.
struct PacketScript {
    var now = Instant.zero + .seconds(Int64(5))
    var stream: ReceiveStream
    var queue = PacketQueue()
    static let ssrc: UInt32 = 0xabcd_0001

    init(
        codecs: [UInt8: ReceiveCodec] = [96: .media(.vp8), 97: .retransmission(of: 96)],
        adjust: (inout ReceiveStreamConfiguration) -> Void = { _ in }
    ) {
        var configuration = ReceiveStreamConfiguration(
            ssrc: Self.ssrc, localSSRC: 1, cname: "receiver", codecs: codecs)
        adjust(&configuration)
        stream = ReceiveStream(configuration: configuration)
    }

    /// A packet arrives now.
    mutating func packet(
        _ number: UInt16, timestamp: UInt32, payloadType: UInt8 = 96, ssrc: UInt32 = Self.ssrc, marker: Bool = true,
        _ payload: [UInt8]
    ) {
        var bytes: [UInt8] = []
        RTPHeader(
            marker: marker, payloadType: payloadType, sequenceNumber: number, timestamp: timestamp, ssrc: ssrc
        ).write(into: &bytes)
        bytes += payload
        guard let header = try? RTPHeader(parsing: bytes.span.bytes) else { return }
        stream.receive(header, bytes.span.bytes, into: &queue, at: now)
    }

    /// A picture of one packet arrives now.
    mutating func picture(_ number: UInt16, isKeyFrame: Bool = false, payloadType: UInt8 = 96) {
        packet(number, timestamp: UInt32(number) * 3_000, payloadType: payloadType, VP8.payload(isKeyFrame: isKeyFrame))
    }

    mutating func wait(_ interval: Interval) {
        let end = now + interval
        while let wake = stream.nextWake, wake <= end {
            now = max(now, wake)
            stream.tick(into: &queue, at: now)
        }
        now = end
    }

    /// What the stream has told since the last call.
    mutating func outputs() -> [ReceiveStreamOutput] {
        var outputs: [ReceiveStreamOutput] = []
        while let output = stream.pollOutput() { outputs.append(output) }
        return outputs
    }

    /// Timestamps, in units of 3,000, of the frames since the last call.
    mutating func frames() -> [UInt32] {
        outputs().compactMap { if case .frame(let frame) = $0 { frame.timestamp / 3_000 } else { nil } }
    }

    /// The feedback since the last call.
    mutating func feedback() -> [RTCPPacket] {
        var packets: [RTCPPacket] = []
        while let packet = queue.popFirst() {
            packets += rtcp(packet.bytes)
            queue.recycle(packet.bytes)
        }
        return packets
    }

    static func nack(_ missing: UInt16...) -> RTCPPacket {
        .nack(GenericNACK(senderSSRC: 1, mediaSSRC: ssrc, missing: missing))
    }

    static let pli = RTCPPacket.pictureLossIndication(PictureLossIndication(senderSSRC: 1, mediaSSRC: ssrc))
}

enum VP8 {
    /// RFC 7741 §4.2: S bit, partition 0; then RFC 6386 §9.1's frame tag, whose bit 0 is 0 for a key frame.
    static func payload(isKeyFrame: Bool) -> [UInt8] {
        [0x10] + (isKeyFrame ? [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00] : [0x11, 0, 0]) + [1, 2, 3]
    }
    /// What a retransmission carries (RFC 4588 §4): the original's number, then its payload.
    static func repeated(_ number: UInt16, isKeyFrame: Bool = false) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(uint16: number)
        bytes.append(contentsOf: payload(isKeyFrame: isKeyFrame))
        return bytes
    }

    /// A payload that continues a frame: no S bit.
    static let continuation: [UInt8] = [0x00, 4, 5, 6]
}
