import RTCWire

/// Earlier packets that a packet of redundancy brings along (RFC 2198), as packets of their own.
struct LostSound {
    /// Those that directly precede the packet, the earliest first.
    private var blocks: [RedundantAudio.Block] = []
    /// More are not made packets of: of one datagram there would be as many for every subscriber. Who means well sends
    /// one or two along.
    static let most = 4
    /// Kept for its storage.
    private var bytes: [UInt8] = []

    /// Reads a payload.
    ///
    /// - Returns: how many packets it brings of which it is known which ones they are. Blocks have no sequence numbers:
    ///   the one that ends where the next begins is the packet before. Where there is silence between, or a block was
    ///   left out, nothing can be told.
    mutating func read(_ payload: RawSpan, _ format: PayloadFormat) -> Int {
        blocks.removeAll(keepingCapacity: true)
        var reader = RedundantAudio.Reader(payload)
        while let block = reader.next() { blocks.append(block) }
        _ = blocks.popLast()
        var begins = 0
        var count = 0
        for block in blocks.reversed() {
            guard count < Self.most, let samples = format.samples(in: payload.extracting(block.range)),
                begins + samples == Int(block.timestampOffset)
            else { break }
            begins += samples
            count += 1
        }
        return count
    }

    /// The packet that was sent so many before the one whose payload was read; 0 is directly before it.
    mutating func packet(_ distance: Int, before header: RTPHeader, _ payload: RawSpan) -> [UInt8] {
        bytes.removeAll(keepingCapacity: true)
        let block = blocks[blocks.count - 1 - distance]
        // What marks the beginning of a talk spurt, and how loud it was, is not known.
        RTPHeader(
            marker: false, payloadType: block.payloadType,
            sequenceNumber: header.sequenceNumber &- UInt16(truncatingIfNeeded: distance + 1),
            timestamp: header.timestamp &- UInt32(block.timestampOffset), ssrc: header.ssrc
        ).write(into: &bytes)
        bytes.append(contentsOf: payload.extracting(block.range))
        return bytes
    }
}
