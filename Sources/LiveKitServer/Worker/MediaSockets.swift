internal import RTCEngine
internal import RTCNetwork
internal import RTCWire

/// A UDP socket that a worker's peers share.
struct DatagramPort {
    let socket: UDPSocket
    /// As clients are told it, and as the rooms know it.
    let announced: TransportAddress
    let token: UInt64
    var outgoing = SendBatch()
    /// When the system's count of dropped datagrams was last read.
    var countedAt = Instant.zero

    /// The count is read so often while as much waits as is read at once, and so often in any case.
    private static let hurriedInterval = Interval.milliseconds(50)
    private static let interval = Interval.seconds(Int64(1))

    /// How many datagrams the system has dropped because those before them waited; 0 if the count has just been read.
    /// To be called after each read.
    ///
    /// - Parameter mayHaveMore: as many were read as are at once.
    mutating func takeOverrun(mayHaveMore: Bool, at now: Instant) -> Int {
        guard now - countedAt >= (mayHaveMore ? Self.hurriedInterval : Self.interval) else { return 0 }
        countedAt = now
        return socket.takeOverrun()
    }

    mutating func flush() { outgoing.flush(on: socket) }

    /// Sends what of an outbox is this port's.
    mutating func send(_ outbox: borrowing DatagramOutbox) { outgoing.send(outbox, of: announced, on: socket) }
}

/// A TCP port on which clients connect (RFC 6544).
struct TCPPort {
    let listener: StreamListener
    let announced: TransportAddress
    let token: UInt64
}

/// A client's TCP connection: datagrams behind their lengths (RFC 4571).
final class MediaTCPConnection {
    let socket: StreamSocket
    /// Our side, as the rooms know it.
    let base: TransportAddress
    let token: UInt64
    /// Whose it is, by the last check that came over it; nil before the first.
    private(set) var peer: MediaPeer?
    /// When a check was last answered over it, or when it was accepted.
    var provenAt: Instant
    /// The peer has answered a check over it. Until then it may take as long as this.
    var trust: Trust
    /// Whose it is has answered a check over it: one that goes over to another peer begins anew with that one.
    var isProvenForPeer = false
    private var framing = StreamFraming()
    private var received: [UInt8] = []

    enum Trust: Equatable {
        case unproven(until: Instant)
        case proven
    }

    /// Reads in one turn of the loop, 16 KiB each: others want their turn too.
    private static let readsInOneTurn = 8

    init(_ socket: StreamSocket, base: TransportAddress, token: UInt64, at now: Instant, until deadline: Instant) {
        self.socket = socket
        self.base = base
        self.token = token
        provenAt = now
        trust = .unproven(until: deadline)
    }

    /// It is this peer's from now on, or nobody's.
    func belong(to peer: MediaPeer?) {
        guard peer !== self.peer else { return }
        isProvenForPeer = false
        self.peer?.tcpConnections.removeAll { $0 === self }
        self.peer = peer
        peer?.tcpConnections.append(self)
    }

    /// Sends a datagram. What does not fit into the queue is lost, as a full line would lose it.
    func send(_ datagram: [UInt8]) {
        guard let frame = StreamFraming.frame(datagram) else { return }
        _ = socket.write(frame)
    }

    /// The socket can be read or written. Gives each datagram to `body`, which says whether to go on; false when the
    /// connection is over.
    func becameReady(_ body: (inout [UInt8]) -> Bool) -> Bool {
        socket.becameReady()
        for _ in 0..<Self.readsInOneTurn {
            received.removeAll(keepingCapacity: true)
            switch socket.read(into: &received) {
            case .none: return true
            case .ended, .failed: return false
            case .bytes: framing.append(received)
            }
            while var datagram = framing.next() {
                guard body(&datagram) else { return false }
            }
        }
        return true
    }
}
