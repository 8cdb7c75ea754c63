public import RTCEngine
import RTCWire

/// Numbers the packets of one subscription: whatever is switched, left out or lost on the way in, the subscriber sees
/// one stream whose sequence numbers have no gap but for packets that the publisher's path lost, whose timestamps grow,
/// and whose picture ids do not repeat.
///
/// A **segment** is a stretch of one published stream, from a packet that `begin` names to the next `begin` or `close`.
/// In it packets take one place after the other, and those that are left out take none. A packet that has not come yet
/// keeps its place: when it comes late, it is sent there. If it turns out not to be for this subscriber, padding is
/// sent there, since the subscriber would ask for an empty place again and again.
///
/// For some time it is remembered what was changed at each place, so that a packet can be sent again exactly as it was.
///
/// What each packet calls is `mutating` here and in `LayerSelector` even where it changes nothing: another method would
/// be given a copy.
public struct StreamRewriter: Sendable {
    /// Which layers a subscriber got at some moment, in a form that only its selector understands.
    public typealias Admission = UInt16

    private enum Use: UInt8 {
        case empty
        /// Kept for a packet that has not come.
        case awaited
        /// Kept for a packet that would be of no use any more: if it comes, padding is sent instead.
        case forsaken
        case sent
        case padded
    }

    private struct Place {
        /// The low bits of the incoming sequence.
        var incoming: UInt32 = 0
        var timestampOffset: UInt32 = 0
        var offsets = PictureOffsets()
        var admission: Admission = 0
        /// When it was last sent again, in milliseconds, wrapping; has a meaning only when `resends` is not 0.
        var resentAt: UInt16 = 0
        var resends: UInt8 = 0
        var layer: UInt8 = 0
        var use = Use.empty
        var marker = false
    }

    /// A stretch of one published stream.
    private struct Segment {
        var layer: UInt8
        var firstIncoming: Int64
        var firstOutgoing: Int64
        var highestIncoming: Int64
        /// The first place after the segment, once another has begun.
        var end = Int64.max

        func holds(_ sequence: Int64, of layer: UInt8) -> Bool {
            layer == self.layer && sequence >= firstIncoming && sequence <= highestIncoming
        }
    }

    /// Where a packet stands in the stream that is forwarded.
    public enum Standing: Equatable {
        /// After all that came before it; some may be missing in between.
        case next
        /// Its place was kept.
        case late(Int64)
        /// Of another stream, or of before the segment's begin: not part of what is forwarded.
        case outside
        /// It came before, or was left out, or so long ago that nothing is known of it.
        case past
        /// So far ahead that the stream must have begun anew.
        case jump
    }

    // The fields that each packet needs come first, so that they share cache lines: see `PeerMachine`.
    private var places: [Place]
    private let mask: Int64
    private var next: Int64
    /// The place after the last packet of media that came in order. Of the places that are kept beyond it, it is not
    /// known which pictures their packets are of.
    private var settled: Int64
    private var segment: Segment?
    private var isOpen = false

    // The last numbers that came in, and the offsets that are subtracted from them.
    private var offsets = PictureOffsets()
    private var timestampOffset: UInt32 = 0
    private var last = PictureNumbers()
    private var lastFrameNumber: UInt16?
    /// The highest timestamp that went out or was left out, and when its first packet came.
    private var lastTimestamp: UInt32?
    private var lastTimestampAt = Instant.zero

    /// When more packets than this are missing in a row, the publisher has begun its numbers anew, and no places are
    /// kept.
    public let maximumGap: Int64
    public let clockRate: UInt32
    private let begun: Int64
    /// The segments before the present one, in their order: a packet may come late after more than one switch.
    private var earlier: [Segment] = []
    private static let mostEarlier = 4
    /// When the publisher's time stamps were last seen to begin anew; nil if they never were.
    private var clockBegan: Instant?
    private var lastLayer: UInt8 = 0

    /// How often one packet is sent again: a small request can ask for many packets, and receivers ask ten times at
    /// most.
    private static let maximumResends = 10

    /// - Parameters:
    ///   - capacity: for how many packets it is remembered what they became; rounded up to a power of two, at least 64.
    ///   - firstSequenceNumber: at random (RFC 3550 §5.1).
    public init(capacity: Int, clockRate: UInt32, firstSequenceNumber: UInt16) {
        var size = 64
        while size < min(capacity, 16_384) { size *= 2 }
        self.init(capacity: size, clockRate: clockRate, begunAt: Int64(firstSequenceNumber) + 0x1_0000)
    }

