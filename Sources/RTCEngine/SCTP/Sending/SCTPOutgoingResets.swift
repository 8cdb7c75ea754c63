internal import RTCWire

/// Our requests to reset outgoing streams (RFC 6525 §5.1.2): one at a time, repeated until it is answered.
///
/// A stream is asked for when all that was sent on it is acknowledged. Asked earlier, a peer says "in progress", and
/// what comes then differs: dcsctp repeats that for ever to who repeats the number, usrsctp and Pion answer once more
/// of themselves, and Pion grants the same streams under a second number a second time.
struct SCTPOutgoingResets: Sendable {
    struct Request: Sendable {
        /// Those that it has had, the last one is asked under. An answer to any of them counts.
        fileprivate(set) var numbers: [UInt32]
        let lastTSN: UInt32
        let streams: [UInt16]

        var number: UInt32 { numbers.last ?? 0 }
    }

    /// Streams that have something left to send, in the order of asking.
    private var waiting: [UInt16] = []
    /// Streams that have sent everything, and the TSN behind which nothing of theirs is.
    private var drained = SlidingArray<(stream: UInt16, lastTSN: UInt32)>()
    private var nextNumber: UInt32
    private(set) var request: Request?
    /// When the request is sent again; now, when it never was.
    private(set) var deadline: Instant?
    private(set) var isDue = false
    /// How long the next wait is, once one was in vain.
    private var interval: Interval?
    /// The peer has taken the request up, and is asked again under another number.
    private var isInProgress = false
    /// A request for more streams than this does not fit a packet.
    private static let maximumStreams = 200
    /// How many numbers of one request are kept.
    private static let maximumNumbers = 8

    /// §4.1: the numbers of requests begin with the initial TSN.
    init(initialTSN: UInt32) { nextNumber = initialTSN }

    var isIdle: Bool { waiting.isEmpty && drained.isEmpty && request == nil }
    var hasWaiting: Bool { !waiting.isEmpty || !drained.isEmpty }

    mutating func ask(for stream: UInt16) { waiting.append(stream) }

    /// Some of the waiting streams may have nothing left to send, `highest` being the last TSN that was.
    mutating func noteDrained(highest: UInt32, where isDrained: (UInt16) -> Bool) {
        waiting.removeAll { stream in
            guard isDrained(stream) else { return false }
            drained.append((stream, highest))
            return true
        }
    }

    /// Begins a request for streams of which everything is acknowledged; returns them.
    mutating func begin(acknowledged: UInt32) -> [UInt16] {
        guard request == nil else { return [] }
        var chosen: [UInt16] = []
        while let next = drained.first, chosen.count < Self.maximumStreams,
            !SerialNumber.isNewer(next.lastTSN, than: acknowledged)
        {
            chosen.append(next.stream)
            drained.removeFirst(1)
        }
        guard !chosen.isEmpty else { return [] }
        // §4.1 asks for the last TSN that was assigned. What is behind this one belongs to other streams, and the peer
        // need not wait for it.
        request = Request(numbers: [takeNumber()], lastTSN: acknowledged, streams: chosen)
        isDue = true
        return chosen
    }

    private mutating func takeNumber() -> UInt32 {
        defer { nextNumber &+= 1 }
        return nextNumber
    }

    mutating func sent(at now: Instant, timeout: Interval) {
        isDue = false
        deadline = now + max(timeout, interval ?? .zero)
    }

    /// Whether the request has waited in vain for an answer. It is sent again.
    mutating func tick(at now: Instant, timeout: Interval, maximum: Interval) -> Bool {
        guard var request, let deadline, deadline <= now else { return false }
        isDue = true
        self.deadline = nil
        guard !isInProgress else {
            // §5.2.7: no error. The old number would be answered as before (§5.2.1).
            isInProgress = false
            request.numbers.append(takeNumber())
            if request.numbers.count > Self.maximumNumbers { request.numbers.removeFirst() }
            self.request = request
            return false
        }
        // §5.1.1, as T3-rtx backs off, and by itself: that no answer comes says nothing of the time that DATA takes.
        interval = min(max(timeout, interval ?? .zero) * 2, maximum)
        return true
    }

    /// The peer asks for patience (§4.4, §5.2.7). False when it does not speak of what is asked now.
    mutating func postponed(_ number: UInt32, at now: Instant, timeout: Interval) -> Bool {
        guard let request, request.number == number, !isDue else { return false }
        isInProgress = true
        interval = nil
        deadline = now + timeout
        return true
    }

    /// The peer's last word on a request: it is over.
    mutating func answered(_ number: UInt32, isRefusal: Bool) -> Request? {
        guard let request, isRefusal ? request.number == number : request.numbers.contains(number) else { return nil }
        self.request = nil
        deadline = nil
        interval = nil
        isDue = false
        isInProgress = false
        return request
    }
}
