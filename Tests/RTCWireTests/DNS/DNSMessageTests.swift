import RTCWire
import Testing

/// Questions and answers of multicast DNS.
@Suite struct DNSMessageTests {
    private static let name = "1f4712db-ea17-4bcf-a596-105139dfd8bf.local"
    private static let label = [36] + [UInt8]("1f4712db-ea17-4bcf-a596-105139dfd8bf".utf8)
    private static let local: [UInt8] = [5] + [UInt8]("local".utf8) + [0]
    /// A response without questions, with these numbers of answers, authorities and additional records.
    private static func head(_ answers: UInt8, _ authorities: UInt8 = 0, _ additional: UInt8 = 0) -> [UInt8] {
        [0, 0, 0x84, 0, 0, 0, 0, answers, 0, authorities, 0, additional]
    }

    private static let a: [UInt8] = [0, 1, 0x80, 1, 0, 0, 0, 120, 0, 4, 192, 0, 2, 7]
    private static let address = DNSMessage.Address(name: name, address: .v4(0xc000_0207), timeToLive: 120)

    private func parse(_ bytes: [UInt8]) throws -> DNSMessage { try DNSMessage(parsing: bytes.span.bytes) }

    @Test func `a question as RFC 6762 §5.1 has it`() {
        #expect(
            DNSMessage.query(Self.name, .aaaa, id: 0x1234) == [0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] + Self.label
                + Self.local + [0, 28, 0, 1])
    }

    @Test(arguments: [
        "", ".local", "a..local", String(repeating: "a", count: 64), String(repeating: "abc.", count: 64),
    ])
    func `a name that DNS cannot carry is not asked for`(name: String) {
        #expect(DNSMessage.query(name, .a, id: 0) == nil)
    }

    @Test func `an answer to everybody, with the bit that forgets what was known`() throws {
        let message = try parse(Self.head(1) + Self.label + Self.local + Self.a)
        #expect(message == DNSMessage(id: 0, addresses: [Self.address]))
    }

    @Test func `an answer to a one-shot query repeats its number and its question, and points back to the name`() throws
    {
        let bytes: [UInt8] =
            [0x12, 0x34, 0x84, 0, 0, 1, 0, 1, 0, 0, 0, 0] + Self.label + Self.local + [0, 1, 0, 1]
            + [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 120, 0, 4, 192, 0, 2, 7]
        #expect(try parse(bytes) == DNSMessage(id: 0x1234, addresses: [Self.address]))
    }

    @Test func `both families, from answers and additional records; NSEC and others are stepped over`() throws {
        let place = UInt8(12)
        let v6 = [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [9]
        let nsec: [UInt8] = [0xc0, place, 0, 47, 0x80, 1, 0, 0, 0, 120, 0, 5, 0xc0, place, 0, 1, 0x40]
        let service: [UInt8] =
            [4] + [UInt8]("a é".utf8) + [0xc0, place + 37, 0, 16, 0, 1, 0, 0, 0, 1, 0, 1, 0]
        let bytes: [UInt8] =
            Self.head(2, 1, 2) + Self.label + Self.local + Self.a + service + nsec
            + [0xc0, place, 0, 28, 0, 1, 0, 0, 0, 9, 0, 16] + v6 + [0xc0, place, 0, 255, 0, 3, 0, 0, 0, 9, 0, 0]
        let message = try parse(bytes)
        #expect(
            message.addresses == [
                Self.address,
                DNSMessage.Address(name: Self.name, address: .v6(0x2001_0db8_0000_0000, 9), timeToLive: 9),
            ])
    }

    @Test func `an address among the authorities is none`() throws {
        #expect(try parse(Self.head(0, 1) + Self.label + Self.local + Self.a).addresses == [])
    }

    @Test func `names are the same in either case`() throws {
        let upper = Self.label.map { (97...122).contains($0) ? $0 & 0xdf : $0 }
        #expect(try parse(Self.head(1) + upper + Self.local + Self.a).addresses == [Self.address])
    }

    @Test func `what we write we read`() throws {
        let message = DNSMessage(
            id: 7,
            addresses: [
                Self.address, .init(name: "b.local", address: .v6(1, 2), timeToLive: 0),
            ])
        #expect(try parse(#require(message.encoded())) == message)
    }

    @Test func `no part of a message is a message, and neither is more than one`() throws {
        let whole = Self.head(1) + Self.label + Self.local + Self.a
        for count in whole.indices {
            #expect(throws: DNSMessage.ParseError.self) { try parse([UInt8](whole[..<count])) }
        }
        #expect(throws: DNSMessage.ParseError.length) { try parse(whole + [0]) }
    }

    static let bad: [([UInt8], DNSMessage.ParseError)] = [
        // A question, another operation, an error.
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], .notAnAnswer), ([0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0], .notAnAnswer),
        ([0, 0, 0x84, 3, 0, 0, 0, 0, 0, 0, 0, 0], .notAnAnswer),
        (head(60, 5), .tooManyRecords), ([0, 0, 0x84, 0, 255, 255, 255, 255, 255, 255, 255, 255], .tooManyRecords),
        // A pointer to itself, forward, and two that point at each other.
        (head(1) + [0xc0, 12] + a, .name), (head(1) + [0xc0, 14] + a, .name), (head(1) + [0xff, 0xff] + a, .name),
        (head(1) + [1, 97, 0xc0, 12] + a, .name), (head(1) + [0xc0, 14, 0xc0, 12] + a, .name),
        // The reserved kinds of labels, and names without end.
        (head(1) + [0x40, 1] + a, .name), (head(1) + [0x80] + a, .name),
        (head(1) + [UInt8](repeating: 1, count: 300) + [0] + a, .name),
        // Addresses of other lengths.
        (head(1) + label + local + [0, 1, 0, 1, 0, 0, 0, 120, 0, 3, 192, 0, 2], .address),
        (head(1) + label + local + [0, 28, 0, 1, 0, 0, 0, 120, 0, 4, 192, 0, 2, 1], .address),
    ]

    @Test(arguments: bad)
    func `says what is wrong`(bytes: [UInt8], error: DNSMessage.ParseError) {
        #expect(throws: error) { try parse(bytes) }
    }

    @Test func `pointers to pointers end, and cost no more than the message is long`() throws {
        // Each name is a label and a pointer to the one before: the last has 60 labels.
        var bytes = Self.head(60)
        var previous = 0
        for index in 0..<60 {
            let start = bytes.count
            bytes += index == 0 ? [1, 97, 0] : [1, 97, 0xc0 | UInt8(previous >> 8), UInt8(previous & 0xff)]
            bytes += Self.a
            previous = start
        }
        #expect(try parse(bytes).addresses.last?.name.utf8.count == 119)
    }
}