    /// The end of a stream, for another one that continues it.
    struct End {
        fileprivate let capacity: Int
        fileprivate let clockRate: UInt32
        fileprivate let next: Int64
        fileprivate let offsets: PictureOffsets
        fileprivate let timestampOffset: UInt32
        fileprivate let last: PictureNumbers
        fileprivate let lastFrameNumber: UInt16?
        fileprivate let lastTimestamp: UInt32?
        fileprivate let lastTimestampAt: Instant
    }

    var end: End {
        End(
            capacity: places.count, clockRate: clockRate, next: next, offsets: offsets,
            timestampOffset: timestampOffset, last: last, lastFrameNumber: lastFrameNumber,
            lastTimestamp: lastTimestamp, lastTimestampAt: lastTimestampAt)
    }

    /// Continues a stream that has ended, with the same SSRC: the next sequence number follows, and the time stamp
    /// grows by the time that has passed. Packets of before can no longer be asked for.
    init(continuing end: End) {
        self.init(capacity: end.capacity, clockRate: end.clockRate, begunAt: end.next)
        offsets = end.offsets
        timestampOffset = end.timestampOffset
        last = end.last
        lastFrameNumber = end.lastFrameNumber
        lastTimestamp = end.lastTimestamp
        lastTimestampAt = end.lastTimestampAt
        // The last time stamp is of another publication, whose clock cannot be compared with this one's layers.
        lastLayer = .max
    }

    private init(capacity: Int, clockRate: UInt32, begunAt begun: Int64) {
        places = [Place](repeating: Place(), count: capacity)
        mask = Int64(capacity - 1)
        maximumGap = Int64(capacity / 2)
        self.clockRate = clockRate
        self.begun = begun
        next = begun
        settled = begun
    }

    public static func forVideo(firstSequenceNumber: UInt16) -> StreamRewriter {
        StreamRewriter(capacity: 1_024, clockRate: 90_000, firstSequenceNumber: firstSequenceNumber)
    }

    public static func forAudio(clockRate: UInt32, firstSequenceNumber: UInt16) -> StreamRewriter {
        StreamRewriter(capacity: 64, clockRate: clockRate, firstSequenceNumber: firstSequenceNumber)
    }

    /// Whether anything was sent.
    public var hasBegun: Bool { next > begun }
    /// The stream that is forwarded; nil before `begin` and after `close`.
    public var layer: UInt8? { isOpen ? segment?.layer : nil }

    /// Prefetches the place that the next packet will take.
    mutating func prefetch() {
        places.withUnsafeBufferPointer { places in
            guard let first = places.baseAddress else { return }
            Prefetch.bytes(UnsafeRawPointer(first) - 32, lines: 1)
            Prefetch.bytes(UnsafeRawPointer(first + index(next)), lines: 1)
        }
    }

    // MARK: Standing

    public mutating func standing(layer: UInt8, sequence: Int64) -> Standing {
        if isOpen, let segment, segment.layer == layer, sequence >= segment.firstIncoming {
            if sequence > segment.highestIncoming {
                return sequence - segment.highestIncoming > maximumGap ? .jump : .next
            }
            return find(sequence, in: segment)
        }
        // A packet of an earlier segment may come after the switch to another one.
        if let segment, segment.holds(sequence, of: layer) { return find(sequence, in: segment) }
        for segment in earlier.reversed() where segment.holds(sequence, of: layer) {
            return find(sequence, in: segment)
        }
        return .outside
    }

    /// The places of a segment are in the order of the incoming numbers, so a binary search finds one.
    private mutating func find(_ sequence: Int64, in segment: Segment) -> Standing {
        var low = max(segment.firstOutgoing, next - Int64(places.count))
        let end = min(segment.end, next)
        var high = end
        let wanted = UInt32(truncatingIfNeeded: sequence - segment.firstIncoming)
        let base = UInt32(truncatingIfNeeded: segment.firstIncoming)
        while low < high {
            let middle = (low + high) / 2
            if places[index(middle)].incoming &- base < wanted { low = middle + 1 } else { high = middle }
        }
        guard low < end else { return .past }
        let place = places[index(low)]
        guard place.incoming == UInt32(truncatingIfNeeded: sequence), place.use == .awaited || place.use == .forsaken
        else {
            return .past
        }
        return .late(low)
    }

