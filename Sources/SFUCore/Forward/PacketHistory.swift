public import RTCEngine

/// The last packets of one published stream, complete and decrypted. All subscribers share it: their requests for lost
/// packets (RFC 4585 §6.2.1) are answered from here.
///
/// The bytes are in one ring buffer. A packet is found by its sequence number at once, without a search.
/// Bounded in packets, bytes and age. The ring grows to its bound by doubling, when it would otherwise write over what
/// is still young enough to be asked for; after that a packet costs no allocation.
public struct PacketHistory: Sendable {
    private struct Slot: Sendable {
        var packet = PublishedPacket(sequence: .min, timestamp: 0)
        /// Where its first byte lies, counted over all that was ever written.
        var start: Int = 0
        var count: Int = 0
        var arrival = Instant.zero
    }

    private static let smallest = 32 << 10

    private var slots: [Slot]
    private let mask: Int64
    private(set) var ring: [UInt8] = []
    /// Where the next byte goes, counted like a slot's start.
    private var head = 0
    /// When writing last began at the start of the ring.
    private var lapBegan = Instant.zero
    private let maximumBytes: Int
    private let maximumAge: Interval
    /// The newest packet's number; nil before the first.
    public private(set) var highest: Int64?

    /// - Parameters:
    ///   - packets: rounded up to a power of two, 16 to 16,384.
    ///   - bytes: the largest size of the ring; raised to that of the smallest one.
    ///   - age: packets older than this are not found.
    public init(packets: Int, bytes: Int, age: Interval) {
        var size = 16
        while size < min(packets, 16_384) { size *= 2 }
        slots = [Slot](repeating: Slot(), count: size)
        mask = Int64(size - 1)
        maximumBytes = max(bytes, Self.smallest)
        maximumAge = age
    }

    /// Two seconds of pictures at the rates that cameras and screens have.
    public static func forVideo() -> PacketHistory {
        PacketHistory(packets: 1_024, bytes: 1 << 20, age: .seconds(Int64(3)))
    }

    /// Sound is asked for again within a few hundred milliseconds or never.
    public static func forAudio() -> PacketHistory {
        PacketHistory(packets: 64, bytes: smallest, age: .seconds(Int64(2)))
    }

    /// The size of the ring now, in bytes.
    public var capacity: Int { ring.count }

    /// Whether this packet was inserted, and no other has taken its slot since. Its bytes may be gone.
    public func contains(_ sequence: Int64) -> Bool { slots[place(of: sequence)].packet.sequence == sequence }

    /// Keeps a copy.
    ///
    /// - Returns: false for a packet that is not kept: it is too large for the ring, or older than all slots.
    @discardableResult
    public mutating func insert(_ packet: PublishedPacket, _ bytes: RawSpan, at now: Instant) -> Bool {
        let count = bytes.byteCount
        if let highest, packet.sequence <= highest - Int64(slots.count) { return false }
        guard count <= maximumBytes / 4 else { return false }
        reserve(count, at: now)
        let offset = head % ring.count
        bytes.withUnsafeBytes { source in
            ring.withUnsafeMutableBytes { target in
                UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + count]).copyMemory(from: source)
            }
        }
        slots[place(of: packet.sequence)] = Slot(packet: packet, start: head, count: count, arrival: now)
        head += count
        highest = max(highest ?? packet.sequence, packet.sequence)
        return true
    }

    /// The description of a packet; nil when the packet is not kept any more, or too old.
    public func packet(_ sequence: Int64, at now: Instant) -> PublishedPacket? {
        let place = place(of: sequence)
        guard isKept(place, sequence), now - slots[place].arrival <= maximumAge else { return nil }
        return slots[place].packet
    }

    /// The packet's bytes, empty when it is not kept any more.
    @_lifetime(borrow self)
    public func bytes(_ sequence: Int64) -> RawSpan { ring.span.bytes.extracting(range(of: sequence)) }

    /// Where the packet's bytes lie in the ring; nowhere when it is not kept any more.
    @inline(__always) func range(of sequence: Int64) -> Range<Int> {
        let place = place(of: sequence)
        guard isKept(place, sequence) else { return 0..<0 }
        let start = slots[place].start % ring.count
        return start..<start + slots[place].count
    }

    /// Replaces the description of a packet that is kept: more is known of it now.
    mutating func set(_ video: VideoDescriptor, of sequence: Int64) {
        let place = place(of: sequence)
        if isKept(place, sequence) { slots[place].packet.video = video }
    }

    /// Hands out the packet's bytes, if it is still kept.
    func withBytes(_ sequence: Int64, _ body: (RawSpan) -> Void) {
        let bytes = bytes(sequence)
        if !bytes.isEmpty { body(bytes) }
    }

    private func place(of sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence & mask) }

    @inline(__always) private func isKept(_ place: Int, _ sequence: Int64) -> Bool {
        // The slot is another packet's by now, or the bytes were written over since.
        slots[place].packet.sequence == sequence && slots[place].start + ring.count >= head
    }

    /// Makes room for `count` bytes in one piece at the head. At the end of the ring writing goes on at its start; or
    /// the ring grows, if what would be written over is younger than `maximumAge`. It also grows for a packet that is
    /// larger than the whole ring.
    private mutating func reserve(_ count: Int, at now: Instant) {
        if ring.isEmpty {
            ring = [UInt8](repeating: 0, count: Self.smallest)
            lapBegan = now
        }
        while ring.count < count { grow() }
        while ring.count - head % ring.count < count || head % ring.count == 0 && head > 0 {
            if now - lapBegan < maximumAge, ring.count < maximumBytes {
                grow()
                continue
            }
            lapBegan = now
            let rest = ring.count - head % ring.count
            if rest < count { head += rest }
            break
        }
    }

    private mutating func grow() {
        var larger = [UInt8](repeating: 0, count: min(ring.count * 2, maximumBytes))
        var end = 0
        for index in slots.indices where slots[index].packet.sequence != .min {
            let slot = slots[index]
            guard slot.start + ring.count >= head, end + slot.count <= larger.count else {
                slots[index] = Slot()
                continue
            }
            let start = slot.start % ring.count
            for offset in 0..<slot.count { larger[end + offset] = ring[start + offset] }
            slots[index].start = end
            end += slot.count
        }
        ring = larger
        head = end
    }
}
