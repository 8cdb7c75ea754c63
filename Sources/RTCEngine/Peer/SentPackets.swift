internal import RTCWire

/// Protected packets of streams without RTX, for when they are asked for again.
///
/// Without RTX a lost packet is sent again as itself. Protecting it anew would put other bytes (another send time,
/// another transport-wide number) under the same key stream, which SRTP forbids (RFC 3711 §9.1) and our contexts
/// refuse; so the protected bytes are kept as they went out.
struct SentPackets: Sendable {
    private struct Slot: Sendable {
        var sequence: UInt16 = 0
        var bytes: [UInt8] = []
    }

    private struct Source: Sendable {
        let ssrc: UInt32
        var slots = [Slot](repeating: Slot(), count: SentPackets.capacity)
    }

    private static let capacity = 512
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
    mutating func insert(_ packet: [UInt8]) {
        guard !sources.isEmpty, let place = place(of: packet) else { return }
        sources[place.source].slots[place.slot].sequence = place.sequence
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
        return (source, Int(sequence) % Self.capacity, sequence)
    }
}
