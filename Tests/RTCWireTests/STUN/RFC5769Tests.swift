import Testing

@testable import RTCWire

/// The sample messages of RFC 5769 §2, byte by byte.
@Suite struct RFC5769Tests {
    static let request = hexBytes(
        """
        00010058 2112a442 b7e7a701 bc34d686 fa87dfae
        80220010 5354554e 20746573 7420636c 69656e74
        00240004 6e0001ff
        80290008 932ff9b1 51263b36
        00060009 6576746a 3a683676 59202020
        00080014 9aeaa70c bfd8cb56 781ef2b5 b2d3f249 c1b571a2
        80280004 e57a3bcf
        """)
    static let responseIPv4 = hexBytes(
        """
        0101003c 2112a442 b7e7a701 bc34d686 fa87dfae
        8022000b 74657374 20766563 746f7220
        00200008 0001a147 e112a643
        00080014 2b91f599 fd9e90c3 8c7489f9 2af9ba53 f06be7d7
        80280004 c07d4c96
        """)
    static let responseIPv6 = hexBytes(
        """
        01010048 2112a442 b7e7a701 bc34d686 fa87dfae
        8022000b 74657374 20766563 746f7220
        00200014 0002a147 0113a9fa a5d3f179 bc25f4b5 bed2b9d9
        00080014 a382954e 4be67bf1 1784c97c 8292c275 bfe3ed41
        80280004 c8fb0b4c
        """)
    static let longTerm = hexBytes(
        """
        00010060 2112a442 78ad3433 c6ad72c0 29da412e
        00060012 e3839ee3 8388e383 aae38383 e382afe3 82b90000
        0015001c 662f2f34 39396b39 35346436 4f4c3334 6f4c3946 53547679 36347341
        0014000b 6578616d 706c652e 6f726700
        00080014 f6702465 6dd64a3e 02b8e071 2e85c9a2 8ca89666
        """)

    static let password = HMACSHA1(password: "VOkJxbRl1RmTxUk/WvJxBt")
    static let transaction = STUNTransactionID(high: 0xb7e7_a701, low: 0xbc34_d686_fa87_dfae)

    @Test func `2.1, the request`() throws {
        let message = try STUNMessage(parsing: Self.request.span.bytes)
        #expect(message.kind == .request)
        #expect(message.method == .binding)
        #expect(message.transactionID == Self.transaction)
        #expect(
            message.attributes == [
                .software("STUN test client"), .priority(0x6e00_01ff),
                .iceControlled(tieBreaker: 0x932f_f9b1_5126_3b36), .username("evtj:h6vY"),
            ])
        #expect(message.hasFingerprint)
        #expect(message.isAuthentic(in: Self.request, key: Self.password))
        #expect(!message.isAuthentic(in: Self.request, key: HMACSHA1(password: "wrong")))
    }

    @Test func `2.2, the response with IPv4`() throws {
        let message = try STUNMessage(parsing: Self.responseIPv4.span.bytes)
        #expect(message.kind == .success)
        #expect(message.reflexiveAddress == TransportAddress(.v4(0xc000_0201), port: 32_853))
        #expect(message.attributes.contains(.software("test vector")))
        #expect(message.hasFingerprint)
        #expect(message.isAuthentic(in: Self.responseIPv4, key: Self.password))
    }

    @Test func `2.3, the response with IPv6`() throws {
        let message = try STUNMessage(parsing: Self.responseIPv6.span.bytes)
        let ip = IPAddress.v6(0x2001_0db8_1234_5678, 0x0011_2233_4455_6677)
        #expect(message.reflexiveAddress == TransportAddress(ip, port: 32_853))
        #expect(message.hasFingerprint)
        #expect(message.isAuthentic(in: Self.responseIPv6, key: Self.password))
    }

    @Test func `2.4, the request with a long-term credential`() throws {
        let message = try STUNMessage(parsing: Self.longTerm.span.bytes)
        #expect(message.username == "\u{30de}\u{30c8}\u{30ea}\u{30c3}\u{30af}\u{30b9}")
        #expect(message.attributes.contains(.realm("example.org")))
        #expect(message.attributes.contains(.nonce(Array("f//499k954d6OL34oL9FSTvy64sA".utf8))))
        #expect(message.integrityOffset == 20 + 24 - 0 + 32 + 16)
        #expect(!message.hasFingerprint)
    }

    @Test func `our writer says the same, but for the padding's value`() throws {
        // RFC 5769 pads with blanks; zeros are what RFC 8489 §14 asks for. Values without padding are identical.
        var message = STUNMessage(.request, transactionID: Self.transaction)
        message.attributes = [.software("STUN test client"), .priority(0x6e00_01ff)]
        let written = message.encoded(key: Self.password)
        #expect(written.prefix(48).dropFirst(4) == Self.request.prefix(48).dropFirst(4))
        let again = try STUNMessage(parsing: written.span.bytes)
        #expect(again.attributes == message.attributes)
        #expect(again.isAuthentic(in: written, key: Self.password))
    }
}
