internal import RTCWire

/// Our requests to reset outgoing streams (RFC 6525 §5.1.2): one at a time, repeated until it is answered.
struct SCTPOutgoingResets: Sendable {
    struct Request: Sendable {
        let number: UInt32
        let lastTSN: UInt32
        let streams: [UInt16]
    }

    /// Streams that wait for a request, in the order of asking.
    private var waiting: [UInt16] = []
    private var nextNumber: UInt32
    private(set) var request: Request?
    /// When the request is sent again; now, when it never was.
    private(set) var deadline: Instant?
    private(set) var isDue = false
    /// A request for more streams than this does not fit a packet.
    private static let maximumStreams = 200

    /// §4.1: the numbers of requests begin with the initial TSN.
    init(initialTSN: UInt32) { nextNumber = initialTSN }

    var isIdle: Bool { waiting.isEmpty && request == nil }
    var hasWaiting: Bool { !waiting.isEmpty }

    mutating func ask(for stream: UInt16) { waiting.append(stream) }

    /// Begins a request for the waiting streams that have nothing left to send; returns them.
    mutating func begin(lastTSN: UInt32, where isReady: (UInt16) -> Bool) -> [UInt16] {
        guard request == nil, !waiting.isEmpty else { return [] }
        var chosen: [UInt16] = []
        var rest: [UInt16] = []
        for stream in waiting {
            if chosen.count < Self.maximumStreams, isReady(stream) {
                chosen.append(stream)
            } else {
                rest.append(stream)
            }
        }
        guard !chosen.isEmpty else { return [] }
        waiting = rest
        request = Request(number: nextNumber, lastTSN: lastTSN, streams: chosen)
        nextNumber &+= 1
        isDue = true
        return chosen
    }

    mutating func sent(at now: Instant, timeout: Interval) {
        isDue = false
        deadline = now + timeout
    }

    /// Whether the request has waited long enough to be sent again.
    mutating func tick(at now: Instant) -> Bool {
        guard request != nil, let deadline, deadline <= now else { return false }
        isDue = true
        self.deadline = nil
        return true
    }

    /// The peer's last word on a request: it is over.
    mutating func answered(_ number: UInt32) -> Request? {
        guard let request, request.number == number else { return nil }
        self.request = nil
        deadline = nil
        isDue = false
        return request
    }
}
