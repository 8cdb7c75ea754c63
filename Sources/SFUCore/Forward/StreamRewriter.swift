public import RTCEngine
import RTCWire

/// Numbers the packets of one subscription: whatever is switched, left out or lost on the way in, the subscriber sees
/// one stream whose sequence numbers have no gap but for packets that the publisher's path lost, whose timestamps grow,
/// and whose picture ids do not repeat.
///
/// A **segment** is a stretch of one published stream, from a packet that `begin` names to the next `begin` or `close`.
/// In it packets take one place after the other, and those that are left out take none. A packet that has not come yet
/// keeps its place: when it comes late, it is sent there, or, if it is not for this subscriber, padding is, for a place
/// that stays empty would be asked for again and again.
///
/// Every place is remembered for a while with all that was changed, so that a packet is sent again as it was.
public struct StreamRewriter: Sendable {
    /// What of a stream a subscriber got at some moment, in a form that only its selector understands.
    public typealias Admission = UInt16

    private enum Use: UInt8 {
        case empty
        /// Kept for a packet that has not come.
        case awaited
        /// Likewise, and of no use any more: to be filled with padding.
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
        /// In milliseconds, wrapping; of meaning when `resends` is not 0.
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

    // What each packet needs stands first: see `PeerMachine`.
    private var places: [Place]
    private let mask: Int64
    private var next: Int64
    /// The place after the last packet of media: of those that are kept beyond it nobody knows which pictures they are
    /// of.
    private var settled: Int64
    private var segment: Segment?
    private var isOpen = false

    // What was seen last, and what is taken from it on the way out.
    private var offsets = PictureOffsets()
    private var timestampOffset: UInt32 = 0
    private var last = PictureNumbers()
    private var lastFrameNumber: UInt16?
    /// The highest timestamp that went out or was left out, and when its first packet came.
    private var lastTimestamp: UInt32?
    private var lastTimestampAt = Instant.zero

    /// More missing packets than this in a row, and places are not kept: the publisher has begun anew.
    public let maximumGap: Int64
    public let clockRate: UInt32
    private let begun: Int64
    /// The segments before the present one, the last one last: a packet may come after more than one switch.
    private var earlier: [Segment] = []
    private static let mostEarlier = 4
    /// When the stream's clock was seen to have begun anew; nil as long as it has not.
    private var clockBegan: Instant?
    private var lastLayer: UInt8 = 0

    /// A request of a few bytes asks for many packets; receivers ask ten times at most.
    private static let maximumResends = 10

    /// - Parameters:
    ///   - capacity: for how many packets it is remembered what they became; rounded up to a power of two, at least 64.
    ///   - firstSequenceNumber: at random (RFC 3550 §5.1).
    public init(capacity: Int, clockRate: UInt32, firstSequenceNumber: UInt16) {
        var size = 64
        while size < min(capacity, 16_384) { size *= 2 }
        self.init(capacity: size, clockRate: clockRate, begunAt: Int64(firstSequenceNumber) + 0x1_0000)
    }

    /// How far a stream has got, for another one that goes on with it.
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

