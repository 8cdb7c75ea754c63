import RTCWire
import Testing

#if os(Linux)
    import Glibc
#endif

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

    #if os(Linux)
        @Test func `what the system drops because nobody reads is counted`() throws {
            let sender = try UDPSocket(binding: Self.loopback)
            let receiver = try UDPSocket(binding: Self.loopback, receiveBuffer: 100_000)
            // Or what `net.core.rmem_max` allows.
            #expect(50_000...100_000 ~= receiver.receiveBuffer)
            #expect(receiver.takeOverrun() == 0)
            var buffers = ReceiveBatch()
            for count in [500, 1_000] {
                var batch = SendBatch()
                for number in 0..<count {
                    let datagram = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1_000)
                    batch.append(datagram, to: receiver.address)
                    if batch.isFull { batch.flush(on: sender) }
                }
                batch.flush(on: sender)
                let waiting = received(receiver, &buffers).count
                #expect(1..<200 ~= waiting)
                #expect(receiver.takeOverrun() == count - batch.dropped - waiting)
                #expect(receiver.takeOverrun() == 0)
            }
        }
    #endif

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

    @Test func `an empty datagram is for those who take such`() throws {
        let socket = try UDPSocket(binding: Self.loopback)
        var batch = SendBatch()
        var buffers = ReceiveBatch()
        for takesEmpty in [false, true] {
            batch.append([], to: socket.address)
            batch.append([1], to: socket.address)
            batch.append([], to: socket.address)
            batch.append([UInt8](repeating: 2, count: UDPSocket.maximumDatagramSize + 1), to: socket.address)
            batch.append([3], to: socket.address)
            batch.flush(on: socket)
            var datagrams: [[UInt8]] = []
            // Fewer than a batch.
            _ = buffers.receive(from: socket, takesEmpty: takesEmpty) { datagram, _ in datagrams.append(datagram) }
            let expected: [[UInt8]] = takesEmpty ? [[], [1], [], [3]] : [[1], [3]]
            #expect(datagrams == expected)
        }
        #expect(batch.dropped == 0)
    }

    @Test func `runs of datagrams of one size arrive one by one, in order, at the addresses they were for`() throws {
        let sender = try UDPSocket(binding: Self.loopback)
        let receivers = try (0..<2).map { _ in try UDPSocket(binding: Self.loopback) }
        // Runs as pictures make them: pieces of one size, then a smaller one; and what may not join a run.
        let sizes = [1_200, 1_200, 1_200, 700, 900, 1_200, 1, 1] + [Int](repeating: 1_100, count: 20)
        var expected: [[[UInt8]]] = [[], []]
        var batch = SendBatch()
        for (number, size) in sizes.enumerated() {
            let datagram = [UInt8](repeating: UInt8(number), count: size)
            let to = number == 2 || number > 20 ? 1 : 0
            expected[to].append(datagram)
            batch.append(datagram, to: receivers[to].address)
        }
        batch.flush(on: sender)
        #expect(batch.dropped == 0)
        var buffers = ReceiveBatch()
        #expect(received(receivers[0], &buffers) == expected[0])
        #expect(received(receivers[1], &buffers) == expected[1])
    }

    #if os(Linux)
        @Test func `a run that the kernel refuses goes out datagram by datagram`() throws {
            let sender = try UDPSocket(binding: Self.loopback)
            let receiver = try UDPSocket(binding: Self.loopback)
            // Without checksums the kernel cuts nothing.
            var one: Int32 = 1
            #expect(setsockopt(sender.descriptor, SOL_SOCKET, SO_NO_CHECK, &one, 4) == 0)
            var batch = SendBatch()
            for number in 0..<5 { batch.append([UInt8](repeating: UInt8(number), count: 100), to: receiver.address) }
            batch.append([5, 5], to: receiver.address)
            batch.flush(on: sender)
            #expect(batch.dropped == 0)
            var buffers = ReceiveBatch()
            #expect(received(receiver, &buffers).map(\.first) == [0, 1, 2, 3, 4, 5])
            // What is said of one path is no reason to give up on all others.
            #expect(batch.maySegment == 1)
        }
    #endif
}
