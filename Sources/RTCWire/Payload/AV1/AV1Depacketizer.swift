/// AV1 RTP payload format §4.4: joins the elements of packets into units of the low-overhead format, each with its
/// size. What is joined is a temporal unit without its delimiter.
struct AV1Depacketizer: Sendable {
    private enum Phase: Sendable, Equatable {
        case betweenUnits
        /// A unit that goes on in the next packet begins at this place of the frame.
        case insideUnit(start: Int)
    }

    private var phase = Phase.betweenUnits
    /// A peer that sends thousands of units of a byte or two would have us move the frame's end for each.
    private static let maximumUnits = 4_096
    private var units = 0

    var isAtUnitBoundary: Bool { phase == .betweenUnits }

    mutating func append(_ payload: RawSpan, to frame: inout [UInt8]) -> Bool {
        if frame.isEmpty { self = AV1Depacketizer() }
        let before = (count: frame.count, state: self)
        // Each element may grow by the bytes of its size.
        guard units <= Self.maximumUnits, frame.count + 4 * payload.byteCount <= Depacketizer.maximumFrameSize,
            appendElements(of: payload, to: &frame)
        else {
            // Nothing before `count` is changed unless the whole payload is sound.
            frame.removeSubrange(before.count...)
            self = before.state
            return false
        }
        return true
    }

    private mutating func appendElements(of payload: RawSpan, to frame: inout [UInt8]) -> Bool {
        guard Self.isSound(payload), let head = AV1AggregationHeader(payload) else { return false }
        switch phase {
        // §4.4: Z continues the unit that Y of the packet before left open; one without the other is a loss.
        case .betweenUnits: guard !head.continues else { return false }
        case .insideUnit: guard head.continues else { return false }
        }
        var reader = AV1ElementReader(payload, head)
        while let element = reader.next() {
            let start: Int
            switch phase {
            case .betweenUnits: start = frame.count
            case .insideUnit(let begun): start = begun
            }
            frame.append(contentsOf: payload.extracting(element))
            if reader.isAtEnd, head.goesOn {
                phase = .insideUnit(start: start)
            } else {
                phase = .betweenUnits
                guard complete(&frame, from: start) else { return false }
            }
        }
        return true
    }

    /// Looks at every unit that is whole in this payload, so that a refusal comes before anything is changed. Only the
    /// unit that an earlier packet began is looked at when it is joined.
    private static func isSound(_ payload: RawSpan) -> Bool {
        guard let head = AV1AggregationHeader(payload) else { return false }
        var reader = AV1ElementReader(payload, head)
        var count = 0
        while let element = reader.next() {
            count += 1
            let isFragment = (count == 1 && head.continues) || (reader.isAtEnd && head.goesOn)
            if isFragment || element.isEmpty { continue }
            var bytes = ByteReader(payload.extracting(element))
            guard let header = OBUHeader(&bytes), skipSize(header, &bytes) else { return false }
        }
        return reader.isAtEnd && count > 0 && (head.count == 0 || head.count == count)
    }

    /// §4.5 recommends to leave the size out. The element's length has said it already, and some senders leave in one
    /// that is wrong: as libwebrtc does, it is read over.
    private static func skipSize(_ header: OBUHeader, _ rest: inout ByteReader) -> Bool {
        guard header.hasSize else { return true }
        return rest.readLEB128() != nil
    }

    /// The unit from `start` to the end is whole: it gets its size, or goes when it is one that RTP does not carry. An
    /// element without a byte is no unit.
    private mutating func complete(_ frame: inout [UInt8], from start: Int) -> Bool {
        guard start < frame.count else { return true }
        units += 1
        var reader = ByteReader(frame.span.bytes.extracting(start..<frame.count))
        guard let header = OBUHeader(&reader), Self.skipSize(header, &reader) else { return false }
        let content = reader.remaining
        if header.kind.isLeftOut {
            frame.removeSubrange(start...)
            return true
        }
        var size: [UInt8] = []
        size.append(leb128: content)
        frame[start] |= 0x02
        frame.replaceSubrange(start + header.byteCount..<frame.count - content, with: size)
        return true
    }

    /// AV1 tells no frame's beginning, but none begins with a fragment's rest.
    static func startsFrame(_ payload: RawSpan) -> Bool {
        guard let head = AV1AggregationHeader(payload) else { return false }
        return !head.continues && payload.byteCount > 1
    }

    static func startsKeyFrame(_ payload: RawSpan) -> Bool {
        guard let head = AV1AggregationHeader(payload), !head.continues else { return false }
        return head.startsSequence
    }
}

/// The byte before the elements of a packet: `Z Y W W N - - -` (§4.4).
struct AV1AggregationHeader {
    /// Z
    var continues: Bool
    /// Y
    var goesOn: Bool
    /// W; 0 when every element has a length.
    var count: Int
    /// N
    var startsSequence: Bool

    /// Nil for an empty payload, and for Z with N, which §4.4 forbids.
    init?(_ payload: RawSpan) {
        guard let byte = payload.byte(at: 0) else { return nil }
        continues = byte & 0x80 != 0
        goesOn = byte & 0x40 != 0
        count = Int(byte >> 4 & 0x03)
        startsSequence = byte & 0x08 != 0
        if continues, startsSequence { return nil }
    }
}

/// Walks the elements of a packet.
struct AV1ElementReader: ~Escapable {
    private var reader: ByteReader
    private let count: Int
    private var index = 0

    @_lifetime(copy payload)
    init(_ payload: RawSpan, _ head: AV1AggregationHeader) {
        reader = ByteReader(payload)
        reader.skip(1)
        count = head.count
    }

    var isAtEnd: Bool { reader.remaining == 0 }

    /// Where the next element lies; nil at the end, and where a length points outside.
    mutating func next() -> Range<Int>? {
        guard reader.remaining > 0, count == 0 || index < count else { return nil }
        index += 1
        var size = reader.remaining
        if index != count {
            guard let told = reader.readLEB128() else { return nil }
            size = told
        }
        let start = reader.offset
        guard reader.skip(size) else { return nil }
        return start..<reader.offset
    }
}
