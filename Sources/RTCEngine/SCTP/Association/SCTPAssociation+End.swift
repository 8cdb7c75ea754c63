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

    /// Tells the peer, as far as it is known.
    mutating func sendAbort(_ cause: UInt16?, value: [UInt8] = []) {
        guard let peer = peer ?? handshake.peer else { return }
        sendAlone(tag: peer.tag) { packet in
            let start = packet.beginSCTPChunk(.abort)
            if let cause { packet.appendSCTPParameter(cause, value: value) }
            packet.endSCTPChunk(start)
        }
    }

    /// Goes on with the shutdown when everything has arrived.
    mutating func proceedShutdown() {
        guard state == .shutdownPending || state == .shutdownReceived, queue.isEmpty, flight.isEmpty else { return }
        if state == .shutdownPending {
            move(to: .shutdownSent)
            // T5-shutdown-guard: a peer that never stops sending does not keep us.
            timers.shutdownGuard = now + configuration.maximumRTO * 5
        } else {
            move(to: .shutdownAckSent)
        }
        sendShutdown()
    }

    private mutating func sendShutdown() {
        if state == .shutdownAckSent { queueControl(.shutdownAcknowledgment) } else { shutdownIsDue = true }
        timers.shutdown = now + (timers.shutdownInterval ?? roundTrip.timeout)
    }

    /// Bytes of a SHUTDOWN chunk (RFC 9260 §3.3.8).
    private static let shutdownSize = 8

    /// SHUTDOWN says up to where everything has come, when it leaves.
    mutating func writeShutdown(into packet: inout [UInt8]) {
        // Behind a full acknowledgment it goes with the next packet.
        guard shutdownIsDue, packet.count + Self.shutdownSize <= configuration.maximumPacketSize else { return }
        shutdownIsDue = false
        var tsn: [UInt8] = []
        tsn.append(uint32: received.cumulative)
        packet.appendSCTPChunk(.shutdown, value: tsn)
    }

    /// §9.2: a peer that has more to send answers SHUTDOWN with DATA. It is there, and hears of each packet at once.
    mutating func receivedDataAfterShutdown() {
        timers.errors = 0
        timers.shutdownInterval = nil
        acknowledgments.packetReceived(isUrgent: true, at: now)
        sendShutdown()
    }

    /// T2-shutdown, which backs off by itself: nothing was measured.
    mutating func shutdownTimedOut() {
        guard countError() else { return }
        let interval = timers.shutdownInterval ?? roundTrip.timeout
        timers.shutdownInterval = max(interval, min(interval * 2, configuration.maximumBackOff))
        sendShutdown()
    }

    /// T5-shutdown-guard.
    mutating func shutdownGuardTimedOut() {
        sendAbort(nil)
        move(to: .closed(.peerUnreachable))
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

    mutating func receiveShutdownAcknowledgment(tag: UInt32) {
        switch state {
        case .shutdownSent, .shutdownAckSent:
            guard let peer else { return }
            sendAlone(tag: peer.tag) { $0.appendSCTPChunk(.shutdownComplete) }
            move(to: .closed(.shutdown))
        // §8.5.1 E.
        case .new, .cookieWait, .cookieEchoed: answerShutdownAcknowledgment(tag: tag)
        case .established, .shutdownPending, .shutdownReceived, .closed: break
        }
    }

    mutating func receiveShutdownComplete() {
        guard state == .shutdownAckSent else { return }
        move(to: .closed(.shutdown))
    }
}
