internal import RTCWire

/// Protected packets of streams without RTX, for when they are asked for again.
///
/// Without RTX a lost packet is sent again as itself. Protecting it anew would put other bytes (another send time,
/// another transport-wide number) under the same key stream, which SRTP forbids (RFC 3711 §9.1) and our contexts refuse;
/// so the protected bytes are kept as they went out.
struct SentPackets: Sendable {
    private struct Slot: Sendable {
        var ssrc: UInt32 = 0
        var sequence: UInt16 = 0
        var bytes: [UInt8] = []
    }

    private static let capacity = 512
    private var slots: [Slot] = []

    /// - Parameter packet: an RTP packet as it was sent.
    mutating func insert(_ packet: [UInt8]) {
        guard let key = Self.key(packet) else { return }
        if slots.isEmpty { slots = [Slot](repeating: Slot(), count: Self.capacity) }
        let index = Int(key.sequence) % Self.capacity
        slots[index].ssrc = key.ssrc
        slots[index].sequence = key.sequence
        slots[index].bytes.removeAll(keepingCapacity: true)
        slots[index].bytes.append(contentsOf: packet)
    }

    /// The packet that went out with the same source and number; nil when it is no longer kept.
    func packet(like packet: [UInt8]) -> [UInt8]? {
        guard let key = Self.key(packet), !slots.isEmpty else { return nil }
        let slot = slots[Int(key.sequence) % Self.capacity]
        return slot.ssrc == key.ssrc && slot.sequence == key.sequence && !slot.bytes.isEmpty ? slot.bytes : nil
    }

    private static func key(_ packet: [UInt8]) -> (ssrc: UInt32, sequence: UInt16)? {
        let bytes = packet.span.bytes
        guard let sequence = bytes.uint16(at: 2), let ssrc = bytes.uint32(at: 8) else { return nil }
        return (ssrc, sequence)
    }
}
