public import RTCWire

/// What an agent wants done or has to tell.
public enum ICEOutput: Hashable, Sendable {
    /// Send this datagram from the socket bound at `from`.
    case send([UInt8], from: TransportAddress, to: TransportAddress)
    /// A candidate to tell the peer about.
    case localCandidate(ICECandidate)
    case gatheringStateChanged(ICEGatheringState)
    /// The reason is for a log: it never holds an address or a credential.
    case connectionStateChanged(ICEConnectionState, because: String)
    /// Media goes over this pair from now on.
    case selectedPairChanged(ICESelectedPair)
    /// A conflict of roles was settled against what we had, or the peer turned out to be lite.
    case roleChanged(ICERole)
}

/// First in, first out, without moving what waits.
struct ICEOutputQueue: Sendable {
    private var items: [ICEOutput] = []
    private var head = 0

    mutating func append(_ output: ICEOutput) { items.append(output) }

    mutating func popFirst() -> ICEOutput? {
        guard head < items.count else { return nil }
        defer {
            head += 1
            if head == items.count {
                items.removeAll(keepingCapacity: true)
                head = 0
            }
        }
        return items[head]
    }

    mutating func removeAll() {
        items.removeAll()
        head = 0
    }
}
