internal import RTCWire

/// Protected packets of streams without RTX, for when they are asked for again.
///
/// Without RTX a lost packet is sent again as itself. Protecting it anew would put other bytes (another send time,
/// another transport-wide number) under the same key stream, which SRTP forbids (RFC 3711 §9.1) and our contexts
/// refuse; so the protected bytes are kept as they went out.
struct SentPackets: Sendable {
    private struct Slot: Sendable {
        var sequence: UInt16 = 0
        var sentAt = Instant.zero
        var bytes: [UInt8] = []
    }

    private struct Source: Sendable {
        let ssrc: UInt32
        var slots = [Slot](repeating: Slot(), count: SentPackets.fewest)

        /// Twice as many slots, when the one that is next holds a packet that may still be asked for.
        mutating func makeRoom(for sequence: UInt16, at now: Instant) {
            while slots.count < SentPackets.most {
                let former = slots[Int(sequence) % slots.count]
                guard !former.bytes.isEmpty, now - former.sentAt < SentPackets.patience else { return }
                var more = [Slot](repeating: Slot(), count: slots.count * 2)
                for slot in slots where !slot.bytes.isEmpty { more[Int(slot.sequence) % more.count] = slot }
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
    mutating func insert(_ packet: [UInt8], at now: Instant) {
        guard !sources.isEmpty, var place = place(of: packet) else { return }
        sources[place.source].makeRoom(for: place.sequence, at: now)
        place.slot = Int(place.sequence) % sources[place.source].slots.count
        sources[place.source].slots[place.slot].sequence = place.sequence
        sources[place.source].slots[place.slot].sentAt = now
        sources[place.source].slots[place.slot].bytes.removeAll(keepingCapacity: true)
        sources[place.source].slots[place.slot].bytes.append(contentsOf: packet)
    }

    /// The packet that went out with the same source and number; nil when it is no longer kept.
    func packet(like packet: [UInt8]) -> [UInt8]? {
        guard let place = place(of: packet) else { return nil }
        let slot = sources[place.source].slots[place.slot]
        return slot.sequence == place.sequence && !slot.bytes.isEmpty ? slot.bytes : nil
    }

    private func place(of packet: [UInt8]) -> (source: Int, slot: Int, sequence: UInt16)? {
        let bytes = packet.span.bytes
        guard let sequence = bytes.uint16(at: 2), let ssrc = bytes.uint32(at: 8),
            let source = sources.firstIndex(where: { $0.ssrc == ssrc })
        else { return nil }
        return (source, Int(sequence) % sources[source].slots.count, sequence)
    }
}
