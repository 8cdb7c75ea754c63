public import RTCWire

/// Where a packet has what is only filled in when it leaves: places in the packet.
public struct PacketPlaces: Sendable, Hashable {
    /// Of the transport-wide sequence number (two bytes); nil when it was not negotiated.
    public var transportSequence: Int?
    /// Of the absolute send time (three bytes); nil when it was not negotiated.
    public var absoluteSendTime: Int?

    public init(transportSequence: Int? = nil, absoluteSendTime: Int? = nil) {
        self.transportSequence = transportSequence
        self.absoluteSendTime = absoluteSendTime
    }

    /// Writes the transport-wide sequence number; false when the packet has no place for it.
    ///
    /// - Parameter start: where the packet begins in `bytes`.
    @discardableResult
    public func write(transportSequence number: UInt16, into bytes: inout [UInt8], from start: Int = 0) -> Bool {
        guard let place = transportSequence, start + place + 2 <= bytes.count else { return false }
        bytes.set(uint16: number, at: start + place)
        return true
    }

    /// Writes the absolute send time; false when the packet has no place for it.
    ///
    /// - Parameter start: where the packet begins in `bytes`.
    @discardableResult
    public func write(
        absoluteSendTime time: AbsoluteSendTime, into bytes: inout [UInt8], from start: Int = 0
    ) -> Bool {
        guard let place = absoluteSendTime, start + place + AbsoluteSendTime.size <= bytes.count else { return false }
        bytes[start + place] = UInt8(truncatingIfNeeded: time.value >> 16)
        bytes.set(uint16: UInt16(truncatingIfNeeded: time.value), at: start + place + 1)
        return true
    }
}

/// A plain packet on its way out, with the places that are only filled in when it leaves.
public struct QueuedPacket: Sendable, Equatable {
    /// How the packet is to be protected.
    public enum Kind: Sendable, Hashable {
        case rtp
        case rtcp
    }

    public var kind: Kind
    /// The whole packet, unprotected. The array has room to spare for the tag of SRTP.
    public var bytes: [UInt8]
    public var places: PacketPlaces
    /// Which packets leave before others when they have to wait.
    public var priority = PacketPriority.video
    /// It goes out as it did before, under the same number, or not at all: a packet without RTX that is asked for
    /// again.
    public var isRepeat = false
    /// The probe (`ProbeCluster.id`) that it is part of; 0 for none.
    public var probe: Int32 = 0

    public init(kind: Kind, bytes: [UInt8], places: PacketPlaces = PacketPlaces()) {
        self.kind = kind
        self.bytes = bytes
        self.places = places
    }

    /// Takes the bytes out, with their storage.
    mutating func takeBytes() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &bytes)
        return taken
    }
}

/// Packets on their way out, oldest first, in storage that is used again: once it has grown, a packet costs no
/// allocation. The owner pops a packet, protects and sends it, and gives its storage back.
public struct PacketQueue: Sendable {
    /// Bytes that a fresh buffer has room for: a packet of 1,200 bytes, SRTP's tag, and more.
    public static let bufferCapacity = 1_500
    /// Buffers that are kept for reuse at most: what leaves in one moment. A connection holds on to them for as long as
    /// it lives, and there are many connections.
    private static let maximumSpares = 32

    private var packets: [QueuedPacket] = []
    private var head = 0
    /// Here, where it is known without a look at the storage.
    public private(set) var count = 0
    private var spares: [[UInt8]] = []

    public init() {}

    public var isEmpty: Bool { count == 0 }

    /// An empty buffer with room for a packet.
    public mutating func makeBuffer() -> [UInt8] {
        if let spare = spares.popLast() { return spare }
        var buffer: [UInt8] = []
        buffer.reserveCapacity(Self.bufferCapacity)
        return buffer
    }

    /// Puts a packet at the end.
    public mutating func append(_ packet: consuming QueuedPacket) {
        packets.append(packet)
        count += 1
    }

    /// Puts RTCP at the end, written by `write` into an empty buffer; nothing when it writes nothing.
    public mutating func appendRTCP(_ write: (inout [UInt8]) -> Void) {
        var buffer = makeBuffer()
        write(&buffer)
        guard !buffer.isEmpty else { return recycle(buffer) }
        append(QueuedPacket(kind: .rtcp, bytes: buffer))
    }

    /// Takes the oldest packet; nil when there is none.
    public mutating func popFirst() -> QueuedPacket? {
        guard count > 0 else { return nil }
        count -= 1
        // Taken, not copied: the first write to a buffer that two hold would copy it.
        var packet = QueuedPacket(kind: .rtp, bytes: [])
        swap(&packet, &packets[head])
        head += 1
        if count == 0 {
            packets.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1_024 {
            // A queue that never runs empty must not grow for ever.
            packets.removeSubrange(0..<head)
            head = 0
        }
        return packet
    }

    /// Takes back a packet's storage for the next one. A buffer that grew out of proportion is let go.
    public mutating func recycle(_ buffer: consuming [UInt8]) {
        guard spares.count < Self.maximumSpares,
            (Self.bufferCapacity...4 * Self.bufferCapacity).contains(buffer.capacity)
        else { return }
        buffer.removeAll(keepingCapacity: true)
        spares.append(buffer)
    }
}
