internal import RTCWire

/// The second half of the handshake (RFC 9260 §5.1 D, E; §5.2.4).
extension SCTPAssociation {
    /// False when the rest of the packet is not to be looked at.
    mutating func receiveCookieEcho(_ chunk: borrowing SCTPChunk, tag: UInt32) -> Bool {
        // §5.1.5: ours, unchanged, and under the tag that it was made for.
        guard let cookie = SCTPCookie(opening: chunk.value, with: cookieKey), cookie.localTag == tag else {
            return false
        }
        let known = peer ?? handshake.peer
        let match: SCTPCookie.Match =
            state == .new ? .collision : cookie.match(localTag: handshake.localTag, peerTag: known?.tag)
        // §5.2.4: age does not count for the association that there is.
        if match != .same, now - cookie.madeAt > configuration.cookieLifetime {
            refuseStale(cookie)
            return false
        }
        switch match {
        case .restart: return restart(cookie)
        case .collision:
            // Two handshakes under way. Once one of them is done, another tag cannot be the peer's.
            guard !state.isLive else { return false }
            establish(with: cookie.peer)
        case .same:
            if !state.isLive { establish(with: cookie.peer) }
        case .late, .stranger: return false
        }
        cookieAcknowledgmentIsDue = true
        return true
    }

    mutating func receiveCookieAcknowledgment() {
        // §5.2.5: elsewhere it is passed over.
        guard state == .cookieEchoed, let peer = handshake.peer else { return }
        establish(with: peer)
    }

    /// §5.2.4.1 A: the peer has lost everything; so do we.
    private mutating func restart(_ cookie: SCTPCookie) -> Bool {
        if state == .shutdownAckSent {
            // §5.2.4.1: no new association while one is ending.
            queueControl(.shutdownAcknowledgment)
            return false
        }
        handshake.localTag = cookie.localTag
        handshake.localInitialTSN = cookie.localInitialTSN
        queue = SCTPSendQueue()
        control.removeAll()
        flight = SCTPFlight(initialTSN: cookie.localInitialTSN)
        roundTrip = SCTPRoundTrip(configuration: configuration)
        congestion = SCTPCongestion(configuration: configuration)
        outgoingResets = SCTPOutgoingResets(initialTSN: cookie.localInitialTSN)
        reassembly = SCTPReassembly(maximumMessageSize: configuration.localMaximumMessageSize)
        acknowledgments = SCTPAcknowledgmentSchedule(delay: configuration.acknowledgmentDelay)
        timers = SCTPTimers()
        forwardedTSN = nil
        forwardIsDue = false
        outputs.append(.restarted)
        establish(with: cookie.peer)
        cookieAcknowledgmentIsDue = true
        return true
    }

    /// §3.3.10.3: by how many microseconds it is too old.
    private mutating func refuseStale(_ cookie: SCTPCookie) {
        let staleness = (now - cookie.madeAt - configuration.cookieLifetime).nanoseconds / 1_000
        sendAlone(tag: cookie.peer.tag) { packet in
            let error = packet.beginSCTPChunk(.error)
            let cause = packet.beginSCTPParameter(SCTPCauseCode.staleCookie)
            packet.append(uint32: UInt32(clamping: staleness))
            packet.endSCTPParameter(cause)
            packet.endSCTPChunk(error)
        }
    }

    private mutating func establish(with peer: SCTPPeer) {
        self.peer = peer
        handshake.deadline = nil
        handshake.cookie = []
        handshake.unrecognized = []
        received = SCTPReceivedTSNs(initialTSN: peer.initialTSN)
        incomingResets = SCTPIncomingResets(initialTSN: peer.initialTSN)
        advertisedWindow = Int(peer.window)
        burst = congestion.window
        // RFC 8260 §2.2.1: when both have offered it.
        let isInterleaved = configuration.offersInterleaving && peer.features.contains(.interleaving)
        reassembly.isInterleaved = isInterleaved
        queue.isInterleaved = isInterleaved
        queue.mayAbandon = peer.features.contains(.partialReliability)
        queue.maximumBegun = Int(peer.window) / 2
        queue.discardStreams(from: outboundStreams)
        move(to: .established)
        scheduleHeartbeat()
        outputs.append(.established(inboundStreams: inboundStreams, outboundStreams: outboundStreams))
    }

    /// RFC 9260 §5.1.1: the lesser of what one side wants and the other grants.
    var outboundStreams: UInt16 { min(configuration.streams, peer?.inboundStreams ?? .max) }
    var inboundStreams: UInt16 { min(configuration.streams, peer?.outboundStreams ?? .max) }
}
