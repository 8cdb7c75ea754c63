import RTCWire

/// Puts packets in order and frames together. A ring in which each sequence number has its fixed place; storage is
/// used again. Video leaves it only in an unbroken chain from a key frame on.
struct JitterBuffer: Sendable {
    /// What is known about one sequence number.
    enum Content: Sendable {
        /// Passed over when a later packet came, at this time.
        case missing(since: Instant)
        /// Given up.
        case lost
        /// Came, but carries nothing for a frame: padding, or a payload type that is not ours.
        case filler
        /// A packet of a frame.
        case packet

        var isPacket: Bool {
            switch self {
            case .packet: true
            case .missing, .lost, .filler: false
            }
        }
    }

    /// One place of the ring.
    struct Slot: Sendable {
        var sequence: Int64 = -1
        var content = Content.lost
        var timestamp: UInt32 = 0
        var marker = false
        var payloadType: UInt8 = 0
        var format = PayloadFormat.opus
        var startsFrame = false
        var startsKeyFrame = false
        /// The payload itself proves that nothing of its frame came before it.
        var isCertainStart = false
        var arrivedAt = Instant.zero
        /// What its header extensions say about its frame.
        var metadata = PacketMetadata()
    }

    /// Where the chain of decodable frames stands.
    enum Mode: Sendable, Equatable {
        /// Broken, or not begun: the next frame to leave is a key frame.
        case needsKeyFrame
        /// The frame at `head` continues what has left, or is a key frame.
        case decoding
    }

    /// What became of an inserted packet.
    enum Insertion: Equatable {
        case inserted, duplicate, late
    }

    /// Empty before the first packet: of the sections that a description has, many never carry one.
    var slots: [Slot] = []
    /// What the packet in the same place of `slots` carries. Apart from them, so that copying a slot counts no
    /// references.
    private(set) var payloads: [[UInt8]] = []
    /// Storage of packets that have left, used again, the last one first. A ring of buffers of its own for each place
    /// would grow to megabytes before any was used again.
    private var spares: [[UInt8]] = []
    /// Of the places that there are; the ring grows with what has to wait in it, up to `capacity`.
    private var mask: Int64 = 0
    private let capacity: Int64
    let limits: Limits
    /// The next sequence number to leave, and the one after the highest known.
    var head: Int64 = 0, end: Int64 = 0
    var mode = Mode.needsKeyFrame
    /// The sequence number before `head` ended a frame, or was none of one.
    var headFollowsFrame = false
    /// How far the frame that begins at `head` has been looked at: up to `next` all is its own, and its end is not
    /// there. Else each packet of a large picture would be looked at again for each later one.
    var lookedAt: (head: Int64, next: Int64)?
    private var hasReleased = false
    private var isEmpty = true
    private(set) var byteCount = 0
    var packetCount = 0
    /// The last packet that came with a payload was of pictures.
    private(set) var holdsVideo = false

    /// Bounds in packets, bytes and time.
    struct Limits: Sendable {
        var packets: Int
        var bytes: Int
        var videoHold: Interval
        var audioHold: Interval
    }

    /// A buffer larger than this is let go when its packet leaves.
    private static let maximumSpareCapacity = 2_048
    /// Of a large picture's packets.
    private static let maximumSpares = 256
    /// Places to begin with: a few pictures of a call. There are thousands of connections, and few lose packets.
    private static let initialCapacity: Int64 = 64

    init(limits: Limits) {
        self.limits = limits
        var size: Int64 = 16
        while size < min(limits.packets, 1 << 14) { size *= 2 }
        capacity = size
    }

    /// Forgets everything: the source has started over.
    mutating func reset() {
        for index in slots.indices { clear(index) }
        head = 0
        end = 0
        mode = .needsKeyFrame
        headFollowsFrame = false
        lookedAt = nil
        hasReleased = false
        isEmpty = true
    }

    @inline(__always)
    func place(_ sequence: Int64) -> Int { Int(sequence & mask) }

    private mutating func clear(_ index: Int) {
        if case .packet = slots[index].content {
            byteCount -= payloads[index].count
            packetCount -= 1
        }
        slots[index].sequence = -1
        slots[index].content = .lost
        takeBack(index)
    }

    /// Keeps a place's storage for another packet.
    private mutating func takeBack(_ index: Int) {
        guard payloads[index].capacity > 0 else { return }
        var storage: [UInt8] = []
        swap(&storage, &payloads[index])
        guard storage.capacity <= Self.maximumSpareCapacity, spares.count < Self.maximumSpares else { return }
        storage.removeAll(keepingCapacity: true)
        spares.append(storage)
    }

