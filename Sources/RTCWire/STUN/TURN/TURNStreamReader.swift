/// Cuts the byte stream of a TURN server into messages: STUN by its length field, channel data by its own with padding
/// (RFC 8656 §12.5). Holds one message that is not complete yet, which the two length fields bound to 64 KiB, or a
/// limit to less: what is larger is passed over and not held.
public struct TURNStreamReader: Sendable {
    /// Nothing that could follow on this stream can be understood any more.
    public enum Failure: Error, Hashable, Sendable {
        /// Neither STUN nor channel data begins here.
        case outOfStep
    }

    private var bytes: [UInt8] = []
    private var start = 0
    private let limit: Int
    /// How much of what is passed over is yet to come. Nothing is held meanwhile.
    private var bytesToSkip = 0
    /// How many messages were passed over because they are larger than this reader takes.
    public private(set) var skipped = 0

    /// - Parameter limit: the largest message that is taken, in bytes; without one, what the length fields can say.
    public init(limit: Int = .max) { self.limit = limit }

    /// Takes what came.
    public mutating func append(_ more: [UInt8]) {
        if start > 0 {
            bytes.removeSubrange(0..<start)
            start = 0
        }
        let passed = min(bytesToSkip, more.count)
        bytesToSkip -= passed
        bytes.append(contentsOf: more[passed...])
    }

    /// Moves the next whole message into `message`, channel data without its padding; false when it is not there yet.
    public mutating func next(into message: inout [UInt8]) throws(Failure) -> Bool {
        while let (size, useful) = try Self.measure(bytes.span.bytes.extracting(start..<bytes.count)) {
            guard size <= limit else {
                skip(size)
                continue
            }
            guard bytes.count - start >= size else { return false }
            message.removeAll(keepingCapacity: true)
            message.append(contentsOf: bytes[start..<start + useful])
            start += size
            return true
        }
        return false
    }

    /// Its end is known, and what follows it begins there.
    private mutating func skip(_ size: Int) {
        let here = min(size, bytes.count - start)
        start += here
        bytesToSkip = size - here
        skipped += 1
    }

    /// The size of the message that begins here, and how much of it is not padding; nil while that cannot be told.
    private static func measure(_ rest: RawSpan) throws(Failure) -> (size: Int, useful: Int)? {
        guard rest.byteCount >= ChannelDataHeader.size else { return nil }
        if let header = ChannelDataHeader(rest) {
            return (header.paddedSize, ChannelDataHeader.size + Int(header.length))
        }
        if let first = rest.byte(at: 0), first < 4, let length = rest.uint16(at: 2), length % 4 == 0 {
            // Without the cookie a length says nothing.
            guard rest.byteCount >= 8 else { return nil }
            guard rest.uint32(at: 4) == STUNMessage.magicCookie else { throw .outOfStep }
            return (STUNMessage.headerSize + Int(length), STUNMessage.headerSize + Int(length))
        }
        throw .outOfStep
    }
}
