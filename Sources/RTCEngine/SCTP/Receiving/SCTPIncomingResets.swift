internal import RTCWire

/// The peer's requests to reset its outgoing streams (RFC 6525 §5.2.2).
struct SCTPIncomingResets: Sendable {
    /// A request that waits for data which was sent before it.
    private struct Deferred: Sendable {
        let request: UInt32
        let lastTSN: UInt32
        let streams: [UInt16]
    }

    /// The number of the last request that was taken up, as our requests tell it (RFC 6525 §4.1).
    var lastNumber: UInt32 { expected &- 1 }

    enum Verdict: Sendable {
        case answer(UInt32)
        /// Reset these now, and answer that it was done. None means all.
        case reset([UInt16])
    }

    /// The number of the next request.
    private var expected: UInt32
    private var deferred: Deferred?
    private var lastResult = SCTPReconfigurationResult.nothingToDo

    /// RFC 6525 §4.1: the numbers of requests begin with the initial TSN.
    init(initialTSN: UInt32) { expected = initialTSN }

    /// §5.2.1: one request at a time; the last one may come again, when its answer was lost.
    mutating func requested(
        _ request: UInt32, lastTSN: UInt32, streams: [UInt16], cumulativeTSN: UInt32
    ) -> Verdict {
        if let answer = answerToRepetition(of: request) { return .answer(answer) }
        guard deferred == nil else { return .answer(SCTPReconfigurationResult.alreadyInProgress) }
        expected = request &+ 1
        // §5.2.2 E3: not before everything that was sent on those streams has come.
        if SerialNumber.isNewer(lastTSN, than: cumulativeTSN) {
            deferred = Deferred(request: request, lastTSN: lastTSN, streams: streams)
            return .answer(SCTPReconfigurationResult.inProgress)
        }
        lastResult = SCTPReconfigurationResult.performed
        return .reset(streams)
    }

    /// A request that we do not grant, whatever it is.
    mutating func refused(_ request: UInt32) -> UInt32 {
        if let answer = answerToRepetition(of: request) { return answer }
        expected = request &+ 1
        lastResult = SCTPReconfigurationResult.denied
        return lastResult
    }

    private func answerToRepetition(of request: UInt32) -> UInt32? {
        if request == expected { return nil }
        guard request == expected &- 1 else { return SCTPReconfigurationResult.badSequenceNumber }
        return deferred?.request == request ? SCTPReconfigurationResult.inProgress : lastResult
    }

    /// The request that can be granted now that everything up to `cumulativeTSN` has come.
    mutating func takeDeferred(cumulativeTSN: UInt32) -> (request: UInt32, streams: [UInt16])? {
        guard let waiting = deferred, !SerialNumber.isNewer(waiting.lastTSN, than: cumulativeTSN) else { return nil }
        deferred = nil
        lastResult = SCTPReconfigurationResult.performed
        return (waiting.request, waiting.streams)
    }

    /// §5.2.2 E3: data of a stream that is about to be reset, from after the request. RFC 6525 §5.1.2 forbids the peer to
    /// send it; it is not taken until the reset is done.
    func isPremature(_ header: SCTPDataHeader) -> Bool {
        guard let deferred, SerialNumber.isNewer(header.tsn, than: deferred.lastTSN) else { return false }
        return deferred.streams.isEmpty || deferred.streams.contains(header.stream)
    }
}
