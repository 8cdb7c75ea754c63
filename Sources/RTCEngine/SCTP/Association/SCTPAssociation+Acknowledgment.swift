internal import RTCWire

/// What the peer acknowledges (RFC 9260 §6.2.1, §6.3.2, §7.2).
extension SCTPAssociation {
    mutating func receiveAcknowledgment(_ chunk: borrowing SCTPChunk) {
        guard state.isLive, let sack = SCTPSelectiveAcknowledgment(chunk) else { return }
        acknowledged(upTo: sack.cumulativeTSN, blocks: sack.blocks, window: Int(sack.receiverWindow))
    }

    /// `window` is nil in a SHUTDOWN, which does not tell it.
    mutating func acknowledged(upTo tsn: UInt32, blocks: [SCTPSelectiveAcknowledgment.Block], window: Int?) {
        let inFlight = flight.bytesInFlight
        guard
            let result = flight.acknowledge(upTo: tsn, blocks: blocks, isRecovering: congestion.isRecovering, at: now)
        else { return }
        if let window { advertisedWindow = window }
        // §8.1; §6.1 A: a peer without room that answers is alive.
        let hasNoRoom = advertisedWindow < configuration.maximumPacketSize
        if result.bytes > 0 || result.hasAdvanced || hasNoRoom { timers.errors = 0 }
        if let time = result.roundTrip { roundTrip.measured(time) }
        congestion.acknowledged(
            result.bytes, inFlight: inFlight, cumulative: flight.cumulative, hasAdvanced: result.hasAdvanced)
        if result.foundLosses > 0 {
            counters.fastRetransmissions += result.foundLosses
            congestion.lost(highest: flight.highest)
            // §7.2.4 3: the first packet of them leaves, whatever the window says.
            owesFastRetransmission = true
            abandonLosses()
        }
        burst = min(max(burst, congestion.burst) + result.bytes, congestion.window + congestion.burst)
        // §6.3.2 R2, R3.
        if flight.isEmpty {
            timers.retransmission = nil
            congestion.ranDry()
        } else if result.hasAdvanced {
            timers.retransmission = now + roundTrip.timeout
        }
        if result.bytes > 0 { measureAfterSilence() }
        forwardAbandoned()
    }

    /// What was sent again measures no round trip (§6.3.1 C4), so a back-off would outlast the silence that it came
    /// from: where nothing but that is left to send, the next loss costs twice the wait. A HEARTBEAT measures at once
    /// (§8.3).
    private mutating func measureAfterSilence() {
        guard roundTrip.isBackedOff, timers.heartbeatNonce == nil, !flight.isEmpty else { return }
        sendHeartbeat()
    }

    /// §6.3.3: the retransmission timer.
    mutating func retransmissionTimedOut() {
        counters.retransmissionTimeouts += 1
        guard countError() else { return }
        congestion.timedOut()
        roundTrip.backOff()
        // An answer that has not come by now tells nothing any more.
        timers.heartbeatNonce = nil
        flight.loseAll()
        abandonLosses()
        burst = max(burst, congestion.burst)
        forwardIsDue = flight.leadingAbandoned > 0
        timers.retransmission = flight.isEmpty ? nil : now + roundTrip.timeout
    }

    /// RFC 9260 §8.1: false when the peer has been silent for too long, and the association is over.
    mutating func countError() -> Bool {
        timers.errors += 1
        guard timers.errors > configuration.maximumRetransmissions else { return true }
        // It may hear us even so.
        sendAbort(nil)
        move(to: .closed(.peerUnreachable))
        return false
    }

    /// RFC 3758 §3.5 A: what is lost and not worth another try is given up.
    private mutating func abandonLosses() {
        guard queue.mayAbandon else { return }
        // `chunks` may grow in the loop, by ends that are abandoned already.
        for index in 0..<flight.chunks.count { abandonIfGivenUp(index) }
    }

    /// Whether the chunk was given up.
    @discardableResult
    mutating func abandonIfGivenUp(_ index: Int) -> Bool {
        guard queue.mayAbandon, let abandoned = flight.abandonIfGivenUp(index, at: now) else { return false }
        counters.messagesAbandoned += 1
        if abandoned.isUnfinished {
            queue.abandonFirst(of: abandoned.stream)
            flight.appendEnd(of: abandoned.header, at: now)
        }
        return true
    }

    /// RFC 3758 §3.5 C: tells the peer what it need not wait for; again when that seems to be lost.
    mutating func forwardAbandoned() {
        let leading = flight.leadingAbandoned
        guard leading > 0 else {
            forwardedTSN = nil
            return
        }
        let target = flight.tsn(at: leading - 1)
        let patience = roundTrip.smoothed ?? roundTrip.timeout
        if target != forwardedTSN || now - forwardedAt >= patience { forwardIsDue = true }
    }
}
