internal import RTCWire

/// The peer's requests to reset its outgoing streams (RFC 6525 §5.2.1, §5.2.2). A peer that keeps to §5.1.1 has one
/// under way; some have several, whose packets may overtake each other.
struct SCTPIncomingResets: Sendable {
    /// A request that waits for data which was sent before it.
    private struct Deferred: Sendable {
        /// The one that asks now. Who was told "in progress" asks anew under the next number (RFC 6525 §5.2.7 asks for
        /// the same one).
        var request: UInt32
        let lastTSN: UInt32
        let streams: [UInt16]
        /// The same streams: each chunk of DATA is looked up.
        let named: Set<UInt16>

        init(request: UInt32, lastTSN: UInt32, streams: [UInt16]) {
            self.request = request
            self.lastTSN = lastTSN
            self.streams = streams
            named = Set(streams)
        }
    }

    /// The number of the last request that was taken up, as our requests tell it (RFC 6525 §4.1).
    var lastNumber: UInt32 { expected &- 1 }

    enum Verdict: Hashable, Sendable {
        case answer(UInt32)
        /// Reset these now, and answer that it was done. None means all.
        case reset([UInt16])
        /// Nothing is said: the peer asks again, when it has its turn.
        case wait
    }

    /// How far ahead of the next request another may be: Pion has up to 1,000 under way.
    private static let reach = 1_024
    /// How many requests may wait, and how many answers are kept.
    private static let kept = 16

    /// The number of the next request.
    private var expected: UInt32
    private var deferred: [Deferred] = []
    /// What was said last of requests that are over, oldest first.
    private var answers: [(request: UInt32, result: UInt32)] = []
    /// What was granted after "in progress": the peer may not have heard of it, and asks anew.
    private var granted: Deferred?

    /// RFC 6525 §4.1: the numbers of requests begin with the initial TSN.
    init(initialTSN: UInt32) { expected = initialTSN }

    mutating func requested(
        _ request: UInt32, lastTSN: UInt32, streams: [UInt16], cumulativeTSN: UInt32
    ) -> Verdict {
        if let verdict = verdict(onNumber: request) { return verdict }
        let before = granted
        granted = nil
        let isReached = !SerialNumber.isNewer(lastTSN, than: cumulativeTSN)
        if let before, before.lastTSN == lastTSN, before.streams == streams {
            // Done already, and perhaps another channel is on the stream by now.
            return .answer(conclude(request, SCTPReconfigurationResult.performed))
        }
        if let index = deferred.firstIndex(where: { $0.lastTSN == lastTSN && $0.streams == streams }) {
            remember(deferred[index].request, SCTPReconfigurationResult.inProgress)
            if isReached {
                deferred.remove(at: index)
                conclude(request, SCTPReconfigurationResult.performed)
                return .reset(streams)
            }
            expected = request &+ 1
            deferred[index].request = request
            return .answer(SCTPReconfigurationResult.inProgress)
        }
        guard isReached else {
            guard deferred.count < Self.kept else { return .wait }
            // §5.2.2 E3: not before everything that was sent on those streams has come.
            expected = request &+ 1
            deferred.append(Deferred(request: request, lastTSN: lastTSN, streams: streams))
            return .answer(SCTPReconfigurationResult.inProgress)
        }
        conclude(request, SCTPReconfigurationResult.performed)
        return .reset(streams)
    }

    /// A request that we do not grant, whatever it is.
    mutating func refused(_ request: UInt32) -> Verdict {
        if let verdict = verdict(onNumber: request) { return verdict }
        return .answer(conclude(request, SCTPReconfigurationResult.denied))
    }

    /// What the number alone decides; nil for the next one.
    private func verdict(onNumber request: UInt32) -> Verdict? {
        let distance = SerialNumber.distance(from: expected, to: request)
        if distance == 0 { return nil }
        // One before it was lost or overtaken. "Bad sequence number" would end it for good (§5.2.1 means other
        // numbers).
        if distance > 0, distance <= Self.reach { return .wait }
        if deferred.contains(where: { $0.request == request }) { return .answer(SCTPReconfigurationResult.inProgress) }
        // §5.2.1: what comes again is answered as before.
        let known = answers.last { $0.request == request }
        return .answer(known?.result ?? SCTPReconfigurationResult.badSequenceNumber)
    }

    @discardableResult
    private mutating func conclude(_ request: UInt32, _ result: UInt32) -> UInt32 {
        expected = request &+ 1
        remember(request, result)
        return result
    }

    private mutating func remember(_ request: UInt32, _ result: UInt32) {
        if answers.count >= Self.kept { answers.removeFirst() }
        answers.append((request, result))
    }

    /// A request that can be granted now that everything up to `cumulativeTSN` has come.
    mutating func takeDeferred(cumulativeTSN: UInt32) -> (request: UInt32, streams: [UInt16])? {
        let isReached = { (waiting: Deferred) in !SerialNumber.isNewer(waiting.lastTSN, than: cumulativeTSN) }
        guard let index = deferred.firstIndex(where: isReached) else { return nil }
        let waiting = deferred.remove(at: index)
        granted = waiting
        remember(waiting.request, SCTPReconfigurationResult.performed)
        return (waiting.request, waiting.streams)
    }

    /// §5.2.2 E3: data of a stream that is about to be reset, from after the request. RFC 6525 §5.1.2 forbids the peer
    /// to send it; it is not taken until the reset is done.
    func isPremature(_ header: SCTPDataHeader) -> Bool {
        deferred.contains { waiting in
            SerialNumber.isNewer(header.tsn, than: waiting.lastTSN)
                && (waiting.named.isEmpty || waiting.named.contains(header.stream))
        }
    }
}