    private func index(_ outgoing: Int64) -> Int { Int(truncatingIfNeeded: outgoing & mask) }

    /// What the subscriber got when the place was kept.
    public func admission(at place: Int64) -> Admission { places[index(place)].admission }

    // MARK: In order

    /// Begins a segment at `packet`, which has to be sent next: the first of all, the first of another stream, or the
    /// first after a pause. Of pictures it starts a key frame.
    public mutating func begin(_ packet: PublishedPacket, clocks: [LayerClock], at now: Instant) {
        if let lastTimestamp {
            // Each counter goes on one after the last one that was sent, or that an awaited packet may be sent with.
            let out = offsets
            let numbers = packet.video.numbers
            if numbers.pictureIDPlace > 0 {
                offsets.pictureID = numbers.pictureID &- (last.pictureID &- out.pictureID &+ 1)
            }
            if numbers.temporalBasePlace > 0 {
                offsets.temporalBase = numbers.temporalBase &- (last.temporalBase &- out.temporalBase &+ 1)
            }
            if numbers.keyIndexPlace > 0 {
                offsets.keyIndex = numbers.keyIndex &- (last.keyIndex &- out.keyIndex &+ 1)
            }
            if packet.video.scheme == .dependency, let lastFrameNumber {
                offsets.frameNumber =
                    packet.video.dependency.frameNumber &- (lastFrameNumber &- out.frameNumber &+ 1)
            }
            let timestamp = nextTimestamp(packet, after: lastTimestamp, clocks, at: now)
            timestampOffset = packet.timestamp &- timestamp
        }
        remember(packet)
        // Packets that are still awaited could be of pictures whose numbers and times the new segment uses now, so they
        // will not be sent. Only remembered places have to be looked at.
        for place in max(settled, next - Int64(places.count))..<next where places[index(place)].use == .awaited {
            places[index(place)].use = .forsaken
        }
        if var segment {
            segment.end = min(segment.end, next)
            if earlier.count == Self.mostEarlier { earlier.removeFirst() }
            earlier.append(segment)
        }
        segment = Segment(
            layer: packet.layer, firstIncoming: packet.sequence, firstOutgoing: next,
            highestIncoming: packet.sequence - 1)
        isOpen = true
    }

    /// Forwards nothing until the next `begin`. What was sent can still be asked for.
    public mutating func close() { isOpen = false }

    /// Whether packets before this one, the next of the segment, are missing.
    public mutating func followsGap(_ sequence: Int64) -> Bool {
        segment.map { sequence > $0.highestIncoming + 1 } ?? false
    }

    /// The next packet of the segment has come: places are kept for those before it that have not.
    ///
    /// - Parameter admission: what the subscriber got before this packet.
    public mutating func reach(_ sequence: Int64, admission: Admission) {
        guard let segment else { return }
        var missing = segment.highestIncoming + 1
        while missing < sequence {
            keep(missing, segment.layer, .awaited, admission)
            missing += 1
        }
        self.segment?.highestIncoming = sequence - 1
    }

    /// Sends the next packet of the segment, which `reach` or `begin` was told of.
    public mutating func send(
        _ packet: PublishedPacket, marker: Bool, admission: Admission, at now: Instant
    ) -> OutgoingPacket {
        remember(packet)
        noteTimestamp(packet, at: now)
        let place = next
        segment?.highestIncoming = packet.sequence
        keep(packet.sequence, packet.layer, .sent, admission)
        settled = next
        places[index(place)].marker = marker
        return outgoing(place, packet)
    }

    /// Leaves out the next packet of the segment: it takes no place.
    ///
    /// - Parameter leavesOutPicture: its whole picture is left out, so its picture id is not used either.
    public mutating func skip(_ packet: PublishedPacket, leavesOutPicture: Bool, at now: Instant) {
        let numbers = packet.video.numbers
        if leavesOutPicture, numbers.pictureIDPlace > 0, numbers.pictureID != last.pictureID {
            offsets.pictureID &+= 1
        }
        if !packet.isPadding {
            remember(packet)
            // Time goes on over what is left out, and so does `settled`.
            noteTimestamp(packet, at: now)
            settled = next
        }
        segment?.highestIncoming = packet.sequence
    }

