internal import RTCWire

extension SCTPAssociation {
    /// Call when `nextWake` has come.
    public mutating func tick(at now: Instant) {
        self.now = now
        acknowledgments.tick(at: now)
        if let deadline = handshake.deadline, deadline <= now { handshakeTimedOut() }
        if let deadline = timers.retransmission, deadline <= now { retransmissionTimedOut() }
        if let deadline = timers.shutdown, deadline <= now { shutdownTimedOut() }
        if let deadline = timers.shutdownGuard, deadline <= now { shutdownGuardTimedOut() }
        let resetTimedOut = outgoingResets.tick(
            at: now, timeout: roundTrip.timeout, maximum: configuration.maximumBackOff)
        if resetTimedOut { _ = countError() }
        if let deadline = timers.heartbeat, deadline <= now { heartbeatTimedOut() }
    }

    /// When `tick` is next wanted; nil when nothing is pending. To be asked after the outputs have been polled.
    public var nextWake: Instant? {
        guard !state.isClosed else { return nil }
        let data = earliest(timers.next, acknowledgments.deadline)
        return earliest(earliest(handshake.deadline, outgoingResets.deadline), data)
    }

    /// RFC 9260 §8.3: HB.interval plus the RTO, more or less half of it.
    mutating func scheduleHeartbeat() {
        let half = max(roundTrip.timeout.nanoseconds / 2, 1)
        let jitter = Int64(random.next() % UInt64(half)) * 2 - half
        timers.heartbeat =
            now + configuration.heartbeatInterval + roundTrip.timeout + Interval(nanoseconds: jitter)
    }

    private mutating func heartbeatTimedOut() {
        // Data on its way probes the path as well.
        guard flight.isEmpty else {
            timers.heartbeatNonce = nil
            return scheduleHeartbeat()
        }
        if timers.heartbeatNonce != nil {
            guard countError() else { return }
            roundTrip.backOff()
        }
        sendHeartbeat()
    }

    mutating func sendHeartbeat() {
        let nonce = random.next()
        timers.heartbeatNonce = nonce
        timers.heartbeatSentAt = now
        var info: [UInt8] = []
        info.append(uint64: nonce)
        var value: [UInt8] = []
        value.appendSCTPParameter(SCTPParameterType.heartbeatInfo, value: info)
        queueControl(.heartbeat, value: value)
        timers.heartbeat = now + roundTrip.timeout
    }
}
