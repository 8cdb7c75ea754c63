public import RTCWire

/// Datagrams of many connections on their way out, protected and side by side in one buffer: what is forwarded at once
/// is written where the system call will read it.
///
/// The owner hands it to `PeerMachine.forward`, sends what `forEach` tells of, and empties it.
public struct DatagramOutbox: Sendable {
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
    }

    /// Of a cache's size: what was written is read again soon, by the system call.
    private static let most = 512 << 10
    /// Storage that a burst has made larger than this is given back.
    private static let mostCapacity = 1 << 20

    var buffer: [UInt8] = []
    private var entries: [Entry] = []
    private var generation: UInt64 = 0

    public init() {}

    /// All datagrams, one behind the other.
    public var bytes: [UInt8] { _read { yield buffer } }
    public var count: Int { entries.count }
    public var isEmpty: Bool { entries.isEmpty }
    /// It is to be sent before more comes in.
    public var isFull: Bool { buffer.count >= Self.most }

    /// What lies in the buffer from `start` on is a datagram.
    mutating func end(_ start: Int, on route: ICERoute, after place: inout Place) {
        var isFirst = true
        if place.generation == generation, entries.indices.contains(place.last), entries[place.last].to == route.remote,
            entries[place.last].from == route.base, entries[place.last].next == nil
        {
            entries[place.last].next = entries.count
            isFirst = false
        }
        place = Place(generation: generation, last: entries.count)
        entries.append(
            Entry(range: start..<buffer.count, from: route.base, to: route.remote, next: nil, isFirst: isFirst))
    }

    /// Tells of each datagram: of those of one connection in their order and without others between, for a system call
    /// takes such runs in one piece.
    public func forEach(_ body: (Entry) -> Void) {
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
        generation &+= 1
        entries.removeAll(keepingCapacity: true)
        buffer.removeAll(keepingCapacity: buffer.capacity <= Self.mostCapacity)
    }
}
