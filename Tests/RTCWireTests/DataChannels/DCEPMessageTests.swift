import RTCWire
import Testing

/// RFC 8832 §5, byte by byte.
@Suite struct DCEPMessageTests {
    private static let chat: [UInt8] =
        [0x03, 0x00, 0x01, 0x00, 0, 0, 0, 0, 0, 4, 0, 3] + Array("chatirc".utf8)

    private func read(_ bytes: [UInt8]) -> DCEPMessage? { DCEPMessage(parsing: bytes.span.bytes) }

    @Test func `an open message is read field by field`() {
        let message = read(Self.chat)
        #expect(message == .open(DataChannelOpen(label: "chat", subprotocol: "irc")))
        #expect(message?.bytes == Self.chat)
    }

    @Test(
        arguments: [
            (0x00, 7, DataChannelOpen.Reliability.reliable, true), (0x80, 7, .reliable, false),
            (0x01, 5, .retransmissions(5), true), (0x81, 0, .retransmissions(0), false),
            (0x02, 1_500, .lifetime(1_500), true), (0x82, 65_536, .lifetime(65_536), false),
        ] as [(UInt8, UInt32, DataChannelOpen.Reliability, Bool)])
    func `each channel type says order and reliability`(
        type: UInt8, parameter: UInt32, reliability: DataChannelOpen.Reliability, isOrdered: Bool
    ) {
        var bytes: [UInt8] = [0x03, type, 0x02, 0x00]
        bytes.append(uint32: parameter)
        bytes.append(uint32: 0)
        guard case .open(let open) = read(bytes) else {
            Issue.record("not an open message")
            return
        }
        #expect(open.reliability == reliability)
        #expect(open.isOrdered == isOrdered)
        #expect(open.priority == 512)
        #expect(open.label == "" && open.subprotocol == "")
    }

    @Test func `an acknowledgment is one byte`() {
        #expect(DCEPMessage.ack.bytes == [2])
        #expect(read([2]) == .ack)
    }

    @Test func `labels and protocols have up to 65,535 bytes`() {
        let long = String(repeating: "é", count: 32_767) + "x"
        let open = DataChannelOpen(label: long, subprotocol: long)
        let bytes = DCEPMessage.open(open).bytes
        #expect(bytes.count == 12 + 2 * 65_535)
        #expect(read(bytes) == .open(open))
    }

    @Test func `what is cut off anywhere is no message`() {
        for count in 0..<Self.chat.count {
            #expect(read(Array(Self.chat.prefix(count))) == nil, "\(count) bytes")
        }
    }

    @Test(
        arguments: [
            [0x01], [0x04], [0xff],
            // An unknown channel type.
            [0x03, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0x03, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            // A label that is not UTF-8, and a protocol.
            [0x03, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0xff], [0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xc0],
            // A byte too many.
            [0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func `what is no message is told apart`(bytes: [UInt8]) {
        #expect(read(bytes) == nil)
    }
}
