internal import RTCWire

/// What it takes to send packets of streams without RTX again.
///
/// Without RTX a lost packet is sent again as itself. Protecting it with other bytes (another send time, another
/// transport-wide number) would use a key stream twice, which SRTP forbids (RFC 3711 §9.1). So the header is kept as it
/// went out; the payload is kept elsewhere, once for all who get it, and `SRTPPort.repeatRTP` proves by the tag's end
/// that both are the same.
struct SentPackets: Sendable {
    private struct Slot: Sendable {
        var sequence: UInt16 = 0
        var sentAt = Instant.zero
        /// The end of the tag.
        var seal: UInt64 = 0
        /// Empty as long as there is no packet.
        var header: [UInt8] = []
    }

    private struct Source: Sendable {
        let ssrc: UInt32
        var slots = [Slot](repeating: Slot(), count: SentPackets.fewest)

        /// Twice as many slots, when the one that is next holds a packet that may still be asked for.
        mutating func makeRoom(for sequence: UInt16, at now: Instant) {
            while slots.count < SentPackets.most {
                let place = Int(sequence) % slots.count
                guard !slots[place].header.isEmpty, now - slots[place].sentAt < SentPackets.patience else { return }
                var more = [Slot](repeating: Slot(), count: slots.count * 2)
                for slot in slots where !slot.header.isEmpty { more[Int(slot.sequence) % more.count] = slot }
                slots = more
            }
        }
    }

    /// As many as it takes, for a server has thousands of receivers: half a second of pictures at 125 packets a second.
    private static let fewest = 64
    private static let most = 512
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

    /// - Parameter packet: an RTP packet as it was sent; nothing is done for a source that is not kept.
    mutating func insert(_ packet: RawSpan, at now: Instant) {
        guard !sources.isEmpty, let size = RTPHeader.size(in: packet), let sequence = packet.uint16(at: 2),
            let source = source(of: packet), let seal = packet.uint64(at: packet.byteCount - 8)
        else { return }
        sources[source].makeRoom(for: sequence, at: now)
        let slot = Int(sequence) % sources[source].slots.count
        sources[source].slots[slot].sequence = sequence
        sources[source].slots[slot].sentAt = now
        sources[source].slots[slot].seal = seal
        sources[source].slots[slot].header.removeAll(keepingCapacity: true)
        sources[source].slots[slot].header.append(contentsOf: packet.extracting(0..<size))
    }

    /// Gives a plain packet the header that one of its source and number went out with.
    ///
    /// - Returns: the last eight bytes of that packet, protected; nil when there was none, or it is no longer kept.
    func restore(_ packet: inout [UInt8]) -> UInt64? {
        guard !sources.isEmpty, let size = RTPHeader.size(in: packet.span.bytes),
            let sequence = packet.span.bytes.uint16(at: 2), let source = source(of: packet.span.bytes)
        else { return nil }
        let place = Int(sequence) % sources[source].slots.count
        guard sources[source].slots[place].sequence == sequence, !sources[source].slots[place].header.isEmpty else {
            return nil
        }
        packet.replaceSubrange(0..<size, with: sources[source].slots[place].header)
        return sources[source].slots[place].seal
    }

    private func source(of packet: RawSpan) -> Int? {
        guard let ssrc = packet.uint32(at: 8) else { return nil }
        for place in sources.indices where sources[place].ssrc == ssrc { return place }
        return nil
    }
}
