/// A DNS message as multicast DNS has it (RFC 6762 §18, RFC 1035 §4): one question, or answers that hold addresses.
/// Whatever else a message may carry is stepped over.
public struct DNSMessage: Hashable, Sendable {
    /// What is asked for (RFC 1035 §3.2.2, RFC 3596 §2.1).
    public enum RecordType: UInt16, Hashable, Sendable, CaseIterable {
        case a = 1
        case aaaa = 28
    }

    /// An address record.
    public struct Address: Hashable, Sendable {
        /// Lower case, with dots and without the last one.
        public var name: String
        public var address: IPAddress
        /// Seconds; 0 takes the record back (RFC 6762 §10.1).
        public var timeToLive: UInt32

        public init(name: String, address: IPAddress, timeToLive: UInt32) {
            self.name = name
            self.address = address
            self.timeToLive = timeToLive
        }
    }

    /// Why bytes are not an answer that could be used.
    public enum ParseError: Error, Hashable, Sendable {
        /// It ends before what it announces, or goes on behind it.
        case length
        /// A question, another operation, or an error (RFC 6762 §18.2, §18.3, §18.11: to be ignored).
        case notAnAnswer
        /// More records than any honest answer about a host has.
        case tooManyRecords
        /// A label or a name is too long, a pointer leads nowhere, or a character has no place in a host's name.
        case name
        /// An address of another length than its type has.
        case address
    }

    /// RFC 1035 §4.1.1. Multicast answers have 0; those to a one-shot query repeat its number (RFC 6762 §6.7).
    public var id: UInt16
    /// The addresses told, in the message's order: answers first, then additional records.
    public var addresses: [Address]

    /// RFC 1035 §3.1: bytes of a name, with its length bytes.
    static let maximumNameLength = 255
    static let maximumLabelLength = 63
    static let maximumRecords = 64
    /// RFC 1035 §3.2.4.
    static let classIN: UInt16 = 1

    public init(id: UInt16, addresses: [Address]) {
        self.id = id
        self.addresses = addresses
    }

    // MARK: Asking

    /// A question for the addresses of one family of a name (RFC 6762 §5.1). One a message: some responders, Chromium's
    /// among them, read no more. Nil for a name that DNS cannot carry.
    public static func query(_ name: String, _ type: RecordType, id: UInt16) -> [UInt8]? {
        guard let encoded = encode(name) else { return nil }
        var bytes: [UInt8] = []
        bytes.append(uint16: id)
        // RFC 6762 §18: all flags are zero in a query. Then one question, and no records.
        bytes.append(uint16: 0)
        for count in [1, 0, 0, 0] as [UInt16] { bytes.append(uint16: count) }
        bytes += encoded
        bytes.append(uint16: type.rawValue)
        // RFC 6762 §5.4: without the bit that asks for a unicast answer, which a one-shot query gets by its port.
        bytes.append(uint16: classIN)
        return bytes
    }

    /// The answer that a responder would give, uncompressed (RFC 6762 §6). Nil for a name that DNS cannot carry.
    public func encoded() -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.append(uint16: id)
        // RFC 6762 §18.2, §18.4: a response, authoritative.
        bytes.append(uint16: 0x8400)
        guard let count = UInt16(exactly: addresses.count) else { return nil }
        for count in [0, count, 0, 0] { bytes.append(uint16: count) }
        for record in addresses {
            guard let name = Self.encode(record.name) else { return nil }
            bytes += name
            switch record.address {
            case .v4(let value):
                bytes.append(uint16: RecordType.a.rawValue)
                bytes.append(uint16: Self.classIN)
                bytes.append(uint32: record.timeToLive)
                bytes.append(uint16: 4)
                bytes.append(uint32: value)
            case .v6(let high, let low):
                bytes.append(uint16: RecordType.aaaa.rawValue)
                bytes.append(uint16: Self.classIN)
                bytes.append(uint32: record.timeToLive)
                bytes.append(uint16: 16)
                bytes.append(uint64: high)
                bytes.append(uint64: low)
            }
        }
        return bytes
    }

    private static func encode(_ name: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        for label in name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            guard (1...maximumLabelLength).contains(label.count) else { return nil }
            bytes.append(UInt8(label.count))
            bytes += label
        }
        bytes.append(0)
        return bytes.count <= maximumNameLength ? bytes : nil
    }
}
