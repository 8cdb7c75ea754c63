import RTCWire

/// The bookkeeping of a source that RFC 3550 prescribes: sequence validation (§A.1), loss (§A.3), jitter (§A.8).
struct ReceptionRecord: Sendable {
    /// What a sequence number means for the stream.
    enum Arrival: Equatable {
        /// Continues the stream; the unwrapped number is higher than all before it.
        case newest(Int64)
        /// Late or repeated.
        case older(Int64)
        /// A jump: believed only when the next packet continues from there.
        case suspect
        /// Two packets in a row agreed on a new place: the source has started over. Of the first of them where that was
        /// kept (`believeJump`), else of the second.
        case restarted(Int64)
    }

    /// RFC 3550 §A.1: a jump forward of this much is suspect.
    static let maximumDropout: Int64 = 3_000
    /// RFC 3550 §A.1 has 100; plain retransmissions come later than that at a video's packet rate.
    static let maximumMisorder: Int64 = 2_000

    private var unwrapper = SequenceUnwrapper()
    private var base: Int64 = 0
    private var expectedAfterJump: UInt16?

    private(set) var packetsReceived: UInt64 = 0
    /// What `packetsLost` had counted at each restart.
    private var lostBefore: Int64 = 0
    /// Packets of this stream since the last restart, duplicates among them, as §A.3 counts.
    private var received: Int64 = 0
    private var receivedPrior: Int64 = 0
    private var expectedPrior: Int64 = 0

    /// Sixteen times the jitter, in ticks.
    private var scaledJitter: Int64 = 0
    private var lastTransit: Int64?
    private var transitClockRate: UInt32 = 0

    /// - Parameters:
    ///   - packetsReceived: of the same source, by a stream before this one.
    ///   - packetsLost: likewise.
    init(packetsReceived: UInt64 = 0, packetsLost: Int64 = 0) {
        self.packetsReceived = packetsReceived
        lostBefore = packetsLost
    }

    /// The highest unwrapped sequence number; nil before the first packet.
    var highest: Int64? { unwrapper.highest }

    /// The unwrapped number nearest to the highest, without recording a packet.
    func unwrapped(_ number: UInt16) -> Int64 { unwrapper.peek(number) }

    mutating func receive(sequenceNumber: UInt16) -> Arrival {
        packetsReceived += 1
        guard let highest = unwrapper.highest else {
            start(sequenceNumber)
            return .newest(unwrapper.unwrap(sequenceNumber))
        }
        let value = unwrapper.peek(sequenceNumber)
        if Self.isJump(from: highest, to: value) {
            guard expectedAfterJump == sequenceNumber else {
                expectedAfterJump = sequenceNumber &+ 1
                return .suspect
            }
            lostBefore += packetsLost
            start(sequenceNumber)
            return .restarted(unwrapper.unwrap(sequenceNumber))
        }
        expectedAfterJump = nil
        received += 1
        _ = unwrapper.unwrap(sequenceNumber)
        return value > highest ? .newest(value) : .older(value)
    }

    private static func isJump(from highest: Int64, to value: Int64) -> Bool {
        value > highest + maximumDropout || value < highest - maximumMisorder
    }

    /// Whether the packet that came last was suspect.
    var isSuspecting: Bool { expectedAfterJump != nil }

    /// Whether a packet, which has not been recorded yet, continues from a suspect one.
    func confirmsJump(_ sequenceNumber: UInt16) -> Bool {
        guard expectedAfterJump == sequenceNumber, let highest = unwrapper.highest else { return false }
        return Self.isJump(from: highest, to: unwrapper.peek(sequenceNumber))
    }

    /// The jump has been confirmed: the suspect packet, which is recorded once more, begins the new place.
    mutating func believeJump() {
        guard let expectedAfterJump else { return }
        self.expectedAfterJump = expectedAfterJump &- 1
        packetsReceived -= 1
    }

    private mutating func start(_ sequenceNumber: UInt16) {
        unwrapper = SequenceUnwrapper()
        base = unwrapper.peek(sequenceNumber)
        received = 1
        receivedPrior = 0
        expectedPrior = 0
        expectedAfterJump = nil
        lastTransit = nil
    }

    // MARK: Jitter

    /// Takes a packet that arrived in order. Late ones are left out: a retransmission's detour is not jitter.
    mutating func observe(timestamp: UInt32, clockRate: UInt32, at now: Instant) {
        // RFC 3550 §A.8: arrival and timestamp in the same unit; only differences count, so both may wrap.
        let arrival = Interval(nanoseconds: now.nanoseconds).ticks(clockRate: clockRate)
        let transit = Int64(Int32(truncatingIfNeeded: arrival &- Int64(timestamp)))
        defer { lastTransit = transit }
        if transitClockRate != clockRate {
            transitClockRate = clockRate
            scaledJitter = 0
            return
        }
        guard let lastTransit else { return }
        let difference = Int64(Int32(truncatingIfNeeded: transit - lastTransit)).magnitude
        // A pause or a jump of the timestamp says nothing about the network; ten seconds and more are left out.
        guard difference < UInt64(clockRate) * 10 else { return }
        scaledJitter += Int64(difference) - (scaledJitter + 8) >> 4
    }

    /// In ticks of the media clock.
    var jitter: UInt32 { UInt32(clamping: scaledJitter >> 4) }

    var jitterInterval: Interval { Interval(ticks: scaledJitter >> 4, clockRate: transitClockRate) }

    // MARK: Loss

    /// How many packets there should have been since the last restart.
    private var expected: Int64 { unwrapper.highest.map { $0 - base + 1 } ?? 0 }

    /// RFC 3550 §A.3: since the last restart, as reports have it; negative when duplicates came.
    var packetsLost: Int64 { expected - received }

    /// Since the beginning, for statistics: what a restart does not take back.
    var totalPacketsLost: Int64 { lostBefore + packetsLost }

    /// RFC 3550 §6.4.1: the low half is the sequence number, the high half counts its cycles.
    var extendedHighest: UInt32 { UInt32(truncatingIfNeeded: (unwrapper.highest ?? 0x1_0000) - 0x1_0000) }

    /// The share lost since the last call, in 1/256 (RFC 3550 §A.3).
    mutating func takeFractionLost() -> UInt8 {
        let expectedInterval = expected - expectedPrior
        let lostInterval = expectedInterval - (received - receivedPrior)
        expectedPrior = expected
        receivedPrior = received
        guard expectedInterval > 0, lostInterval > 0 else { return 0 }
        return UInt8(clamping: (lostInterval << 8) / expectedInterval)
    }
}
