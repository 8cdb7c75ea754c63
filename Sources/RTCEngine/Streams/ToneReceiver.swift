import RTCWire

/// A telephone key, as it is told once when it is pressed and once when it is let go.
public struct ReceivedTone: Sendable, Hashable {
    /// The event's number (RFC 4733 §3.2).
    public var code: UInt8
    /// The key; nil for events that are none.
    public var key: Character? { TelephoneEvent.key(ofCode: code) }
    /// In -dBm0.
    public var volume: UInt8
    /// How long it was pressed; nil while it is.
    public var duration: Interval?

    public init(code: UInt8, volume: UInt8, duration: Interval? = nil) {
        self.code = code
        self.volume = volume
        self.duration = duration
    }
}

/// Makes single events of the packets that repeat them (RFC 4733 §2.5.2).
struct ToneReceiver: Sendable {
    private struct Tone: Sendable {
        var code: UInt8
        var volume: UInt8
        /// Of the segment that was heard last.
        var timestamp: UInt32
        /// Of the segments before it, in ticks.
        var earlier: UInt64 = 0
        var duration: UInt16 = 0
        var hasEnded = false
    }

    private var tone: Tone?
    /// A packet that is older than this has not been on its way all the while: the sender's clock has begun anew, or
    /// has gone round since the last tone.
    private static let longestDelay = Interval.seconds(5)

    /// What a packet tells, the end of a tone before the beginning of the next.
    mutating func receive(
        _ event: TelephoneEvent, timestamp: UInt32, clockRate: UInt32
    ) -> [ReceivedTone] {
        var told: [ReceivedTone] = []
        if var known = tone {
            let step = Int64(Int32(bitPattern: timestamp &- known.timestamp))
            // A packet of an event that is over, late.
            if step < 0, step > -Self.longestDelay.ticks(clockRate: clockRate) { return [] }
            let isNextSegment =
                step == Int64(TelephoneEvent.maximumDuration) && known.duration == TelephoneEvent.maximumDuration
                && event.code == known.code && !known.hasEnded
            if isNextSegment {
                known.earlier += UInt64(TelephoneEvent.maximumDuration)
                known.timestamp = timestamp
                known.duration = 0
            }
            if step == 0 || isNextSegment {
                guard !known.hasEnded, event.code == known.code else { return [] }
                known.duration = max(known.duration, event.duration)
                if event.isEnd { told.append(end(&known, clockRate: clockRate)) }
                tone = known
                return told
            }
            // §2.5.2.3: another event says that the one before is over, though its last packets were lost.
            if !known.hasEnded { told.append(end(&known, clockRate: clockRate)) }
        }
        var new = Tone(code: event.code, volume: event.volume, timestamp: timestamp, duration: event.duration)
        told.append(ReceivedTone(code: event.code, volume: event.volume))
        if event.isEnd { told.append(end(&new, clockRate: clockRate)) }
        tone = new
        return told
    }

    private func end(_ tone: inout Tone, clockRate: UInt32) -> ReceivedTone {
        tone.hasEnded = true
        let ticks = Int64(clamping: tone.earlier + UInt64(tone.duration))
        return ReceivedTone(
            code: tone.code, volume: tone.volume, duration: Interval(ticks: ticks, clockRate: clockRate))
    }
}
