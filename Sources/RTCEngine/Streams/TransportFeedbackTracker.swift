public import RTCWire

/// Remembers what was sent with which transport-wide sequence number, and counts what became of it. The last
/// feedback is kept for whoever estimates bandwidth.
public struct TransportFeedbackTracker: Sendable {
    /// A packet that the last feedback told about.
    public struct PacketResult: Sendable, Hashable {
        public var sentAt: Instant
        /// Bytes handed to the network.
        public var size: Int
        /// On the receiver's clock: only differences mean something. Nil: lost.
        public var arrivedAt: Instant?
        /// The probe (`ProbeCluster.id`) that it was part of; 0 for none.
        public var probe: Int32 = 0
        /// It was told missing before, and has come after all.
        public var wasToldLost = false
    }

    private enum Fate: Sendable {
        case free, inFlight, lost, arrived
    }

    private struct Slot: Sendable {
        var sentAt = Instant.zero
        var probe: Int32 = 0
        var size: UInt16 = 0
        var sequence: UInt16 = 0
        var fate = Fate.free
    }

    private static let initialCapacity = 256
    private static let maximumCapacity = 8_192
    /// For so long a packet waits for news of it before a newer one may take its place. Feedback comes every tenth of a
    /// second, but from behind a bloated queue seconds late, and just then it matters.
    private static let patience = Interval.seconds(Int64(10))
    /// By the sequence number's remainder. There are as many as the packets of a round trip have needed, since a server
    /// has thousands of connections.
    private var slots: [Slot] = []
    /// One less than there are slots: known here, a slot is found without waiting for the array's own count.
    private var mask = 0
    /// Of the last feedback, in units of 64 ms.
    private var lastReference: Int64?

    public private(set) var packetsSent: UInt64 = 0
    public private(set) var packetsAcknowledged: UInt64 = 0
    /// Told missing and not told arrived since.
    public private(set) var packetsLost: UInt64 = 0
    public private(set) var feedbackReceived: UInt64 = 0
    /// What the last feedback told, in the order of sending.
    public private(set) var lastResults: [PacketResult] = []

    public init() {}

    /// A packet was handed to the network.
    ///
    /// - Parameter probe: the probe that it is part of; 0 for none.
    public mutating func sent(_ sequence: UInt16, size: Int, probe: Int32 = 0, at now: Instant) {
        if mask == 0 { resize(to: Self.initialCapacity) }
        while mask + 1 < Self.maximumCapacity, isWaiting(Int(sequence) & mask, at: now) { resize(to: 2 * (mask + 1)) }
        packetsSent += 1
        slots[Int(sequence) & mask] = Slot(
            sentAt: now, probe: probe, size: UInt16(clamping: size), sequence: sequence, fate: .inFlight)
    }

    func prefetchSlot(of sequence: UInt16) { Prefetch.element(Int(sequence) & mask, of: slots) }

    private func isWaiting(_ index: Int, at now: Instant) -> Bool {
        let age = now - slots[index].sentAt
        return switch slots[index].fate {
        case .free, .arrived: false
        case .inFlight: age < Self.patience
        // It may come after all.
        case .lost: age < .seconds(Int64(1))
        }
    }

    /// - Parameter count: a power of two, as the sequence numbers' range is: remainders go on over their wrap.
    private mutating func resize(to count: Int) {
        var larger = [Slot](repeating: Slot(), count: count)
        for slot in slots where slot.fate != .free { larger[Int(slot.sequence) & (count - 1)] = slot }
        slots = larger
        mask = count - 1
    }

    /// Forgets the packets and keeps the counters: nothing will be sent any more.
    mutating func end() {
        slots = []
        mask = 0
        lastResults = []
    }

    /// Takes feedback. Packets that were never sent, or so long ago that they are forgotten, are left out; and feedback
    /// about more packets than are remembered, for all that are under way would be lost in it: Pion's before its
    /// interceptor 0.1.20 has some where the numbers begin anew.
    public mutating func receive(_ feedback: TransportFeedback) {
        feedbackReceived += 1
        lastResults.removeAll(keepingCapacity: true)
        guard !slots.isEmpty, feedback.statusCount <= Self.maximumCapacity else { return }
        var clock = Instant(nanoseconds: unwrapped(feedback.referenceTime) * TransportFeedback.referenceUnit)
        let arrivals = feedback.arrivals.span
        var next = 0
        for offset in 0..<Int(feedback.statusCount) {
            var arrivedAt: Instant?
            if next < arrivals.count, Int(arrivals[next].offset) == offset {
                clock += Interval(nanoseconds: Int64(arrivals[next].delta) * TransportFeedback.deltaUnit)
                arrivedAt = clock
                next += 1
            }
            let sequence = feedback.baseSequence &+ UInt16(truncatingIfNeeded: offset)
            let slot = slots[Int(sequence) & mask]
            guard slot.sequence == sequence else { continue }
            switch (slot.fate, arrivedAt) {
            case (.free, _), (.arrived, _), (.lost, .none): continue
            case (.inFlight, .none): packetsLost += 1
            case (.inFlight, .some): packetsAcknowledged += 1
            case (.lost, .some):
                packetsLost -= 1
                packetsAcknowledged += 1
            }
            slots[Int(sequence) & mask].fate = arrivedAt == nil ? .lost : .arrived
            lastResults.append(
                PacketResult(
                    sentAt: slot.sentAt, size: Int(slot.size), arrivedAt: arrivedAt, probe: slot.probe,
                    wasToldLost: slot.fate == .lost))
        }
    }

    /// Two years: a peer whose clock leaps so far begins anew, or it would leap out of our numbers.
    private static let farthestReference: Int64 = 1 << 30

    /// The peer's clock in units of 64 ms without its wrap at 24 bits, which is every 12.4 days.
    private mutating func unwrapped(_ referenceTime: Int32) -> Int64 {
        var reference = Int64(referenceTime)
        if let lastReference, abs(lastReference) < Self.farthestReference {
            // The difference has 24 bits, the first of which is its sign.
            let step = Int32(truncatingIfNeeded: reference - lastReference) << 8
            reference = lastReference + Int64(step >> 8)
        }
        lastReference = reference
        return reference
    }
}
