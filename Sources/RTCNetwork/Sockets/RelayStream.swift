internal import RTCEngine
internal import RTCSecurity
internal import RTCWire

/// A connection to a TURN server over TCP, or TLS over it: messages go in and come out whole. Used on its loop's
/// thread.
final class RelayStream {
    let socket: StreamSocket
    /// The loop's name for it.
    var token: UInt64 = 0
    /// The machine knows that it is open.
    var isReported = false
    private let tls: TLSConnection?
    private var messages = TURNStreamReader()
    private var received: [UInt8] = []
    private var plain: [UInt8] = []
    private var message: [UInt8] = []
    private var outgoing: [UInt8] = []

    /// Begins to connect.
    /// - Parameter authorities: a file of certificates in place of the system's.
    init(to server: TURNServer, authorities: String?) throws {
        switch server.transport {
        case .udp, .tcp: tls = nil
        case .tls: tls = try TLSConnection(to: server.host, authorities: authorities)
        }
        socket = try StreamSocket(connectingTo: server.address)
        message.reserveCapacity(UDPSocket.maximumDatagramSize)
    }

    /// Whether messages can be sent.
    var isOpen: Bool { socket.state == .open && tls?.isOpen != false }

    /// Sends a message; channel data with its header and padded (RFC 8656 §12.5). One that does not fit into the queue
    /// is lost, as a datagram would be.
    func send(_ bytes: [UInt8], after header: ChannelDataHeader?) {
        outgoing.removeAll(keepingCapacity: true)
        if let header { outgoing.append(uint32: header.word) }
        outgoing.append(contentsOf: bytes)
        outgoing.append(contentsOf: repeatElement(0, count: (4 - outgoing.count % 4) % 4))
        guard let tls else {
            _ = socket.write(outgoing)
            return
        }
        // Once it is encrypted it cannot be left out any more: TLS counts its records.
        guard socket.waiting + outgoing.count < StreamSocket.defaultLimit / 2 else { return }
        tls.write(outgoing)
        _ = socket.write(tls.takeOutbound())
    }

    /// The socket can be read or written. Gives each message to `body`; the reason, in words, when the stream is over.
    func becameReady(_ body: (inout [UInt8]) -> Void) -> String? {
        socket.becameReady()
        if let tls, socket.state == .open, !tls.hasBegun {
            tls.begin()
            _ = socket.write(tls.takeOutbound())
        }
        // A server that never pauses leaves the loop to the others.
        for _ in 0..<8 {
            received.removeAll(keepingCapacity: true)
            switch socket.read(into: &received) {
            case .none: return nil
            case .ended: return "the server closed the connection"
            case .failed(let error): return "\(error)"
            case .bytes: break
            }
            if let end = take(body) { return end }
        }
        return nil
    }

    private func take(_ body: (inout [UInt8]) -> Void) -> String? {
        if let tls {
            plain.removeAll(keepingCapacity: true)
            tls.receive(received, into: &plain)
            _ = socket.write(tls.takeOutbound())
            messages.append(plain)
        } else {
            messages.append(received)
        }
        do throws(TURNStreamReader.Failure) {
            while try messages.next(into: &message) { body(&message) }
        } catch {
            return "the server sent something that is not TURN"
        }
        return tls?.failure
    }

    /// Ends it, with what TLS says at the end.
    func close() {
        if let tls {
            tls.close()
            _ = socket.write(tls.takeOutbound())
        }
        socket.close()
    }
}