    /// The timestamp of the oldest packet.
    var headTimestamp: UInt32 { slots[place(head)].timestamp }
    var headArrivedAt: Instant { slots[place(head)].arrivedAt }

    /// Bytes of payload in these places.
    func byteCount(in range: Range<Int64>) -> Int {
        var sum = 0
        for sequence in range { sum += payloads[place(sequence)].count }
        return sum
    }

    // MARK: Packets in

    /// A packet for a place in the ring; `packet` says what it is besides its sequence number and payload.
    mutating func insert(_ packet: Slot, payload: RawSpan, at now: Instant) -> Insertion {
        let sequence = packet.sequence
        if let refusal = makeRoom(for: sequence, at: now) { return refusal }
        let index = place(sequence)
        switch slots[index].content {
        case .packet, .filler: return .duplicate
        case .missing, .lost: break
        }
        slots[index] = packet
        if payload.byteCount > 0 {
            if let spare = spares.popLast() { payloads[index] = spare }
            payloads[index].append(contentsOf: payload)
        }
        if case .packet = slots[index].content {
            holdsVideo = packet.format.isVideo
            byteCount += payload.byteCount
            packetCount += 1
        }
        while byteCount > limits.bytes, head < end - 1 { overflow() }
        return .inserted
    }

    /// Moves the window so that it holds `sequence`; otherwise says why it cannot.
    private mutating func makeRoom(for sequence: Int64, at now: Instant) -> Insertion? {
        if isEmpty {
            isEmpty = false
            head = sequence
            end = sequence
        }
        if sequence < head {
            // Before the first frame has left, a packet from before the first one seen may still be used.
            guard !hasReleased, end - sequence <= capacity else { return .late }
            grow(toHold: end - sequence)
            for missing in sequence..<head { markMissing(missing, since: now) }
            head = sequence
            headFollowsFrame = false
            return nil
        }
        guard sequence >= end else { return nil }
        if sequence - end >= capacity {
            // Nothing that is held stays within the window.
            while head < end { overflow() }
            head = sequence - capacity + 1
            end = head
        }
        while sequence - head >= capacity { overflow() }
        grow(toHold: sequence + 1 - head)
        for missing in end...sequence { markMissing(missing, since: now) }
        end = sequence + 1
        return nil
    }

    /// Makes a ring of at least so many places.
    private mutating func grow(toHold count: Int64) {
        guard count > slots.count else { return }
        var size = max(Int64(slots.count), min(Self.initialCapacity, capacity))
        while size < count { size *= 2 }
        var larger = [Slot](repeating: Slot(), count: Int(size))
        var kept = [[UInt8]](repeating: [], count: Int(size))
        for sequence in head..<end {
            let index = Int(sequence & (size - 1))
            larger[index] = slots[place(sequence)]
            swap(&kept[index], &payloads[place(sequence)])
        }
        slots = larger
        payloads = kept
        mask = size - 1
    }

    private mutating func markMissing(_ sequence: Int64, since: Instant) {
        let index = place(sequence)
        clear(index)
        slots[index].sequence = sequence
        slots[index].content = .missing(since: since)
    }

    /// The oldest place is given up to stay within bounds.
    private mutating func overflow() {
        breakChain()
        dropHead()
    }

    /// A packet will not come any more.
    mutating func giveUp(_ sequence: Int64) {
        guard sequence >= head, sequence < end, case .missing = slots[place(sequence)].content else { return }
        slots[place(sequence)].content = .lost
    }

    /// Whether a packet was passed over and can still be used.
    func lacks(_ sequence: Int64) -> Bool {
        guard sequence >= head, sequence < end else { return false }
        switch slots[place(sequence)].content {
        case .missing, .lost: return true
        case .filler, .packet: return false
        }
    }

    // MARK: The head

    /// The chain is broken: what follows cannot be decoded before a key frame.
    mutating func breakChain() { mode = .needsKeyFrame }

    /// Lets go of the oldest place.
    mutating func dropHead() {
        guard head < end else { return }
        let index = place(head)
        switch slots[index].content {
        case .packet: headFollowsFrame = slots[index].marker
        case .filler: break
        case .missing, .lost: headFollowsFrame = false
        }
        clear(index)
        head += 1
        hasReleased = true
    }

    /// Lets go of everything before `sequence`; returns how many packets had not come.
    mutating func dropAll(before sequence: Int64) -> Int {
        var absent = 0
        while head < min(sequence, end) {
            switch slots[place(head)].content {
            case .missing, .lost: absent += 1
            case .filler, .packet: break
            }
            dropHead()
        }
        return absent
    }
}
