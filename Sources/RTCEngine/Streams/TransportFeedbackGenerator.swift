import RTCWire

/// Tells the sender when the packets of its transport arrived, every 50 to 250 ms while packets come
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3): the faster they come the sooner, for feedback is to take
/// about a twentieth of what it is about.
public struct TransportFeedbackGenerator: Sendable {
    private struct Arrival: Sendable {
        var sequence: Int64
        var at: Instant
    }

    /// Between two feedback packets, before the rate of arrival is known.
    public static let firstInterval = Interval.milliseconds(100)
    /// Between two feedback packets.
    public static let intervals = Interval.milliseconds(50)...Interval.milliseconds(250)
    /// What feedback may take of the rate that it is about, and what one packet of it takes with its headers.
    private static let share = 0.05
    private static let feedbackSize = 68
    /// Arrivals kept between two feedback packets; more are told about at once.
    private static let maximumPending = 1_000
    /// Losses told about at once; a longer gap is passed over, for it was an outage or a jump.
    private static let maximumSpan: Int64 = 2_000

    private var unwrapper = SequenceUnwrapper()
    private var pending: [Arrival] = []
    /// The number after the highest told about.
    private var nextSequence: Int64?
    private var mediaSSRC: UInt32 = 0
    private var feedbackCount: UInt8 = 0
    /// Since when these bytes have come.
    private var measured: (since: Instant, bytes: Int)?
    /// From the first packet that is untold to the feedback about it.
    public private(set) var interval = Self.firstInterval
    /// When the pending arrivals are told; nil while there are none.
    public private(set) var nextWake: Instant?

    public init() {}

    /// A packet with this transport-wide sequence number arrived, on whatever stream.
    public mutating func received(_ sequence: UInt16, ssrc: UInt32, size: Int, at now: Instant) {
        measured = (measured?.since ?? now, (measured?.bytes ?? 0) + size)
        let value = unwrapper.unwrap(sequence)
        mediaSSRC = ssrc
        pending.append(Arrival(sequence: value, at: now))
        let due = pending.count >= Self.maximumPending ? now : now + interval
        nextWake = nextWake.map { min($0, due) } ?? due
    }

    /// Queues the feedback that has fallen due.
    ///
    /// - Parameter cname: our canonical name, where feedback may not go by itself; nil with reduced size (RFC 5506).
    public mutating func tick(
        into queue: inout PacketQueue, senderSSRC: UInt32, cname: String? = nil, at now: Instant
    ) {
        guard let nextWake, now >= nextWake else { return }
        self.nextWake = nil
        pending.sort { ($0.sequence, $0.at) < ($1.sequence, $1.at) }
        var start = 0
        while start < pending.count {
            start = send(from: start, into: &queue, senderSSRC: senderSSRC, cname: cname)
        }
        pending.removeAll(keepingCapacity: true)
        adapt(at: now)
    }

    /// So that the feedback takes its share of what came in the last quarter of a second or more.
    private mutating func adapt(at now: Instant) {
        guard let measured, now - measured.since >= Self.intervals.upperBound else { return }
        let rate = Bitrate(bytes: measured.bytes, in: now - measured.since)
        interval = (rate * Self.share).time(forBytes: Double(Self.feedbackSize))
        interval = min(max(interval, Self.intervals.lowerBound), Self.intervals.upperBound)
        self.measured = nil
    }

    /// One feedback packet about the arrivals from `start` on; returns where the next begins.
    private mutating func send(
        from start: Int, into queue: inout PacketQueue, senderSSRC: UInt32, cname: String?
    ) -> Int {
        let first = pending[start]
        // The gap since the last feedback is told as losses; a late packet is told about again, on its own.
        var base = first.sequence
        if let nextSequence, first.sequence > nextSequence, first.sequence - nextSequence <= Self.maximumSpan {
            base = nextSequence
        }
        let reference = first.at.nanoseconds.flooredQuotient(TransportFeedback.referenceUnit)
        var feedback = TransportFeedback(
            senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, baseSequence: UInt16(truncatingIfNeeded: base),
            statusCount: 0, referenceTime: Int32(truncatingIfNeeded: (reference << 40) >> 40),
            feedbackCount: feedbackCount, arrivals: [])
        feedback.arrivals.reserveCapacity(min(pending.count - start, Self.maximumArrivals))
        var last = reference * TransportFeedback.referenceUnit
        var index = start
        while index < pending.count {
            let arrival = pending[index]
            let offset = arrival.sequence - base
            let isRepeated = index > start && pending[index - 1].sequence == arrival.sequence
            guard !isRepeated else {
                index += 1
                continue
            }
            // Between a late packet and what is new lie some that have been told of, and are not to be told of as lost.
            if index > start, let nextSequence, pending[index - 1].sequence < nextSequence,
                arrival.sequence != pending[index - 1].sequence + 1
            {
                break
            }
            // Rounded against the time told so far, so that the errors do not add up.
            let delta = (arrival.at.nanoseconds - last).flooredQuotient(TransportFeedback.deltaUnit)
            guard offset <= Self.maximumSpan, let delta = Int16(exactly: delta) else { break }
            feedback.arrivals.append(TransportFeedback.Arrival(offset: UInt16(offset), delta: delta))
            feedback.statusCount = UInt16(offset + 1)
            last += Int64(delta) * TransportFeedback.deltaUnit
            index += 1
            if feedback.arrivals.count == Self.maximumArrivals { break }
        }
        feedbackCount &+= 1
        nextSequence = max(nextSequence ?? 0, base + Int64(feedback.statusCount))
        queue.appendRTCP { bytes in
            if let cname { RTCPPacket.writeEmptyReport(of: senderSSRC, cname: cname, into: &bytes) }
            RTCPPacket.transportFeedback(feedback).write(into: &bytes)
        }
        return max(index, start + 1)
    }

    /// Two bytes of delta each, and two of chunks for seven, keep a packet below 1,200 bytes.
    private static let maximumArrivals = 400
}

extension RTCPPacket {
    /// RFC 3550 §6.1: a compound begins with a report, an empty one if need be, and names its sender.
    static func writeEmptyReport(of ssrc: UInt32, cname: String, into bytes: inout [UInt8]) {
        let chunk = SourceDescription.Chunk(ssrc: ssrc, cname: cname)
        RTCPPacket.receiverReport(ReceiverReport(ssrc: ssrc)).write(into: &bytes)
        RTCPPacket.sourceDescription(SourceDescription(chunks: [chunk])).write(into: &bytes)
    }
}

extension Int64 {
    /// The quotient rounded down, for negative numbers too.
    fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 {
        let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? quotient - 1 : quotient
    }
}
