import RTCWire
import Testing

@testable import RTCNetwork

@Suite struct UDPSocketTests {
    private static let loopback = TransportAddress(.v4(0x7f00_0001), port: 0)

    private func received(_ socket: UDPSocket, _ batch: inout ReceiveBatch) -> [[UInt8]] {
        var datagrams: [[UInt8]] = []
        while batch.receive(from: socket, { datagram, _ in datagrams.append(datagram) }) {}
        return datagrams
    }

    @Test func `a datagram that cannot be sent takes no other with it`() throws {
        let sender = try UDPSocket(binding: Self.loopback)
        let receiver = try UDPSocket(binding: Self.loopback)
        var batch = SendBatch()
        batch.append([1], to: receiver.address)
        batch.append([UInt8](repeating: 2, count: 70_000), to: receiver.address)  // EMSGSIZE
        batch.append([3], to: TransportAddress(.v6(0, 1), port: 9))  // EAFNOSUPPORT
        batch.append([4], to: TransportAddress(.v4(0xffff_ffff), port: 9))  // EACCES: broadcast
        batch.append([5], to: receiver.address)
        batch.flush(on: sender)
        #expect(batch.dropped == 3)
        var buffers = ReceiveBatch()
        #expect(received(receiver, &buffers) == [[1], [5]])
    }

    @Test func `a refused datagram does not deafen the socket`() throws {
        let socket = try UDPSocket(binding: Self.loopback)
        let gone = try UDPSocket(binding: Self.loopback)
        gone.close()
        var batch = SendBatch()
        for _ in 0..<3 { batch.append([1], to: gone.address) }
        batch.flush(on: socket)
        batch.append([2], to: socket.address)
        batch.flush(on: socket)
        var buffers = ReceiveBatch()
        #expect(received(socket, &buffers) == [[2]])
    }

    @Test func `a datagram larger than any of ours is passed over`() throws {
        let socket = try UDPSocket(binding: Self.loopback)
        var batch = SendBatch()
        batch.append([UInt8](repeating: 1, count: UDPSocket.maximumDatagramSize + 1), to: socket.address)
        batch.append([2], to: socket.address)
        batch.flush(on: socket)
        var buffers = ReceiveBatch()
        #expect(received(socket, &buffers) == [[2]])
    }
}
