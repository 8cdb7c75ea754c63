/// Datagrams on a TCP connection: each has its length, as 16 bits, before it (RFC 4571 §2; RFC 6544 §3 has it for STUN,
/// DTLS and SRTP alike). Give it what was read, and take out what is whole. What it holds is less than one datagram and
/// one read.
public struct StreamFraming: Sendable {
    /// What 16 bits can say.
    public static let maximumLength = 0xffff

    private var buffer: [UInt8] = []
    private var start = 0

    public init() {}

    /// Bytes that wait for the rest of their datagram.
    public var held: Int { buffer.count - start }

    /// The connection has brought these bytes.
    public mutating func append(_ bytes: [UInt8]) {
        if start > 0 {
            buffer.removeSubrange(0..<start)
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The next whole datagram; nil when its rest has not come. Empty ones, which mean nothing, are passed over.
    public mutating func next() -> [UInt8]? {
        while let length = buffer.span.bytes.uint16(at: start), held >= 2 + Int(length) {
            let datagram = start + 2..<start + 2 + Int(length)
            start = datagram.upperBound
            if !datagram.isEmpty { return [UInt8](buffer[datagram]) }
        }
        return nil
    }

    /// A datagram as it is written; nil for one that is too long to be.
    public static func frame(_ datagram: [UInt8]) -> [UInt8]? {
        guard let length = UInt16(exactly: datagram.count) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(2 + datagram.count)
        bytes.append(uint16: length)
        bytes += datagram
        return bytes
    }
}
