internal import RTCWire

/// What it takes to send packets of streams without RTX again.
///
/// Without RTX a lost packet is sent again as itself. Protecting it with other bytes (another send time, another
/// transport-wide number) would use a key stream twice, which SRTP forbids (RFC 3711 §9.1). So the header is kept as it
/// went out; the payload is kept elsewhere, once for all who get it, and `SRTPPort.repeatRTP` proves by the tag's end
/// that both are the same.
struct SentPackets: Sendable {
    /// The first bytes of a place; the header follows.
    private struct Slot: Sendable {
        var sentAt = Instant.zero
        /// The end of the tag.
        var seal: UInt64 = 0
        var sequence: UInt16 = 0
        /// Bytes of the header; 0 as long as there is no packet.
        var size: UInt16 = 0
    }

    private struct Source: Sendable {
        let ssrc: UInt32
        /// Side by side, for a packet that leaves touches one place: what it says first, and room for its header.
        private var slots = [Slot](repeating: Slot(), count: SentPackets.fewest)
        private var headers = [UInt8](repeating: 0, count: SentPackets.fewest * SentPackets.usualHeader)
        /// Room for a header.
        private var stride = SentPackets.usualHeader
        /// The place after that of the packet that came last.
        private var next = 0
        /// One less than there are slots.
        private var mask = SentPackets.fewest - 1

        init(ssrc: UInt32) { self.ssrc = ssrc }

        mutating func insert(_ header: RawSpan, _ sequence: UInt16, seal: UInt64, at now: Instant) {
            makeRoom(for: sequence, at: now)
            if header.byteCount > stride { widen(to: header.byteCount) }
            let place = Int(sequence) & mask
            next = (place + 1) & mask
            slots[place] = Slot(
                sentAt: now, seal: seal, sequence: sequence, size: UInt16(truncatingIfNeeded: header.byteCount))
            headers.overwrite(at: place * stride, with: header)
        }

        mutating func prefetch() {
            Prefetch.element(next, of: slots)
            Prefetch.element(next * stride, of: headers)
        }

        func holds(_ sequence: UInt16) -> Bool {
            let slot = slots[Int(sequence) & mask]
            return slot.sequence == sequence && slot.size > 0
        }

        func restore(_ packet: inout [UInt8], size: Int, _ sequence: UInt16) -> UInt64? {
            guard holds(sequence) else { return nil }
            let place = Int(sequence) & mask
            let slot = slots[place]
            packet.replaceSubrange(0..<size, with: headers[place * stride..<place * stride + Int(slot.size)])
            return slot.seal
        }

        /// Twice as many slots, when the one that is next holds a packet that may still be asked for.
        private mutating func makeRoom(for sequence: UInt16, at now: Instant) {
            while mask + 1 < SentPackets.most {
                let next = slots[Int(sequence) & mask]
                guard next.size > 0, next.sequence != sequence, now - next.sentAt < SentPackets.patience else {
                    return
                }
                move(count: 2 * (mask + 1), stride: stride)
            }
        }

        private mutating func widen(to size: Int) { move(count: mask + 1, stride: (size + 15) & ~15) }

        private mutating func move(count: Int, stride wide: Int) {
            var more = [Slot](repeating: Slot(), count: count)
            var wider = [UInt8](repeating: 0, count: count * wide)
            for (place, slot) in slots.enumerated() where slot.size > 0 {
                let target = Int(slot.sequence) & (count - 1)
                more[target] = slot
                wider.overwrite(
                    at: target * wide,
                    with: headers.span.bytes.extracting(place * stride..<place * stride + Int(slot.size)))
            }
            slots = more
            headers = wider
            stride = wide
            mask = count - 1
        }
    }

    /// As many as it takes, for a server has thousands of receivers: half a second of pictures at 125 packets a second.
    private static let fewest = 64
    private static let most = 512
    /// Bytes of a header with its extensions.
    private static let usualHeader = 48
    /// A round trip, a retry, and the time that it takes to miss a packet.
    private static let patience = Interval.milliseconds(500)
    private var sources: [Source] = []

    var isEmpty: Bool { sources.isEmpty }

    /// This source answers NACKs without RTX: its packets are kept from now on.
    mutating func keep(_ ssrc: UInt32) {
        guard !sources.contains(where: { $0.ssrc == ssrc }) else { return }
        sources.append(Source(ssrc: ssrc))
    }

    /// The source has ended.
    mutating func forget(_ ssrc: UInt32) { sources.removeAll { $0.ssrc == ssrc } }

    /// Asks for the memory of the sources.
    func prefetchSources() {
        if !sources.isEmpty { Prefetch.element(0, of: sources) }
    }

    /// That has come: asks for the places that the packets after the last ones take. `mutating`, for a look at a source
    /// would copy it.
    mutating func prefetchPlaces() {
        for place in sources.indices { sources[place].prefetch() }
    }

    /// - Parameter packet: an RTP packet as it was sent; nothing is done for a source that is not kept.
    mutating func insert(_ packet: RawSpan, at now: Instant) {
        guard !sources.isEmpty, let size = RTPHeader.size(in: packet), let sequence = packet.uint16(at: 2),
            let source = source(of: packet), let seal = packet.uint64(at: packet.byteCount - 8)
        else { return }
        sources[source].insert(packet.extracting(0..<size), sequence, seal: seal, at: now)
    }

    /// Whether a packet can be sent again.
    func holds(_ sequence: UInt16, of ssrc: UInt32) -> Bool {
        sources.first { $0.ssrc == ssrc }?.holds(sequence) ?? false
    }

    /// Gives a plain packet the header that one of its source and number went out with.
    ///
    /// - Returns: the last eight bytes of that packet, protected; nil when there was none, or it is no longer kept.
    func restore(_ packet: inout [UInt8]) -> UInt64? {
        guard !sources.isEmpty, let size = RTPHeader.size(in: packet.span.bytes),
            let sequence = packet.span.bytes.uint16(at: 2), let source = source(of: packet.span.bytes)
        else { return nil }
        return sources[source].restore(&packet, size: size, sequence)
    }

    private func source(of packet: RawSpan) -> Int? {
        guard let ssrc = packet.uint32(at: 8) else { return nil }
        let sources = sources.span
        for place in sources.indices where sources[place].ssrc == ssrc { return place }
        return nil
    }
}
