import RTCWire

/// The packets that were sent last, to send them again. A ring in which a sequence number has its fixed place: finding
/// a packet is one look. Storage is used again as soon as its packet is too old to be asked for, so that a slow stream
/// does not fill the ring with what nobody can have any more.
struct SendHistory: Sendable {
    private struct Slot: Sendable {
        var sequenceNumber: UInt16 = 0
        var sentAt: Instant?
        var resentAt: Instant?
        var resends = 0
        var packet: [UInt8] = []
    }

    /// A request of a few bytes asks for a hundred packets, and it is the peer who says how long a round trip is:
    /// without a bound a peer could make us send a thousand times what it sends. Receivers ask ten times at most.
    private static let maximumResends = 10

    /// Places to begin with; sound never needs more.
    private static let initialCount = 64

    /// As many as the packets of `duration` have needed, since a server has thousands of streams; none before the
    /// first.
    private var slots: [Slot] = []
    private let maximumCount: Int
    /// No packet before this one has storage.
    private var oldest: UInt16?
    private let duration: Interval

    /// - Parameter count: the most that are kept; rounded up to a power of two, at most 16,384; 0 keeps nothing.
    init(count: Int, duration: Interval) {
        self.duration = duration
        var size = 1
        while size < min(count, 16_384) { size *= 2 }
        maximumCount = count > 0 ? size : 0
    }

    private func place(_ sequenceNumber: UInt16) -> Int { Int(sequenceNumber) & (slots.count - 1) }

    /// Keeps a copy of a packet that is sent now for the first time.
    mutating func insert(_ packet: RawSpan, sequenceNumber: UInt16, at now: Instant) {
        guard maximumCount > 0 else { return }
        if slots.isEmpty { slots = [Slot](repeating: Slot(), count: min(Self.initialCount, maximumCount)) }
        while slots.count < maximumCount, isWanted(place(sequenceNumber), at: now) { grow() }
        let index = place(sequenceNumber)
        if slots[index].packet.capacity > 0 {
            // The ring has come round: what follows here is the oldest now.
            oldest = sequenceNumber &+ 1 &- UInt16(slots.count)
        } else {
            slots[index].packet = takeExpired(before: sequenceNumber, at: now)
        }
        slots[index].sequenceNumber = sequenceNumber
        slots[index].sentAt = now
        slots[index].resentAt = nil
        slots[index].resends = 0
        slots[index].packet.removeAll(keepingCapacity: true)
        slots[index].packet.append(contentsOf: packet)
    }

    /// Whether the packet in this place may still be asked for.
    private func isWanted(_ index: Int, at now: Instant) -> Bool {
        slots[index].sentAt.map { now - $0 <= duration } ?? false
    }

    private mutating func grow() {
        var larger = [Slot](repeating: Slot(), count: slots.count * 2)
        for index in slots.indices where slots[index].packet.capacity > 0 {
            swap(&larger[Int(slots[index].sequenceNumber) & (larger.count - 1)], &slots[index])
        }
        slots = larger
    }

    /// The storage of the oldest packet if it is too old to be asked for. One for each that is inserted: a burst then
    /// finds as many as it needs, and allocates nothing.
    private mutating func takeExpired(before newest: UInt16, at now: Instant) -> [UInt8] {
        var number = oldest ?? newest
        defer { oldest = number }
        while number != newest {
            let index = place(number)
            guard slots[index].packet.capacity > 0, let sentAt = slots[index].sentAt else {
                number &+= 1
                continue
            }
            guard now - sentAt > duration else { return [] }
            number &+= 1
            slots[index].sentAt = nil
            var storage: [UInt8] = []
            swap(&storage, &slots[index].packet)
            return storage
        }
        return []
    }

    /// How many packets there is a place for now.
    var places: Int { slots.count }

    /// Packets that it has storage for.
    var packetsKept: Int { slots.count { $0.packet.capacity > 0 } }

    /// What became of a request.
    enum Answer {
        case resend(place: Int)
        /// It was sent again less than a round trip ago: the request crossed it.
        case underway
        /// Too old, never sent, or sent again so often that once more would not help.
        case unknown
    }

    /// Looks up a missing packet and, when it is to be sent again, notes that it is now.
    mutating func request(_ sequenceNumber: UInt16, roundTrip: Interval, at now: Instant) -> Answer {
        guard !slots.isEmpty else { return .unknown }
        let index = place(sequenceNumber)
        guard slots[index].sequenceNumber == sequenceNumber, let sentAt = slots[index].sentAt,
            now - sentAt <= duration, slots[index].resends < Self.maximumResends
        else { return .unknown }
        if let resentAt = slots[index].resentAt, now - resentAt < roundTrip { return .underway }
        slots[index].resentAt = now
        slots[index].resends += 1
        return .resend(place: index)
    }

    /// A packet that was sent a short time ago, for who may send something again that nobody has asked for.
    func recent(_ sequenceNumber: UInt16, at now: Instant) -> Int? {
        guard !slots.isEmpty else { return nil }
        let index = place(sequenceNumber)
        guard slots[index].sequenceNumber == sequenceNumber, let sentAt = slots[index].sentAt,
            now - sentAt <= duration
        else { return nil }
        return index
    }

    /// The packet at a place that `request` or `recent` returned.
    func packet(at place: Int) -> [UInt8] { slots[place].packet }
}
