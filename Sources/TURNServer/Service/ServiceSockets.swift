internal import RTCEngine
internal import RTCNetwork
internal import RTCSecurity
internal import RTCWire

/// A UDP socket that clients send to.
final class ClientSocket {
    let socket: UDPSocket
    /// Its number in `TURNClientPath`.
    let number: Int
    var outgoing = SendBatch()

    init(_ socket: UDPSocket, number: Int) {
        self.socket = socket
        self.number = number
    }

    func flush() { outgoing.flush(on: socket) }
}

/// The UDP socket of a relayed address.
final class RelaySocket {
    let socket: UDPSocket
    let id: TURNRelayID
    let token: UInt64
    /// Lent while something waits: there are far more sockets than those that send in one turn of the loop.
    var outgoing: SendBatch?

    init(_ socket: UDPSocket, id: TURNRelayID, token: UInt64) {
        self.socket = socket
        self.id = id
        self.token = token
    }
}

/// A client's TCP connection, or TLS over it.
final class ClientStream {
    let socket: StreamSocket
    let client: TURNClientPath
    let token: UInt64
    /// Since when it has had no allocation.
    var idleSince: Instant
    private let tls: TLSConnection?
    private var messages = TURNStreamReader(limit: ClientStream.maximumMessageSize)
    private var knownSkipped = 0
    private var received: [UInt8] = []
    private var plain: [UInt8] = []
    private var message: [UInt8] = []
    private var outgoing: [UInt8] = []

    /// What is larger could not be relayed: what the sockets of peers take, and what goes in front of it.
    private static let maximumMessageSize = UDPSocket.maximumDatagramSize + 128
    /// Reads in one turn of the loop, 16 KiB each: others want their turn too.
    private static let readsInOneTurn = 4

    init(_ socket: StreamSocket, client: TURNClientPath, token: UInt64, tls: TLSConnection?, at now: Instant) {
        self.socket = socket
        self.client = client
        self.token = token
        self.tls = tls
        idleSince = now
    }

    /// Sends a message, padded (RFC 8656 §12.5). A client that does not read loses it, as a full line would lose it:
    /// nothing waits here beyond the socket's queue.
    func send(_ bytes: RawSpan, after header: ChannelDataHeader?) {
        outgoing.removeAll(keepingCapacity: true)
        if let header { outgoing.append(uint32: header.word) }
        outgoing.append(contentsOf: bytes)
        outgoing.append(contentsOf: repeatElement(0, count: (4 - outgoing.count % 4) % 4))
        guard let tls else {
            _ = socket.write(outgoing)
            return
        }
        // Once it is encrypted it cannot be left out any more: TLS counts its records.
        guard tls.isOpen, socket.waiting + outgoing.count < StreamSocket.defaultLimit / 2 else { return }
        tls.write(outgoing)
        _ = socket.write(tls.takeOutbound())
    }

    /// The socket can be read or written. Gives each message to `body`; false when the stream is over.
    func becameReady(_ body: ([UInt8]) -> Void) -> Bool {
        socket.becameReady()
        for _ in 0..<Self.readsInOneTurn {
            received.removeAll(keepingCapacity: true)
            switch socket.read(into: &received) {
            case .none: return true
            case .ended, .failed: return false
            case .bytes: guard take(body) else { return false }
            }
        }
        return true
    }

    /// How many messages were too large since the last call.
    func takeSkipped() -> Int {
        defer { knownSkipped = messages.skipped }
        return messages.skipped - knownSkipped
    }

    private func take(_ body: ([UInt8]) -> Void) -> Bool {
        if let tls {
            plain.removeAll(keepingCapacity: true)
            tls.receive(received, into: &plain)
            let answer = tls.takeOutbound()
            // A client that renegotiates keys without end and reads nothing is left.
            guard answer.isEmpty || socket.write(answer) else { return false }
            messages.append(plain)
        } else {
            messages.append(received)
        }
        do throws(TURNStreamReader.Failure) {
            while try messages.next(into: &message) { body(message) }
        } catch {
            return false
        }
        return tls?.failure == nil
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
