import Testing

@testable import RTCWire

/// RFC 8656 §11.1, §11.2.
@Suite struct SendIndicationTests {
    private static let four = TransportAddress(.v4(0xc633_6414), port: 7_000)
    private static let six = TransportAddress(.v6(0x2001_0db8 << 32, 5), port: 9)

    private func message(
        _ attributes: [STUNAttribute], _ kind: STUNClass = .indication, _ method: STUNMethod = .send
    ) -> STUNMessage {
        STUNMessage(
            kind, method, transactionID: STUNTransactionID(high: 0xfedc_ba98, low: 0x7654_3210_0123_4567),
            attributes: attributes)
    }

    private func read(_ bytes: [UInt8]) -> SendIndication? { SendIndication(bytes.span.bytes) }

    @Test(arguments: [four, six])
    func `peer and data are what the whole message says`(peer: TransportAddress) throws {
        for count in 0...9 {
            let data = [UInt8](repeating: 7, count: count)
            for fingerprint in [false, true] {
                let bytes = message([.turn(.xorPeerAddress(peer)), .turn(.data(data))])
                    .encoded(signedWith: nil, fingerprint: fingerprint)
                let indication = try #require(read(bytes))
                #expect(indication.peer == peer && Array(bytes[indication.data]) == data)
            }
        }
    }

    @Test func `order does not matter, nor a signature or what need not be known`() throws {
        let key = STUNIntegrityKey.sha1(HMACSHA1(password: "secret"))
        let bytes = message([
            .software("x"), .turn(.data([1])), .username("ann"), .other(type: 0x9abc, value: [1, 2, 3]),
            .turn(.xorPeerAddress(Self.four)),
        ]).encoded(signedWith: key, fingerprint: true)
        let indication = try #require(read(bytes))
        #expect(indication.peer == Self.four && Array(bytes[indication.data]) == [1])
    }

    @Test func `anything else is none`() {
        let whole: [STUNAttribute] = [.turn(.xorPeerAddress(Self.four)), .turn(.data([1, 2, 3, 4, 5]))]
        for other in [
            message([whole[0]]), message([whole[1]]), message(whole + [.turn(.dontFragment)]),
            message(whole + [.other(type: 0x7abc, value: [])]), message(whole, .request), message(whole, .success),
            message(whole, .indication, .data),
        ] {
            let bytes = other.encoded(signedWith: nil, fingerprint: false)
            #expect(read(bytes) == nil)
        }
        let bytes = message(whole).encoded(signedWith: nil, fingerprint: false)
        for length in 0..<bytes.count { #expect(read(Array(bytes.prefix(length))) == nil) }
        // An attribute that runs past the end of the message.
        for index in [23, 35] {
            var long = bytes
            long[index] = 200
            #expect(read(long) == nil)
        }
    }
}
