internal import CDatagram
package import RTCWire

/// A TCP socket that listens.
package final class StreamListener {
    let descriptor: Int32
    /// The address it is bound to; the port is never 0.
    package let address: TransportAddress
    private var isClosed = false
    /// A spare descriptor. When the process has no other left, it is closed to accept, and then close, a connection:
    /// one that is not accepted would wake the loop again and again.
    private var spare: Int32

    /// - Parameter backlog: how many connections wait to be accepted at most.
    package init(binding address: TransportAddress, backlog: Int32 = 16) throws(SystemError) {
        var local = address.cAddress
        let descriptor = cdatagram_stream_listen(&local, backlog)
        guard descriptor >= 0 else { throw SystemError("listen", negated: descriptor) }
        guard let bound = TransportAddress(local) else {
            cdatagram_close(descriptor)
            throw SystemError("getsockname", negated: 0)
        }
        self.descriptor = descriptor
        self.address = bound
        spare = cdatagram_poller_open()
    }

    /// Has `reader` told when somebody connects.
    package func attach(to loop: NetworkLoop, reader: any SocketReader) throws(SystemError) -> UInt64 {
        try loop.add(descriptor: descriptor, reader: reader)
    }

    /// A connection that waits; nil when there is none.
    package func accept(limit: Int = StreamSocket.defaultLimit) -> StreamSocket? {
        var remote = cdatagram_address()
        var local = cdatagram_address()
        let accepted = cdatagram_stream_accept(descriptor, &remote, &local)
        guard accepted >= 0 else {
            if SystemError("accept", negated: accepted).isOutOfDescriptors { sendAway() }
            return nil
        }
        guard let there = TransportAddress(remote), let here = TransportAddress(local) else {
            cdatagram_close(accepted)
            return nil
        }
        return StreamSocket(accepted: accepted, local: here, remote: there, limit: limit)
    }

    private func sendAway() {
        guard spare >= 0 else { return spare = cdatagram_poller_open() }
        cdatagram_close(spare)
        var remote = cdatagram_address()
        var local = cdatagram_address()
        let accepted = cdatagram_stream_accept(descriptor, &remote, &local)
        if accepted >= 0 { cdatagram_close(accepted) }
        spare = cdatagram_poller_open()
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        if spare >= 0 { cdatagram_close(spare) }
        cdatagram_close(descriptor)
    }

    deinit { close() }
}
