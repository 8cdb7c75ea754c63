/// When packets of a transport arrived (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1). Only arrivals are
/// kept, so that a short packet that claims 65,535 losses costs nothing.
public struct TransportFeedback: Sendable, Hashable {
    /// A packet that arrived.
    public struct Arrival: Sendable, Hashable {
        /// From the base sequence number.
        public var offset: UInt16
        /// Since the arrival before it (the first: since the reference time), in 250 µs. 16 bits on the wire.
        public var delta: Int16

        public init(offset: UInt16, delta: Int16) {
            self.offset = offset
            self.delta = delta
        }
    }

    public var senderSSRC: UInt32
    public var mediaSSRC: UInt32
    /// The sequence number of the first packet that is told about.
    public var baseSequence: UInt16
    /// How many packets are told about; those that are not among `arrivals` did not arrive.
    public var statusCount: UInt16
    /// In 64 ms, 24 bits signed, from an origin that only the receiver knows.
    public var referenceTime: Int32
    /// Counts feedback packets.
    public var feedbackCount: UInt8
    /// In the order of their offsets, each below `statusCount`.
    public var arrivals: [Arrival]

    public init(
        senderSSRC: UInt32, mediaSSRC: UInt32, baseSequence: UInt16, statusCount: UInt16, referenceTime: Int32,
        feedbackCount: UInt8, arrivals: [Arrival]
    ) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
        self.baseSequence = baseSequence
        self.statusCount = statusCount
        self.referenceTime = referenceTime
        self.feedbackCount = feedbackCount
        self.arrivals = arrivals
    }

    /// Nanoseconds of one unit of `Arrival.delta`.
    public static let deltaUnit: Int64 = 250_000
    /// Nanoseconds of one unit of `referenceTime`.
    public static let referenceUnit: Int64 = 64_000_000
}

/// The two-bit symbols of a packet's status (§3.1.1 of the draft); the fourth value is reserved.
enum TransportFeedbackSymbol: UInt8 {
    case notReceived = 0
    case smallDelta = 1
    case largeDelta = 2
}

extension TransportFeedback {
    init?(reading reader: inout ByteReader, senderSSRC: UInt32, mediaSSRC: UInt32) {
        guard let base = reader.readUInt16(), let count = reader.readUInt16(), let reference = reader.readUInt24(),
            let feedbackCount = reader.readUInt8()
        else { return nil }
        self.init(
            senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, baseSequence: base, statusCount: count,
            referenceTime: Int32(bitPattern: reference << 8) >> 8, feedbackCount: feedbackCount, arrivals: [])

        // First the chunks, which say who arrived and how large its delta is; then a delta for each that did.
        var position = 0
        arrivals.reserveCapacity(min(Int(count), reader.remaining))
        while position < Int(count) {
            guard let chunk = reader.readUInt16(),
                Self.read(chunk, at: &position, of: Int(count), room: reader.remaining, into: &arrivals)
            else { return nil }
        }
        var span = arrivals.mutableSpan
        for index in span.indices {
            if span[index].delta == Self.large {
                guard let delta = reader.readUInt16() else { return nil }
                span[index].delta = Int16(bitPattern: delta)
            } else {
                guard let delta = reader.readUInt8() else { return nil }
                span[index].delta = Int16(delta)
            }
        }
        // §3.1: up to three bytes fill the last word. More is a sender whose count does not fit its chunks, so that
        // what was read as deltas were chunks. Pion's interceptor before 0.1.20 does this where packets change places
        // as the numbers begin anew: it tells of some 65,536 that have not come, which 16 bits do not count.
        guard reader.remaining <= Self.mostFilling else { return nil }
    }

    private static let mostFilling = 3
    /// In the place of a delta that has not been read: it has 16 bits.
    private static let large: Int16 = 1

    /// Reads one chunk; false when it is invalid, or names more arrivals than `room` bytes can hold deltas for.
    private static func read(
        _ chunk: UInt16, at position: inout Int, of count: Int, room: Int,
        into arrivals: inout [Arrival]
    ) -> Bool {
        if chunk & 0x8000 == 0 {
            // §3.1.3: a run of 1 to 8,191 times the same symbol.
            let length = min(Int(chunk & 0x1fff), count - position)
            guard let symbol = TransportFeedbackSymbol(rawValue: UInt8(chunk >> 13 & 3)), length > 0 else {
                return false
            }
            if symbol == .notReceived {
                position += length
                return true
            }
            guard arrivals.count + length <= room else { return false }
            let delta = symbol == .largeDelta ? large : 0
            for _ in 0..<length {
                arrivals.append(Arrival(offset: UInt16(truncatingIfNeeded: position), delta: delta))
                position += 1
            }
            return true
        }
        // §3.1.4: a vector of fourteen one-bit or seven two-bit symbols.
        let bits: UInt16 = chunk & 0x4000 == 0 ? 1 : 2
        for index in 0..<(14 / bits) where position < count {
            let raw = chunk >> (14 - bits * (index + 1)) & (bits == 1 ? 1 : 3)
            guard let symbol = TransportFeedbackSymbol(rawValue: UInt8(raw)) else { return false }
            if symbol != .notReceived {
                guard arrivals.count < room else { return false }
                let delta = symbol == .largeDelta ? large : 0
                arrivals.append(Arrival(offset: UInt16(truncatingIfNeeded: position), delta: delta))
            }
            position += 1
        }
        return true
    }
}