    /// Goes on where another one has ended, under the same source: numbers by one, and time by as much as has passed.
    /// What went out before can no longer be asked for.
    init(continuing end: End) {
        self.init(capacity: end.capacity, clockRate: end.clockRate, begunAt: end.next)
        offsets = end.offsets
        timestampOffset = end.timestampOffset
        last = end.last
        lastFrameNumber = end.lastFrameNumber
        lastTimestamp = end.lastTimestamp
        lastTimestampAt = end.lastTimestampAt
        // Of no layer of the new publication: their clocks have nothing to do with each other.
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

    /// Anything has been sent.
    public var hasBegun: Bool { next > begun }
    /// The stream that is forwarded; nil before `begin` and after `close`.
    public var layer: UInt8? { isOpen ? segment?.layer : nil }

    /// The place that the next packet takes.
    mutating func prefetch() {
        places.withUnsafeBufferPointer { places in
            guard let first = places.baseAddress else { return }
            Prefetch.bytes(UnsafeRawPointer(first) - 32, lines: 1)
            Prefetch.bytes(UnsafeRawPointer(first + index(next)), lines: 1)
        }
    }

    // MARK: Standing

    public func standing(layer: UInt8, sequence: Int64) -> Standing {
        if isOpen, let segment, segment.layer == layer, sequence >= segment.firstIncoming {
            if sequence > segment.highestIncoming {
                return sequence - segment.highestIncoming > maximumGap ? .jump : .next
            }
            return find(sequence, in: segment)
        }
        // A switch leaves behind packets that are still on their way.
        if let segment, segment.holds(sequence, of: layer) { return find(sequence, in: segment) }
        for segment in earlier.reversed() where segment.holds(sequence, of: layer) {
            return find(sequence, in: segment)
        }
        return .outside
    }

    /// Places of a segment are in the order of what came in, so that one of them is found by halving.
    private func find(_ sequence: Int64, in segment: Segment) -> Standing {
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
            // Numbers go on by one from the last that may have gone out, those of awaited packets among them.
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
        // Their pictures would have the numbers and times that this packet's has.
        // However many places a publisher has left empty, those that are remembered are all there is.
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

    /// Nothing is forwarded until the next `begin`. What was kept stays to be asked for.
    public mutating func close() { isOpen = false }

    /// Whether packets before this one, the next of the segment, are missing.
    public func followsGap(_ sequence: Int64) -> Bool { segment.map { sequence > $0.highestIncoming + 1 } ?? false }

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

    /// Leaves out the next packet of the segment: those after it move up.
    ///
    /// - Parameter leavesOutPicture: the whole picture goes, so that its number goes with it.
    public mutating func skip(_ packet: PublishedPacket, leavesOutPicture: Bool, at now: Instant) {
        let numbers = packet.video.numbers
        if leavesOutPicture, numbers.pictureIDPlace > 0, numbers.pictureID != last.pictureID {
            offsets.pictureID &+= 1
        }
        if !packet.isPadding {
            remember(packet)
            // What comes after it is later than what is still awaited from before it.
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

    /// The numbers that were seen last. Packets come here in order only.
    private mutating func remember(_ packet: PublishedPacket) {
        let numbers = packet.video.numbers
        if numbers.pictureIDPlace > 0 { last.pictureID = numbers.pictureID }
        if numbers.temporalBasePlace > 0 { last.temporalBase = numbers.temporalBase }
        if numbers.keyIndexPlace > 0 { last.keyIndex = numbers.keyIndex }
        if packet.video.scheme == .dependency { lastFrameNumber = packet.video.dependency.frameNumber }
    }

    /// Sends what the publisher has not sent, behind all else and between two segments. It is not kept to be asked for.
    ///
    /// - Parameter due: when it is to go out.
    /// - Returns: where it belongs; nil while a segment goes on, and before anything has been sent.
    mutating func insert(samples: Int, due: Instant) -> OutgoingPacket? {
        guard !isOpen, let last = lastTimestamp else { return nil }
        // Its places are in the order of what came, and this one is none of them.
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

    /// Likewise a packet of padding, also before anything has been sent: the stream's time begins with it, anywhere.
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

    /// Sends a packet whose place was kept; padding, where another stream has begun meanwhile after a place that nobody
    /// knows the picture of.
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

    private func outgoing(_ place: Int64, _ packet: PublishedPacket) -> OutgoingPacket {
        let kept = places[index(place)]
        let isPadding = kept.use == .padded
        return OutgoingPacket(
            sequenceNumber: UInt16(truncatingIfNeeded: place), timestamp: packet.timestamp &- kept.timestampOffset,
            marker: kept.marker && !isPadding, isPadding: isPadding, offsets: kept.offsets)
    }

    // MARK: Time

    /// After a longer pause time goes on by this. A timestamp has 32 bits (RFC 3550 §5.1): what is ahead by half of
    /// them, 6.6 hours of pictures, is taken for earlier, here and by receivers.
    private static let longestStep = Int64(1) << 30

    /// The timestamp of a segment's first packet: after `last` by as much time as lies between the two.
    private mutating func nextTimestamp(
        _ packet: PublishedPacket, after last: UInt32, _ clocks: [LayerClock], at now: Instant
    ) -> UInt32 {
        let elapsed = elapsed(at: now)
        // Reports and the same stream's own clock are exact; they are believed when they agree with the time of arrival
        // about as well as a path's delay allows. A publisher that was muted may have stopped its clock.
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
        // The other layer's picture of the same moment, or one that came sooner: time does not stand still.
        return last &+ UInt32(truncatingIfNeeded: min(max(step, 1), Self.longestStep))
    }

    /// How long after the last timestamp it is now, in ticks.
    private func elapsed(at now: Instant) -> Int64 { LayerClock.ticks(now - lastTimestampAt, clockRate: clockRate) }

    /// Follows the timestamps of a segment. A stream that goes back by more than reordering of its pictures explains
    /// has begun its clock anew, and goes on from the time of arrival.
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

    /// The timestamp of a report as the subscriber knows it, for sender reports of our own (RFC 3550 §6.4.1); nil for
    /// another stream than the one that is forwarded, and for a report of before its clock began anew.
    public func translated(_ report: SenderClock, layer: Int) -> UInt32? {
        guard let segment, Int(segment.layer) == layer, hasBegun, clockBegan.map({ report.receivedAt > $0 }) ?? true
        else { return nil }
        return report.timestamp &- timestampOffset
    }

    /// The last sequence number that went out, or whose place is kept.
    public var lastSequenceNumber: UInt16 { UInt16(truncatingIfNeeded: next - 1) }
}

// MARK: - Repair

extension StreamRewriter {
    /// Which published packet a subscriber misses.
    public struct Missed: Sendable, Equatable {
        public var layer: UInt8
        /// The low bits of its sequence.
        public var incoming: UInt32
        let place: Int64
    }

    /// What a subscriber asks for by NACK (RFC 4585 §6.2.1); nil when it is unknown, was sent again less than a round
    /// trip ago, or so often that once more would not help, or has not come itself.
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
    public func again(_ missed: Missed, _ packet: PublishedPacket) -> OutgoingPacket {
        outgoing(missed.place, packet)
    }
}
