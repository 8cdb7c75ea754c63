internal import RTCWire

/// Resetting streams (RFC 6525), by which RFC 8831 §6.7 closes data channels.
extension SCTPAssociation {
    /// Resets our outgoing side of these streams when what is queued on them has been sent. `outgoingStreamsReset`
    /// tells when it is done, `outgoingStreamsNotReset` that it cannot be; until then `send` on them throws
    /// `streamClosing`.
    public mutating func resetStreams(_ streams: [UInt16], at now: Instant) {
        self.now = now
        guard state.acceptsMessages else { return }
        var missing: [UInt16] = []
        for stream in streams where queue.phase(of: stream) == .open {
            // RFC 9260 §5.1.1: the peer may send on more streams than it takes.
            guard stream < outboundStreams else {
                missing.append(stream)
                continue
            }
            queue.setPhase(of: stream, to: .draining)
            outgoingResets.ask(for: stream)
        }
        queue.hasDrained = true
        if !missing.isEmpty { outputs.append(.outgoingStreamsNotReset(missing)) }
    }

    /// Asks the peer, once the streams have sent everything and it has come.
    mutating func beginResets() {
        guard outgoingResets.hasWaiting, let peer else { return }
        if queue.hasDrained {
            queue.hasDrained = false
            outgoingResets.noteDrained(highest: flight.highest) { [queue] in queue.isDrained($0) }
        }
        let streams = outgoingResets.begin(acknowledged: flight.cumulative)
        guard !streams.isEmpty else { return }
        for stream in streams { queue.setPhase(of: stream, to: .resetting) }
        if !peer.features.contains(.reconfiguration), let request = outgoingResets.request {
            // Nobody to ask: the numbers go on.
            finishReset(request.number, isReset: false)
        }
    }

    mutating func writeResetRequest(into packet: inout [UInt8]) {
        guard outgoingResets.isDue, let request = outgoingResets.request,
            packet.count + 24 + 2 * request.streams.count <= configuration.maximumPacketSize
        else { return }
        let start = packet.beginSCTPChunk(.reconfiguration)
        SCTPReconfiguration.outgoingReset(
            request: request.number, response: incomingResets.lastNumber, lastTSN: request.lastTSN,
            streams: request.streams
        ).write(into: &packet)
        packet.endSCTPChunk(start)
        outgoingResets.sent(at: now, timeout: roundTrip.timeout)
    }

    mutating func receiveReconfiguration(_ chunk: borrowing SCTPChunk, arrival: inout Arrival) {
        guard state.isLive else { return }
        for parameter in SCTPReconfiguration.read(chunk).prefix(2) {
            switch parameter {
            case .outgoingReset(let request, _, let lastTSN, let streams):
                if streams.isEmpty {
                    // To walk over all of them for a few bytes is dear; §5.1.1: a peer asks one thing at a time.
                    guard !arrival.hasResetAll else { continue }
                    arrival.hasResetAll = true
                }
                let verdict = incomingResets.requested(
                    request, lastTSN: lastTSN, streams: streams, cumulativeTSN: received.cumulative)
                take(verdict, on: request)
            // A side resets its own streams (RFC 8831 §6.7); 65,535 of them need no more (§6.2).
            case .incomingReset(let request, _), .otherRequest(_, let request):
                take(incomingResets.refused(request), on: request)
            case .response(let request, let result): receiveResult(result, of: request)
            }
        }
    }

    private mutating func take(_ verdict: SCTPIncomingResets.Verdict, on request: UInt32) {
        switch verdict {
        case .answer(let result): answer(request, result)
        case .reset(let streams): resetIncoming(streams, request: request)
        case .wait: break
        }
    }

    /// RFC 6525 §5.2.2: the data that requests waited for has come.
    mutating func grantDeferredResets() {
        while let granted = incomingResets.takeDeferred(cumulativeTSN: received.cumulative) {
            resetIncoming(granted.streams, request: granted.request)
        }
    }

    private mutating func resetIncoming(_ streams: [UInt16], request: UInt32) {
        tellDelivered()
        reassembly.reset(streams)
        tellReceiveWindow()
        answer(request, SCTPReconfigurationResult.performed)
        outputs.append(.incomingStreamsReset(streams))
    }

    private mutating func answer(_ request: UInt32, _ result: UInt32) {
        var value: [UInt8] = []
        SCTPReconfiguration.response(request: request, result: result).write(into: &value)
        queueControl(.reconfiguration, value: value)
    }

    private mutating func receiveResult(_ result: UInt32, of request: UInt32) {
        if result == SCTPReconfigurationResult.inProgress || result == SCTPReconfigurationResult.alreadyInProgress {
            if outgoingResets.postponed(request, at: now, timeout: roundTrip.timeout) { timers.errors = 0 }
            return
        }
        let isReset =
            result == SCTPReconfigurationResult.performed || result == SCTPReconfigurationResult.nothingToDo
        finishReset(request, isReset: isReset)
    }

    /// A request that was refused is over as well; its streams keep counting.
    private mutating func finishReset(_ number: UInt32, isReset: Bool) {
        guard let request = outgoingResets.answered(number, isRefusal: !isReset) else { return }
        for stream in request.streams {
            if isReset { queue.forget(stream) } else { queue.setPhase(of: stream, to: .open) }
        }
        outputs.append(isReset ? .outgoingStreamsReset(request.streams) : .outgoingStreamsNotReset(request.streams))
    }
}
