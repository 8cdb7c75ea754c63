import RTCWire
import Testing

/// Datagrams on a TCP connection (RFC 4571).
@Suite struct StreamFramingTests {
    @Test func `a datagram has its length before it`() {
        #expect(StreamFraming.frame([7, 8, 9]) == [0, 3, 7, 8, 9])
        #expect(StreamFraming.frame([UInt8](repeating: 1, count: 0xffff))?.prefix(3) == [0xff, 0xff, 1])
        #expect(StreamFraming.frame([UInt8](repeating: 1, count: 0x10000)) == nil)
    }

    @Test(arguments: 1...9)
    func `datagrams come out whole, however the connection cuts them`(size: Int) {
        let sent: [[UInt8]] = [[1], [UInt8](repeating: 2, count: 300), [3, 4, 5]]
        let bytes = sent.flatMap { StreamFraming.frame($0) ?? [] }
        var framing = StreamFraming()
        var received: [[UInt8]] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            framing.append([UInt8](bytes[start..<min(start + size, bytes.count)]))
            while let datagram = framing.next() { received.append(datagram) }
        }
        #expect(received == sent)
        #expect(framing.held == 0)
    }

    @Test func `empty ones are passed over, and what never ends holds no more than its length says`() {
        var framing = StreamFraming()
        framing.append([0, 0, 0, 0, 0, 1, 9, 0xff, 0xff])
        #expect(framing.next() == [9])
        #expect(framing.next() == nil)
        for _ in 0..<65_534 { framing.append([1]) }
        #expect(framing.next() == nil)
        #expect(framing.held == 65_536)
        framing.append([1, 0])
        #expect(framing.next()?.count == 0xffff)
        #expect(framing.held == 1)
    }
}
