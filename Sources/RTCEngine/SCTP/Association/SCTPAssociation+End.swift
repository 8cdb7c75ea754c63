internal import RTCWire

/// Ending an association (RFC 9260 §9).
extension SCTPAssociation {
    /// RFC 9260 §9.2: sends what is queued, waits for its arrival, then ends the association.
    public mutating func shutdown(at now: Instant) {
        self.now = now
        switch state {
        case .established:
            move(to: .shutdownPending)
            proceedShutdown()
        case .new, .cookieWait, .cookieEchoed: abort(because: .shutdown)
        case .shutdownPending, .shutdownSent, .shutdownReceived, .shutdownAckSent, .closed: break
        }
    }

    /// RFC 9260 §9.1: ends it at once.
    public mutating func abort(at now: Instant) {
        self.now = now
        abort(because: .aborted)
    }

    private mutating func abort(because reason: SCTPCloseReason) {
        guard !state.isClosed else { return }
        sendAbort(SCTPCauseCode.userInitiatedAbort)
        move(to: .closed(reason))
    }

    /// The peer broke a rule that leaves no way on. Always false, for "the rest of the packet is not to be looked at".
    mutating func fail(_ cause: UInt16, value: [UInt8] = [], _ text: String) -> Bool {
        sendAbort(cause, value: value)
        move(to: .closed(.protocolViolation(text)))
        return false
    }

    private mutating func sendAbort(_ cause: UInt16, value: [UInt8] = []) {
        guard let peer = peer ?? handshake.peer else { return }
        sendAlone(tag: peer.tag) { packet in
            let start = packet.beginSCTPChunk(.abort)
            packet.appendSCTPParameter(cause, value: value)
            packet.endSCTPChunk(start)
        }
    }

    /// Goes on with the shutdown when everything has arrived.
    mutating func proceedShutdown() {
        guard state == .shutdownPending || state == .shutdownReceived, queue.isEmpty, flight.isEmpty else { return }
        if state == .shutdownPending {
            move(to: .shutdownSent)
        } else {
            move(to: .shutdownAckSent)
        }
        sendShutdown()
    }

    private mutating func sendShutdown() {
        if state == .shutdownAckSent {
            queueControl(.shutdownAcknowledgment)
        } else {
            var tsn: [UInt8] = []
            tsn.append(uint32: received.cumulative)
            queueControl(.shutdown, value: tsn)
        }
        timers.shutdown = now + roundTrip.timeout
    }

    /// T2-shutdown.
    mutating func shutdownTimedOut() {
        guard countError() else { return }
        roundTrip.backOff()
        sendShutdown()
    }

    mutating func receiveShutdown(_ chunk: borrowing SCTPChunk) {
        guard let tsn = chunk.value.uint32(at: 0) else { return }
        switch state {
        case .established, .shutdownPending:
            move(to: .shutdownReceived)
            acknowledged(upTo: tsn, blocks: [], window: nil)
            proceedShutdown()
        case .shutdownReceived: acknowledged(upTo: tsn, blocks: [], window: nil)
        case .shutdownSent:
            // Both began at once.
            move(to: .shutdownAckSent)
            sendShutdown()
        case .shutdownAckSent: queueControl(.shutdownAcknowledgment)
        case .new, .cookieWait, .cookieEchoed, .closed: break
        }
    }

    mutating func receiveShutdownAcknowledgment() {
        guard state == .shutdownSent || state == .shutdownAckSent, let peer else { return }
        sendAlone(tag: peer.tag) { $0.appendSCTPChunk(.shutdownComplete) }
        move(to: .closed(.shutdown))
    }

    mutating func receiveShutdownComplete() {
        guard state == .shutdownAckSent else { return }
        move(to: .closed(.shutdown))
    }

    /// RFC 9260 §8.4 5: our SHUTDOWN COMPLETE was lost, and the peer asks again.
    mutating func answerAfterEnd(_ chunk: borrowing SCTPChunk, header: SCTPCommonHeader) {
        guard chunk.type == SCTPChunkType.shutdownAcknowledgment.rawValue else { return }
        sendAlone(tag: header.verificationTag) {
            $0.appendSCTPChunk(.shutdownComplete, flags: SCTPChunkFlag.reflectedTag)
        }
    }
}