    private mutating func keep(_ incoming: Int64, _ layer: UInt8, _ use: Use, _ admission: Admission) {
        places[index(next)] = Place(
            incoming: UInt32(truncatingIfNeeded: incoming), timestampOffset: timestampOffset, offsets: offsets,
            admission: admission, layer: layer, use: use)
        next += 1
    }

    /// Notes the counters of a packet. Called for packets in their order only.
    private mutating func remember(_ packet: PublishedPacket) {
        let numbers = packet.video.numbers
        if numbers.pictureIDPlace > 0 { last.pictureID = numbers.pictureID }
        if numbers.temporalBasePlace > 0 { last.temporalBase = numbers.temporalBase }
        if numbers.keyIndexPlace > 0 { last.keyIndex = numbers.keyIndex }
        if packet.video.scheme == .dependency { lastFrameNumber = packet.video.dependency.frameNumber }
    }

    /// Makes a packet that the publisher has not sent, after all others, while no segment is open. It is not kept, so
    /// it cannot be asked for.
    ///
    /// - Parameter due: when it is to be sent.
    /// - Returns: its numbers; nil while a segment is open, and before anything was sent.
    mutating func insert(samples: Int, due: Instant) -> OutgoingPacket? {
        guard !isOpen, let last = lastTimestamp else { return nil }
        // This place does not belong to the segment, whose places `find` searches in the order of the incoming numbers.
        if let end = segment?.end { segment?.end = min(end, next) }
        let step = min(max(elapsed(at: due), Int64(samples)), Self.longestStep)
        let timestamp = last &+ UInt32(truncatingIfNeeded: step)
        lastTimestamp = timestamp
        lastTimestampAt = due
        let place = next
        places[index(place)] = Place()
        next += 1
        return OutgoingPacket(
            sequenceNumber: UInt16(truncatingIfNeeded: place), timestamp: timestamp, marker: false, isPadding: false,
            offsets: PictureOffsets())
    }

    /// Likewise a padding packet. It may be the first packet of all: then it sets the first time stamp, to any value.
    mutating func insertPadding(at now: Instant) -> OutgoingPacket? {
        if lastTimestamp == nil {
            lastTimestamp = UInt32(truncatingIfNeeded: begun) << 16
            lastTimestampAt = now
            lastLayer = .max
        }
        var out = insert(samples: 1, due: now)
        out?.isPadding = true
        return out
    }

    // MARK: Late

    /// Sends a late packet at the place that was kept for it; or padding, where that place is of no use any more.
    public mutating func fill(_ place: Int64, with packet: PublishedPacket, marker: Bool) -> OutgoingPacket {
        guard places[index(place)].use == .awaited else { return pad(place, with: packet) }
        places[index(place)].use = .sent
        places[index(place)].marker = marker
        return outgoing(place, packet)
    }

    /// A packet whose place was kept is not for this subscriber: the place is filled with padding.
    public mutating func pad(_ place: Int64, with packet: PublishedPacket) -> OutgoingPacket {
        places[index(place)].use = .padded
        return outgoing(place, packet)
    }

    private mutating func outgoing(_ place: Int64, _ packet: PublishedPacket) -> OutgoingPacket {
        let kept = places[index(place)]
        let isPadding = kept.use == .padded
        return OutgoingPacket(
            sequenceNumber: UInt16(truncatingIfNeeded: place), timestamp: packet.timestamp &- kept.timestampOffset,
            marker: kept.marker && !isPadding, isPadding: isPadding, offsets: kept.offsets)
    }

    // MARK: Time

    /// The time stamp grows by no more than this at a time, however long a pause was. It has 32 bits (RFC 3550 §5.1):
    /// one that is ahead by half of their range, 6.6 hours for video, is taken for an earlier one, here and by
    /// receivers.
    private static let longestStep = Int64(1) << 30

