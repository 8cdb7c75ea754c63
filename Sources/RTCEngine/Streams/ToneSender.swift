import RTCWire

/// Sends telephone events one after the other (RFC 4733 §2.5.1).
///
///     idle ──▶ sounding ──▶ ending ──▶ pausing ──▶ idle or sounding
struct ToneSender: Sendable {
    /// What waits to be sent.
    enum Step: Sendable, Hashable {
        case tone(code: UInt8, duration: Interval)
        case pause(Interval)
    }

    /// An event that is being sent.
    private struct Tone: Sendable {
        var code: UInt8
        /// Of its segment: a long event goes in several (RFC 4733 §2.5.1.3).
        var timestamp: UInt32
        var segmentBegan: Instant
        var ends: Instant
        var isFirstPacket = true
    }

    private enum Phase: Sendable {
        case idle
        case sounding(Tone, next: Instant)
        /// The last packet goes out several times, for a lost one would leave the key pressed.
        case ending(Tone, copiesLeft: Int, next: Instant)
        case pausing(until: Instant)
    }

    /// A packet to send now.
    struct Packet: Sendable, Equatable {
        var event: TelephoneEvent
        var timestamp: UInt32
        /// The first of its event.
        var marker: Bool
    }

    /// §2.5.1.2 recommends 50 ms between the packets of an event.
    private static let updateInterval = Interval.milliseconds(50)
    /// §2.5.1.4: three times.
    private static let endCopies = 3
    private static let endInterval = Interval.milliseconds(20)
    /// Steps that may wait: nobody dials more.
    static let maximumSteps = 256

    private var steps: [Step] = []
    private var phase = Phase.idle

    /// Sound gives way while an event is being sent: a receiver would play both.
    var isSounding: Bool {
        switch phase {
        case .sounding, .ending: true
        case .idle, .pausing: false
        }
    }

    var nextWake: Instant? {
        switch phase {
        case .idle: nil
        case .sounding(_, let next), .ending(_, _, let next): next
        case .pausing(let until): until
        }
    }

    /// Puts steps in the place of those that wait (W3C: insertDTMF); one that is being sent is finished, and the gap
    /// after it stays.
    mutating func replace(_ steps: [Step], at now: Instant) {
        var gap: [Step] = []
        if isSounding, case .pause? = self.steps.first { gap = [self.steps[0]] }
        self.steps = gap + steps.prefix(Self.maximumSteps)
        if case .idle = phase, !steps.isEmpty { phase = .pausing(until: now) }
    }

    /// What is to be sent at `now`; nil when nothing is. Ask again until it is nil.
    ///
    /// - Parameter timestamp: what the media clock says now.
    mutating func next(at now: Instant, timestamp: UInt32, clockRate: UInt32) -> Packet? {
        while let wake = nextWake, now >= wake {
            switch phase {
            case .idle: return nil
            case .pausing: begin(at: now, timestamp: timestamp)
            case .sounding(let tone, _): return update(tone, at: now, clockRate: clockRate)
            case .ending(let tone, let copies, _):
                phase =
                    copies > 1
                    ? .ending(tone, copiesLeft: copies - 1, next: now + Self.endInterval) : .pausing(until: now)
                return packet(tone, at: tone.ends, isEnd: true, clockRate: clockRate)
            }
        }
        return nil
    }

    private mutating func begin(at now: Instant, timestamp: UInt32) {
        guard !steps.isEmpty else { return phase = .idle }
        switch steps.removeFirst() {
        case .pause(let length): phase = .pausing(until: now + length)
        case .tone(let code, let duration):
            let tone = Tone(code: code, timestamp: timestamp, segmentBegan: now, ends: now + duration)
            phase = .sounding(tone, next: now + Self.updateInterval)
        }
    }

    private mutating func update(_ sounding: Tone, at now: Instant, clockRate: UInt32) -> Packet? {
        var tone = sounding
        let longest = Interval(ticks: Int64(TelephoneEvent.maximumDuration), clockRate: clockRate)
        if min(now, tone.ends) - tone.segmentBegan > longest {
            // §2.5.1.3: the segment is full, and the next one begins where it ends. It is due at once.
            let full = packet(tone, at: tone.segmentBegan + longest, isEnd: false, clockRate: clockRate)
            tone.timestamp &+= UInt32(TelephoneEvent.maximumDuration)
            tone.segmentBegan += longest
            tone.isFirstPacket = false
            phase = .sounding(tone, next: now)
            return full
        }
        let isOver = now >= tone.ends
        let packet = packet(tone, at: min(now, tone.ends), isEnd: isOver, clockRate: clockRate)
        tone.isFirstPacket = false
        phase =
            isOver
            ? .ending(tone, copiesLeft: Self.endCopies - 1, next: now + Self.endInterval)
            : .sounding(tone, next: min(now + Self.updateInterval, tone.ends))
        return packet
    }

    private func packet(_ tone: Tone, at moment: Instant, isEnd: Bool, clockRate: UInt32) -> Packet {
        let duration = (moment - tone.segmentBegan).ticks(clockRate: clockRate)
        return Packet(
            event: TelephoneEvent(code: tone.code, isEnd: isEnd, duration: UInt16(clamping: duration)),
            timestamp: tone.timestamp, marker: tone.isFirstPacket)
    }
}
