import RTCWire

/// The same calls over arrays: `#expect` cannot take apart a call whose argument is a span.
extension Depacketizer {
    func startsFrame(_ payload: [UInt8]) -> Bool { startsFrame(payload.span.bytes) }
    func startsKeyFrame(_ payload: [UInt8]) -> Bool { startsKeyFrame(payload.span.bytes) }
    mutating func append(_ payload: [UInt8], to frame: inout [UInt8]) -> Bool {
        append(payload.span.bytes, to: &frame)
    }
}

extension PayloadFormat {
    func isKeyFrame(_ frame: [UInt8]) -> Bool { isKeyFrame(frame.span.bytes) }
}

extension H264SequenceParameterSet {
    init?(_ unit: [UInt8]) { self.init(unit.span.bytes) }
}

extension H265SequenceParameterSet {
    init?(_ unit: [UInt8]) { self.init(unit.span.bytes) }
}

extension HEVCConfiguration {
    init?(_ record: [UInt8]) { self.init(record.span.bytes) }
}

extension AVCConfiguration {
    init?(_ record: [UInt8]) { self.init(record.span.bytes) }
    init?(annexB frame: [UInt8]) { self.init(annexB: frame.span.bytes) }
}

extension AnnexB {
    static func append(avcc sample: [UInt8], lengthSize: Int, to frame: inout [UInt8]) -> Bool {
        append(avcc: sample.span.bytes, lengthSize: lengthSize, to: &frame)
    }

    static func appendAVCC(_ frame: [UInt8], to sample: inout [UInt8]) {
        appendAVCC(frame.span.bytes, to: &sample)
    }
}

extension VP8FrameHeader {
    init?(_ frame: [UInt8]) { self.init(frame.span.bytes) }
}

extension VP8PayloadDescriptor {
    init?(_ payload: [UInt8]) { self.init(payload.span.bytes) }
}

extension OpusPacket {
    init?(_ packet: [UInt8]) { self.init(packet.span.bytes) }
}

extension VP9PayloadDescriptor {
    init?(_ payload: [UInt8]) { self.init(payload.span.bytes) }
}

extension VP9FrameHeader {
    init?(_ frame: [UInt8]) { self.init(frame.span.bytes) }
}

extension AV1SequenceHeader {
    init?(inTemporalUnit frame: [UInt8]) { self.init(inTemporalUnit: frame.span.bytes) }
}

extension TelephoneEvent {
    init?(_ payload: [UInt8]) { self.init(payload.span.bytes) }
}

extension RedundantAudio {
    static func blocks(_ payload: [UInt8]) -> [Block] {
        var reader = Reader(payload.span.bytes)
        var blocks: [Block] = []
        while let block = reader.next() { blocks.append(block) }
        return blocks
    }
}
