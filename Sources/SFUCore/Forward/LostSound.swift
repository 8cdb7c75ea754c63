import RTCWire

/// Makes packets of the earlier sound that a packet with redundancy carries (RFC 2198).
struct LostSound {
    /// The blocks of earlier sound in the packet, the earliest first.
    private var blocks: [RedundantAudio.Block] = []
    /// From how many blocks packets are made at most, since each is sent to every subscriber. Usual publishers send one
    /// or two.
    static let most = 4
    /// Kept for its storage.
    private var bytes: [UInt8] = []

    /// Reads a payload.
    ///
    /// - Returns: of how many blocks the sequence number is known. Blocks have none themselves: one that ends where the
    ///   next begins is the packet directly before that. With a pause between two blocks this cannot be told.
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
        // The marker bit and the audio level of the lost packet are not known.
        RTPHeader(
            marker: false, payloadType: block.payloadType,
            sequenceNumber: header.sequenceNumber &- UInt16(truncatingIfNeeded: distance + 1),
            timestamp: header.timestamp &- UInt32(block.timestampOffset), ssrc: header.ssrc
        ).write(into: &bytes)
        bytes.append(contentsOf: payload.extracting(block.range))
        return bytes
    }
}
