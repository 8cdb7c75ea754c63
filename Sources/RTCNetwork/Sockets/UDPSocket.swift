internal import CDatagram
package import RTCEngine
package import RTCWire

/// A bound, non-blocking UDP socket. Owned by one `NetworkLoop` and used on its thread only.
package final class UDPSocket {
    /// The address it is bound to; the port is never 0.
    package let address: TransportAddress
    let descriptor: Int32
    private var isClosed = false
    private var knownDrops: UInt32 = 0

    /// What a datagram may measure at most: any larger one is no STUN, DTLS or SRTP of ours.
    package static let maximumDatagramSize = 2048
    /// How many datagrams one system call moves.
    static let batch = 32
    /// Of one connection's socket: a key frame's burst for the 10 ms that a busy machine may keep us waiting.
    package static let connectionBuffer = 1 << 20
    /// Of a socket that many share: some 7,000 large packets or 20,000 small ones, what a busy server is sent in a
    /// tenth of a second.
    package static let sharedBuffer = 8 << 20

    /// - Parameter receiveBuffer: bytes that are to wait to be read; the system may allow less (`receiveBuffer`).
    package init(
        binding address: TransportAddress, receiveBuffer: Int = UDPSocket.connectionBuffer
    ) throws(SystemError) {
        var local = address.cAddress
        let descriptor = cdatagram_open(&local, Int32(receiveBuffer), Int32(Self.connectionBuffer))
        guard descriptor >= 0 else { throw SystemError("bind", negated: descriptor) }
        guard let bound = TransportAddress(local) else {
            cdatagram_close(descriptor)
            throw SystemError("getsockname", negated: 0)
        }
        self.descriptor = descriptor
        self.address = bound
    }

    /// One that was opened for something special; it belongs to this object from now on.
    init(adopting descriptor: Int32, address: TransportAddress) {
        self.descriptor = descriptor
        self.address = address
    }

    /// How many bytes the system lets wait to be read.
    package var receiveBuffer: Int { Int(cdatagram_receive_buffer(descriptor)) }

    /// How many datagrams the system has dropped since the last call because those before them waited to be read.
    /// Always 0 where it does not tell.
    package func takeOverrun() -> Int {
        guard let drops = UInt32(exactly: cdatagram_receive_drops(descriptor)) else { return 0 }
        defer { knownDrops = drops }
        return Int(drops &- knownDrops)
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        cdatagram_close(descriptor)
    }

    deinit { close() }
}

/// Buffers for one `recvmmsg`, kept by the loop and used for every socket in turn.
package struct ReceiveBatch {
    private var buffer = [UInt8](repeating: 0, count: UDPSocket.batch * UDPSocket.maximumDatagramSize)
    private var lengths = [Int32](repeating: 0, count: UDPSocket.batch)
    private var senders = [cdatagram_address](repeating: cdatagram_address(), count: UDPSocket.batch)
    private var datagram: [UInt8] = []

    init() { datagram.reserveCapacity(UDPSocket.maximumDatagramSize) }

    /// Reads what waits on `socket`, at most one batch, and hands each datagram to `body`, which may change it in
    /// place. True when more may be waiting.
    ///
    /// - Parameter takesEmpty: hands over datagrams without any byte too. They are none of STUN, DTLS or SRTP, and
    ///   otherwise passed over.
    package mutating func receive(
        from socket: UDPSocket, takesEmpty: Bool = false,
        _ body: (_ datagram: inout [UInt8], _ sender: TransportAddress) -> Void
    ) -> Bool {
        let stride = UDPSocket.maximumDatagramSize
        // An error here is a queued ICMP answer to something we sent; it concerns one remote address, not the socket.
        let count = cdatagram_receive(
            socket.descriptor, &buffer, Int32(stride), Int32(UDPSocket.batch), &lengths, &senders)
        guard count > 0 else { return false }
        let smallest: Int32 = takesEmpty ? 0 : 1
        for index in 0..<Int(count) {
            guard lengths[index] >= smallest, let sender = TransportAddress(senders[index]) else { continue }
            datagram.removeAll(keepingCapacity: true)
            datagram.append(contentsOf: buffer[index * stride..<index * stride + Int(lengths[index])])
            body(&datagram, sender)
        }
        return count == UDPSocket.batch
    }
}

/// Datagrams collected for one `sendmmsg`.
package struct SendBatch {
    private var buffer: [UInt8] = []
    private var messages: [cdatagram_message] = []
    /// Datagrams that the kernel did not take because its buffer was full or the route is gone. UDP: they are lost,
    /// and the protocols above repair it.
    package private(set) var dropped = 0
    /// Whether the kernel still takes runs of datagrams in one piece; 0 once it has refused.
    private(set) var maySegment: Int32 = 1

    package init() {}

    package var isFull: Bool { messages.count >= 64 }

    /// - Parameter header: goes before the datagram, in the same one.
    mutating func append(_ datagram: [UInt8], after header: ChannelDataHeader? = nil, to address: TransportAddress) {
        append(datagram.span.bytes, after: header, to: address)
    }

    /// As above, for a part of something.
    package mutating func append(
        _ datagram: RawSpan, after header: ChannelDataHeader? = nil, to address: TransportAddress
    ) {
        var message = cdatagram_message()
        message.offset = UInt32(buffer.count)
        message.length = UInt32(datagram.byteCount)
        message.to = address.cAddress
        if let header {
            buffer.append(uint32: header.word)
            message.length += UInt32(ChannelDataHeader.size)
        }
        buffer.append(contentsOf: datagram)
        messages.append(message)
    }

    /// Sends what was collected.
    package mutating func flush(on socket: UDPSocket) {
        send(buffer, on: socket)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Sends what was collected, and those of an outbox's datagrams that leave from the address.
    package mutating func send(_ outbox: borrowing DatagramOutbox, of base: TransportAddress, on socket: UDPSocket) {
        flush(on: socket)
        outbox.forEach { entry in
            guard entry.from == base else { return }
            var message = cdatagram_message()
            message.offset = UInt32(entry.range.lowerBound)
            message.length = UInt32(entry.range.count)
            message.to = entry.to.cAddress
            messages.append(message)
        }
        send(outbox.bytes, on: socket)
    }

    /// - Parameter buffer: what the messages lie in.
    private mutating func send(_ buffer: [UInt8], on socket: UDPSocket) {
        var start = 0
        while start < messages.count {
            var stillMay = maySegment
            let sent = messages.withUnsafeBufferPointer { pointer in
                cdatagram_send_runs(
                    socket.descriptor, buffer, pointer.baseAddress.map { $0 + start }, Int32(messages.count - start),
                    &stillMay)
            }
            let isRefused = stillMay != maySegment
            maySegment = stillMay
            if sent > 0 {
                start += Int(sent)
            } else if !isRefused {
                dropped += 1
                start += 1
            }
        }
        messages.removeAll(keepingCapacity: true)
    }
}
