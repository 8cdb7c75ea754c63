public import RTCWire

/// Datagrams of many connections on their way out, protected and side by side in one buffer: what is forwarded at once
/// is written where the system call will read it.
///
/// The owner hands it to `PeerMachine.forward`, sends what `forEach` tells of, and empties it. With a batch, some of
/// its datagrams are sealed by `seal` only, and each of those connections wants to know then (`PeerMachine.sealed`).
public struct DatagramOutbox {
    public struct Entry: Sendable {
        /// Its bytes' place in `bytes`.
        public let range: Range<Int>
        /// The bound address of the socket to send on.
        public let from: TransportAddress
        public let to: TransportAddress
        /// The next one of the same connection.
        fileprivate var next: Int?
        fileprivate let isFirst: Bool
    }

    /// A connection's last entry.
    struct Place: Sendable {
        fileprivate var generation: UInt64 = .max
        fileprivate var last = 0
        /// The first one that is not sealed, or was not when the connection was last told.
        fileprivate var unsealed: Int?
    }

    /// Of a cache's size: what was written is read again soon, by the system call.
    private static let most = 512 << 10
    /// Storage that a burst has made larger than this is given back.
    private static let mostCapacity = 1 << 20

    var buffer: [UInt8] = []
    private var entries: [Entry] = []
    private var generation: UInt64 = 0
    private let batch: (any SealingBatch)?
    private var hasUnsealed = false

    /// - Parameter batch: seals packets together (`SecurityProvider.makeSealingBatch`); without one each is sealed at
    ///   once.
    public init(sealingIn batch: (any SealingBatch)? = nil) { self.batch = batch }

    /// All datagrams, one behind the other.
    public var bytes: [UInt8] { _read { yield buffer } }
    public var count: Int { entries.count }
    public var isEmpty: Bool { entries.isEmpty }
    /// It is to be sent before more comes in.
    public var isFull: Bool { buffer.count >= Self.most }

    /// Protects the packet that lies in the buffer from `start` on.
    ///
    /// - Returns: whether it is sealed already.
    mutating func protect(from start: Int, by srtp: any SRTPPort) throws(SRTPError) -> Bool {
        guard let batch else {
            try srtp.protectRTP(&buffer, from: start)
            return true
        }
        return try srtp.protectRTP(&buffer, from: start, in: batch)
    }

    /// Seals what is not sealed yet. To be called before anything of it is read or sent, before it is emptied, and
    /// while the connections that it is of are there.
    public mutating func seal() {
        guard hasUnsealed else { return }
        batch?.seal(&buffer)
        hasUnsealed = false
    }

    /// What lies in the buffer from `start` on is a datagram.
    mutating func end(_ start: Int, isSealed: Bool, on route: ICERoute, after place: inout Place) {
        var isFirst = true
        if place.generation == generation, entries.indices.contains(place.last), entries[place.last].to == route.remote,
            entries[place.last].from == route.base, entries[place.last].next == nil
        {
            entries[place.last].next = entries.count
            isFirst = false
        }
        if place.generation != generation { place.unsealed = nil }
        place.generation = generation
        place.last = entries.count
        if !isSealed {
            hasUnsealed = true
            if place.unsealed == nil { place.unsealed = entries.count }
        }
        entries.append(
            Entry(range: start..<buffer.count, from: route.base, to: route.remote, next: nil, isFirst: isFirst))
    }

    /// Tells of a connection's datagrams from the first one on that was not sealed when it was written. They are sealed
    /// now.
    func forEachSealed(of place: inout Place, _ body: (RawSpan) -> Void) {
        guard place.generation == generation, let first = place.unsealed else { return }
        precondition(!hasUnsealed)
        place.unsealed = nil
        let entries = entries.span
        let bytes = buffer.span.bytes
        for index in first...place.last
        where entries[index].to == entries[place.last].to && entries[index].from == entries[place.last].from {
            body(bytes.extracting(entries[index].range))
        }
    }

    /// Tells of each datagram: of those of one connection in their order and without others between, for a system call
    /// takes such runs in one piece.
    public func forEach(_ body: (Entry) -> Void) {
        // Nothing leaves that is not encrypted.
        precondition(!hasUnsealed)
        // By the span: each look at the array would count a reference.
        let entries = entries.span
        for index in entries.indices where entries[index].isFirst {
            var next: Int? = index
            while let current = next {
                body(entries[current])
                next = entries[current].next
            }
        }
    }

    /// All of it has been sent.
    public mutating func removeAll() {
        // The batch knows them by where they lie.
        precondition(!hasUnsealed)
        generation &+= 1
        entries.removeAll(keepingCapacity: true)
        buffer.removeAll(keepingCapacity: buffer.capacity <= Self.mostCapacity)
    }
}
