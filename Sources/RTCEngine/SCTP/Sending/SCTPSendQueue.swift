internal import RTCWire

/// What waits to be sent, by stream, and whose turn it is. Streams take turns: with interleaving (RFC 8260 §3.1) after
/// each fragment, without it after each message, whose fragments have to follow one another.
struct SCTPSendQueue: Sendable {
    /// What leaves next.
    enum Next: Sendable {
        /// `header` lacks its TSN.
        case fragment(SCTPDataHeader, of: SCTPQueuedMessage, range: Range<Int>)
        /// The lifetime of a message ended when some of it had been sent.
        case abandoned(SCTPDataHeader)
    }

    private var streams: [UInt16: SCTPOutgoingStream] = [:]
    /// Streams with something to send, each once, in the order of their turns; without `current` and `heldBack`.
    private var line = FIFO<UInt16>()
    /// Whose turn it is.
    private var current: UInt16?
    /// Streams whose next message must not begin yet; see `maximumBegun`.
    private var heldBack = FIFO<UInt16>()
    /// Bytes of messages that were begun and not finished.
    private var begunBytes = 0
    private var decreased = FIFO<UInt16>()
    private(set) var queuedBytes = 0
    private(set) var queuedMessages = 0
    /// Messages that were given up before any of them was sent, since this was last looked at.
    var discardedMessages = 0
    /// A stream that drains has nothing left to send, since this was last looked at.
    var hasDrained = false
    /// Set when the handshake has shown what the peer can do.
    var isInterleaved = false
    /// Whether the peer understands that a message which it has begun to receive is given up (RFC 3758).
    var mayAbandon = false
    /// The receiver holds begun messages until they are whole. Were more begun than it has room for, none could be
    /// finished (RFC 8260 §3.2 leaves this to the sender). Bytes.
    var maximumBegun = Int.max

    var isEmpty: Bool { queuedMessages == 0 }
    /// What the queue counts for in the limit on it.
    var cost: Int { queuedBytes + queuedMessages * SCTPQueuedMessage.overhead }

    func phase(of id: UInt16) -> SCTPOutgoingStream.Phase { streams[id]?.phase ?? .open }
    func bufferedAmount(of id: UInt16) -> Int { streams[id]?.bufferedAmount ?? 0 }
    private func bytesQueued(on id: UInt16) -> Int { streams[id]?.queuedBytes ?? 0 }
    func isDrained(_ id: UInt16) -> Bool { streams[id]?.queue.isEmpty ?? true }
    mutating func setPhase(of id: UInt16, to phase: SCTPOutgoingStream.Phase) {
        streams[id, default: SCTPOutgoingStream()].phase = phase
    }

    /// RFC 6525 §5.1.2: the stream begins anew at message 0; nothing is queued on it.
    mutating func forget(_ id: UInt16) { streams[id] = nil }

    mutating func append(_ message: SCTPQueuedMessage, to id: UInt16, at now: Instant) {
        // A stream that the network holds up does not collect what is too late anyway.
        while let head = streams[id]?.head, head.sentBytes == 0, head.message.isExpired(at: now) {
            discardFirst(of: id)
        }
        streams[id, default: SCTPOutgoingStream()].append(message)
        queuedBytes += message.bytes.count
        queuedMessages += 1
        if streams[id]?.isLinedUp == false {
            streams[id]?.isLinedUp = true
            line.append(id)
        }
    }

    /// The next fragment, if one fits `room` bytes of the packet and `window` bytes of the peer's and the network's.
    /// A message is cut where a packet ends; only a message's end may be small.
    mutating func next(room: Int, window: Int, largest: Int, at now: Instant) -> Next? {
        while let id = current ?? takeTurn(largest: largest) {
            current = id
            guard let (message, sentBytes) = streams[id]?.head else {
                endTurn(of: id)
                continue
            }
            if message.isExpired(at: now), sentBytes == 0 {
                discardFirst(of: id)
                endTurn(of: id)
                continue
            }
            if message.isExpired(at: now), mayAbandon,
                var header = streams[id]?.nextHeader(of: message, count: 0, isInterleaved: isInterleaved)
            {
                header.stream = id
                abandonFirst(of: id)
                return .abandoned(header)
            }
            let rest = message.bytes.count - sentBytes
            let count = min(rest, room, largest)
            guard count == rest || count * 2 >= largest, count > 0, count <= window else { return nil }
            return take(count, from: id, message: message, at: sentBytes)
        }
        return nil
    }

    /// The rest of a message that was given up is not sent.
    mutating func abandonFirst(of id: UInt16) {
        guard let (message, sentBytes) = streams[id]?.head, sentBytes > 0 else { return }
        let before = bytesQueued(on: id)
        streams[id]?.finishFirst()
        queuedBytes -= before - bytesQueued(on: id)
        queuedMessages -= 1
        finishedBegun(message)
        noteDecrease(of: id)
        if current == id { endTurn(of: id) }
    }

    /// Drops what waits on streams that the peer does not grant.
    mutating func discardStreams(from limit: UInt16) {
        for (id, stream) in streams where id >= limit {
            queuedBytes -= stream.queuedBytes
            queuedMessages -= stream.queue.count
            streams[id] = nil
        }
    }

    /// A stream of which less waits than when this was last asked.
    mutating func nextDecreased() -> UInt16? {
        while let id = decreased.popFirst() {
            guard streams[id]?.hasDecreased == true else { continue }
            streams[id]?.hasDecreased = false
            return id
        }
        return nil
    }

    private mutating func take(_ count: Int, from id: UInt16, message: SCTPQueuedMessage, at start: Int) -> Next? {
        let isSplit = message.bytes.count > count
        guard var header = streams[id]?.takeFragment(count, of: message, isInterleaved: isInterleaved) else {
            return nil
        }
        header.stream = id
        queuedBytes -= count
        noteDecrease(of: id)
        if isSplit, header.isFirst { begunBytes += message.bytes.count }
        if header.isLast {
            queuedMessages -= 1
            if isSplit { finishedBegun(message) }
        }
        if header.isLast || isInterleaved { endTurn(of: id) }
        return .fragment(header, of: message, range: start..<start + count)
    }

    private mutating func discardFirst(of id: UInt16) {
        let before = bytesQueued(on: id)
        streams[id]?.discardFirst()
        queuedBytes -= before - bytesQueued(on: id)
        queuedMessages -= 1
        discardedMessages += 1
        noteDecrease(of: id)
    }

    private mutating func finishedBegun(_ message: SCTPQueuedMessage) {
        begunBytes -= message.bytes.count
        while let id = heldBack.popFirst() { line.append(id) }
    }

    private mutating func noteDecrease(of id: UInt16) {
        if phase(of: id) == .draining, isDrained(id) { hasDrained = true }
        guard streams[id]?.hasDecreased == false else { return }
        streams[id]?.hasDecreased = true
        decreased.append(id)
    }

    private mutating func takeTurn(largest: Int) -> UInt16? {
        while let id = line.popFirst() {
            guard let (message, sentBytes) = streams[id]?.head else {
                streams[id]?.isLinedUp = false
                continue
            }
            let begins = sentBytes == 0 && message.bytes.count > largest
            guard begins, begunBytes > 0, begunBytes + message.bytes.count > maximumBegun else { return id }
            heldBack.append(id)
        }
        return nil
    }

    private mutating func endTurn(of id: UInt16) {
        current = nil
        if isDrained(id) { streams[id]?.isLinedUp = false } else { line.append(id) }
    }
}