    /// The outgoing time stamp of a segment's first packet: `last` and the time between the two packets.
    private mutating func nextTimestamp(
        _ packet: PublishedPacket, after last: UInt32, _ clocks: [LayerClock], at now: Instant
    ) -> UInt32 {
        let elapsed = elapsed(at: now)
        // The stream's own time stamps, or sender reports where the stream is another one, tell that time exactly. They
        // are used if they agree with the times of arrival within five seconds; the time of arrival is used otherwise,
        // since a publisher that was muted may have stopped its clock.
        let tolerance = 5 * Int64(clockRate)
        var known: Int64?
        let (old, new) = (Int(lastLayer), Int(packet.layer))
        if lastLayer == packet.layer {
            known = Int64(Int32(bitPattern: packet.timestamp &- timestampOffset &- last))
        } else if old < clocks.count, new < clocks.count {
            known = clocks[new].ticks(from: last &+ timestampOffset, of: clocks[old], to: packet.timestamp)
        }
        var step = elapsed
        if let known {
            if abs(known - elapsed) <= tolerance { step = known } else { clockBegan = now }
        }
        // The new layer's picture may be of the same moment or an earlier one; the time stamp grows by one tick then.
        return last &+ UInt32(truncatingIfNeeded: min(max(step, 1), Self.longestStep))
    }

    /// The time since the last outgoing time stamp, in ticks.
    private func elapsed(at now: Instant) -> Int64 { LayerClock.ticks(now - lastTimestampAt, clockRate: clockRate) }

    /// Notes the highest time stamp. Where one goes back by more than a second, which no reordering of pictures
    /// explains, the publisher's clock has begun anew, and the outgoing time stamps go on by the time of arrival.
    private mutating func noteTimestamp(_ packet: PublishedPacket, at now: Instant) {
        guard let last = lastTimestamp else {
            lastTimestamp = packet.timestamp &- timestampOffset
            lastTimestampAt = now
            lastLayer = packet.layer
            return
        }
        var out = packet.timestamp &- timestampOffset
        if Int32(bitPattern: out &- last) < -Int32(clockRate) {
            out = last &+ UInt32(truncatingIfNeeded: min(max(elapsed(at: now), 1), Self.longestStep))
            timestampOffset = packet.timestamp &- out
            clockBegan = now
        }
        if Int32(bitPattern: out &- last) > 0 {
            lastTimestamp = out
            lastTimestampAt = now
            lastLayer = packet.layer
        }
    }

    /// The time stamp of a publisher's sender report in the subscriber's stream, for our own sender reports (RFC 3550
    /// §6.4.1). Nil for a stream that is not forwarded, and for a report from before the clock began anew.
    public func translated(_ report: SenderClock, layer: Int) -> UInt32? {
        guard let segment, Int(segment.layer) == layer, hasBegun, clockBegan.map({ report.receivedAt > $0 }) ?? true
        else { return nil }
        return report.timestamp &- timestampOffset
    }

    /// The last sequence number that was sent or is kept for a packet.
    public var lastSequenceNumber: UInt16 { UInt16(truncatingIfNeeded: next - 1) }
}

// MARK: - Repair

extension StreamRewriter {
    /// The published packet that a subscriber misses, and its place.
    public struct Missed: Sendable, Equatable {
        public var layer: UInt8
        /// The low bits of its sequence.
        public var incoming: UInt32
        let place: Int64
    }

    /// The packet that a subscriber asks for by NACK (RFC 4585 §6.2.1). Nil where nothing is to be sent: the number is
    /// not known any more, the packet has not come itself, it was sent again less than a round trip ago, or too often.
    public mutating func missed(_ sequenceNumber: UInt16, roundTrip: Interval, at now: Instant) -> Missed? {
        let step = SequenceNumber.distance(from: UInt16(truncatingIfNeeded: next - 1), to: sequenceNumber)
        let outgoing = next - 1 + Int64(step)
        guard outgoing >= begun, outgoing < next, next - outgoing <= Int64(places.count) else { return nil }
        let index = index(outgoing)
        guard places[index].use == .sent || places[index].use == .padded,
            places[index].resends < Self.maximumResends
        else { return nil }
        let milliseconds = UInt16(truncatingIfNeeded: now.nanoseconds / 1_000_000)
        if places[index].resends > 0,
            Int64(milliseconds &- places[index].resentAt) * 1_000_000 < roundTrip.nanoseconds
        {
            return nil
        }
        places[index].resends += 1
        places[index].resentAt = milliseconds
        return Missed(layer: places[index].layer, incoming: places[index].incoming, place: outgoing)
    }

    /// The packet as it was sent.
    public mutating func again(_ missed: Missed, _ packet: PublishedPacket) -> OutgoingPacket {
        outgoing(missed.place, packet)
    }
}
