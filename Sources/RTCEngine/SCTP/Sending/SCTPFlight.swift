internal import RTCWire

/// What has been sent and is not acknowledged up to, in the order of TSNs.
struct SCTPFlight: Sendable {
    private(set) var chunks = SlidingArray<SCTPSentChunk>()
    /// RFC 9260 §6.3: the last TSN up to which everything is acknowledged. Chunk i has the TSN i + 1 behind it.
    private(set) var cumulative: UInt32
    /// User bytes on their way.
    private(set) var bytesInFlight = 0
    /// User bytes kept in case they are lost.
    private var userBytesKept = 0
    private(set) var lostChunks = 0
    /// No chunk before this one is lost.
    private var firstLost = 0
    /// §6.3.1 C4: one measurement a round trip; TSNs from here on are the next.
    private var nextMeasured: UInt32

    init(initialTSN: UInt32) {
        cumulative = initialTSN &- 1
        nextMeasured = initialTSN
    }

    var isEmpty: Bool { chunks.isEmpty }
    /// What is kept in case it is lost, for the limit on it: many small chunks take more than their bytes.
    var bytesKept: Int { userBytesKept + chunks.count * SCTPSentChunk.overhead }
    var nextTSN: UInt32 { cumulative &+ 1 &+ UInt32(truncatingIfNeeded: chunks.count) }
    /// The last one sent.
    var highest: UInt32 { nextTSN &- 1 }

    func tsn(at index: Int) -> UInt32 { cumulative &+ 1 &+ UInt32(truncatingIfNeeded: index) }

    mutating func append(_ chunk: SCTPSentChunk) {
        if chunk.fate == .inFlight {
            bytesInFlight += chunk.count
            userBytesKept += chunk.count
        }
        chunks.append(chunk)
    }

    /// The next chunk to be sent again, lowest first.
    mutating func nextLost() -> Int? {
        guard lostChunks > 0 else { return nil }
        while firstLost < chunks.count {
            if chunks[firstLost].fate == .lost { return firstLost }
            firstLost += 1
        }
        return nil
    }

    /// Whether nothing before this chunk is waited for.
    func isLowestOutstanding(_ index: Int) -> Bool {
        (0..<index).allSatisfy { before in
            switch chunks[before].fate {
            case .inFlight, .lost: false
            case .acknowledged, .abandoned: true
            }
        }
    }

    /// A lost chunk leaves again.
    mutating func sentAgain(_ index: Int, at now: Instant) {
        setFate(of: index, to: .inFlight)
        chunks[index].sentAt = now
        chunks[index].wasRetransmitted = true
        chunks[index].misses = 0
        chunks[index].sentBefore = nextTSN
        if let left = chunks[index].retransmissionsLeft { chunks[index].retransmissionsLeft = left - 1 }
    }

    /// §6.3.3 E3: whatever is on its way counts as lost.
    mutating func loseAll() {
        for index in 0..<chunks.count where chunks[index].fate == .inFlight { setFate(of: index, to: .lost) }
    }

    mutating func setFate(of index: Int, to fate: SCTPSentChunk.Fate) {
        let before = chunks[index].fate
        guard before != fate else { return }
        let count = chunks[index].count
        switch before {
        case .inFlight: bytesInFlight -= count
        case .lost: lostChunks -= 1
        case .acknowledged, .abandoned: break
        }
        switch fate {
        case .inFlight: bytesInFlight += count
        case .lost:
            lostChunks += 1
            firstLost = min(firstLost, index)
        case .acknowledged: break
        case .abandoned:
            // The bytes are not needed any more.
            userBytesKept -= count
            chunks[index].message = []
        }
        chunks[index].fate = fate
    }

    mutating func addMiss(to index: Int) -> Int {
        chunks[index].misses += 1
        return chunks[index].misses
    }

    /// Removes what is acknowledged up to; `number` is at most the number of chunks.
    mutating func removeFirst(_ number: Int) {
        for index in 0..<number {
            // Releases the message, which `chunks` would keep for a while.
            if chunks[index].fate != .abandoned { setFate(of: index, to: .abandoned) }
        }
        chunks.removeFirst(number)
        cumulative = cumulative &+ UInt32(truncatingIfNeeded: number)
        firstLost = max(0, firstLost - number)
    }

    /// The time that a chunk's acknowledgment took, if it may be measured.
    mutating func measure(_ index: Int, at now: Instant) -> Interval? {
        guard !chunks[index].wasRetransmitted, !SerialNumber.isNewer(nextMeasured, than: tsn(at: index)) else {
            return nil
        }
        nextMeasured = nextTSN
        return now - chunks[index].sentAt
    }
}
