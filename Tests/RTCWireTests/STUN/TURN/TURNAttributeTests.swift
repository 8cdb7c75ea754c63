import Testing

@testable import RTCWire

/// The attributes of RFC 8656 §18 and RFC 8016 §4.1.
@Suite struct TURNAttributeTests {
    private static let id = STUNTransactionID(high: 0x0102_0304, low: 0x0506_0708_090a_0b0c)
    private static let v4 = TransportAddress(.v4(0xc000_0201), port: 32_853)
    private static let v6 = TransportAddress(.v6(0x2001_0db8_1234_5678, 0x0011_2233_4455_6677), port: 32_853)

    @Test(
        arguments: [
            .channelNumber(0x4001), .lifetime(600), .xorPeerAddress(v4), .xorPeerAddress(v6), .data([]),
            .data([1, 2, 3]),
            .xorRelayedAddress(v4), .xorRelayedAddress(v6), .requestedAddressFamily(.ipv4),
            .requestedAddressFamily(.ipv6), .requestedAddressFamily(TURNAddressFamily(rawValue: 7)),
            .additionalAddressFamily(TURNAddressFamily(rawValue: 0)),
            .evenPort(reservesNext: true), .evenPort(reservesNext: false), .requestedTransport(TURNAttribute.udp),
            .dontFragment, .reservationToken(0x0102_0304_0506_0708), .additionalAddressFamily(.ipv6),
            .addressErrorCode(.ipv6, .addressFamilyNotSupported), .icmp(type: 3, code: 4, data: 1_280),
            .mobilityTicket([]), .mobilityTicket([9, 9, 9, 9, 9]),
        ] as [TURNAttribute])
    func `every attribute survives the way there and back`(attribute: TURNAttribute) throws {
        let message = STUNMessage(.success, .allocate, transactionID: Self.id, attributes: [.turn(attribute)])
        let bytes = message.encoded()
        let parsed = try STUNMessage(parsing: bytes.span.bytes)
        #expect(parsed.attributes == [.turn(attribute)])
    }

    @Test func `an allocate request is what RFC 8656 §7 draws`() {
        let message = STUNMessage(
            .request, .allocate, transactionID: Self.id,
            attributes: [.turn(.requestedTransport(TURNAttribute.udp)), .turn(.lifetime(3_600))])
        #expect(
            message.encoded(signedWith: nil, fingerprint: false)
                == hexBytes("00030010 2112a442 0102030405060708090a0b0c 00190004 11000000 000d0004 00000e10"))
    }

    @Test(arguments: [
        "000c0002 40010000", "000d0003 00000000", "00120004 00010000", "00120008 0003a147 e112a643",
        "00170003 03000000",
        "00180002 80000000", "001a0001 00000000", "00220004 00000000", "80000001 02000000", "80010004 03000428",
        "80040004 00000000",
    ])
    func `a value of impossible form does not parse`(attribute: String) {
        let value = hexBytes(attribute)
        var bytes = hexBytes("01030000 2112a442 0102030405060708090a0b0c")
        bytes.set(uint16: UInt16(value.count), at: 2)
        bytes += value
        #expect(throws: STUNError.malformedAttribute(type: UInt16(value[0]) << 8 | UInt16(value[1]))) {
            try STUNMessage(parsing: bytes.span.bytes)
        }
    }

    @Test func `what a response holds is found by name`() {
        let message = STUNMessage(
            .success, .allocate, transactionID: Self.id,
            attributes: [
                .turn(.xorRelayedAddress(Self.v4)), .turn(.xorRelayedAddress(Self.v6)), .turn(.lifetime(600)),
                .turn(.mobilityTicket([1])), .xorMappedAddress(Self.v4),
            ])
        #expect(message.relayedAddresses == [Self.v4, Self.v6])
        #expect(message.lifetime == 600)
        #expect(message.mobilityTicket == [1])
        #expect(message.reflexiveAddress == Self.v4)
        #expect(message.peerAddress == nil)
        #expect(message.unknownRequiredAttributes.isEmpty)
    }
}
