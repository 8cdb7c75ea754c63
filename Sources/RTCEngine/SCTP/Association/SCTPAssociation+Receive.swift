internal import RTCWire

extension SCTPAssociation {
    /// A packet that came out of DTLS. One that is malformed or nobody's changes nothing.
    public mutating func receive(_ packet: RawSpan, at now: Instant) {
        self.now = now
        counters.packetsReceived += 1
        counters.bytesReceived += packet.byteCount
        guard var reader = SCTPPacketReader(packet), isOurs(reader, packet), hasGoodChecksum(reader, packet) else {
            counters.packetsDiscarded += 1
            return
        }
        guard !state.isClosed else { return answerAfterEnd(packet) }
        let header = reader.header
        var arrival = Arrival()
        while let chunk = reader.next() {
            // RFC 9260 §3.3.2, §8.5.1 A: INIT stands alone.
            if chunk.type == SCTPChunkType.initiation.rawValue, !reader.isAtEnd { break }
            guard take(chunk, header: header, arrival: &arrival) else { break }
        }
        guard state.isLive else { return }
        if arrival.hasData {
            acknowledgments.packetReceived(isUrgent: arrival.isUrgent || received.hasGaps, at: now)
            if state == .shutdownSent { receivedDataAfterShutdown() }
        }
        tellDelivered()
        grantDeferredResets()
        proceedShutdown()
    }

    /// What a packet brought, for the SACK that answers it above all.
    struct Arrival {
        var hasData = false
        /// A duplicate, a gap, or the wish of the sender: the SACK does not wait.
        var isUrgent = false
        /// A request to reset all streams: another one in the packet is passed over.
        var hasResetAll = false
    }

    /// RFC 9260 §8.5: the verification tag is the one that we gave the peer, with the exceptions of §8.5.1.
    private func isOurs(_ reader: borrowing SCTPPacketReader, _ packet: RawSpan) -> Bool {
        let header = reader.header
        guard header.sourcePort == configuration.remotePort, header.destinationPort == configuration.localPort,
            let type = reader.firstType.map(SCTPChunkType.init(rawValue:))
        else { return false }
        let isReflected = packet.byte(at: SCTPCommonHeader.size + 1).map { $0 & SCTPChunkFlag.reflectedTag != 0 }
        switch type {
        case .initiation: return header.verificationTag == 0
        // The cookie says which tag it goes with.
        case .cookieEcho: return true
        case .abort where isReflected == true, .shutdownComplete where isReflected == true:
            return header.verificationTag == (peer ?? handshake.peer)?.tag
        // §8.5.1 E: of an association that is over, ours or one before.
        case .shutdownAcknowledgment where !state.isLive: return true
        case .data, .initiationAcknowledgment, .selectiveAcknowledgment, .heartbeat, .heartbeatAcknowledgment, .abort,
            .shutdown, .shutdownAcknowledgment, .error, .cookieAcknowledgment, .shutdownComplete, .interleavedData,
            .reconfiguration, .forwardTSN, .interleavedForwardTSN, nil:
            return header.verificationTag == handshake.localTag
        }
    }

    /// RFC 9260 §6.8; RFC 9653 §5.3: none at all is fine over DTLS, once we have said so, but not in the handshake.
    private func hasGoodChecksum(_ reader: borrowing SCTPPacketReader, _ packet: RawSpan) -> Bool {
        switch SCTPChecksum.verdict(on: packet) {
        case .correct: return true
        case .wrong: return false
        case .zero:
            let isHandshake =
                reader.firstType == SCTPChunkType.initiation.rawValue
                || reader.firstType == SCTPChunkType.cookieEcho.rawValue
            return configuration.offersZeroChecksum && !isHandshake || SCTPChecksum.isTrulyZero(packet)
        }
    }

    /// False when the rest of the packet is not to be looked at.
    private mutating func take(
        _ chunk: borrowing SCTPChunk, header: SCTPCommonHeader, arrival: inout Arrival
    ) -> Bool {
        switch SCTPChunkType(rawValue: chunk.type) {
        case .initiation: receiveInitiation(chunk)
        case .initiationAcknowledgment: return receiveInitiationAcknowledgment(chunk)
        case .cookieEcho: return receiveCookieEcho(chunk, tag: header.verificationTag)
        case .cookieAcknowledgment: receiveCookieAcknowledgment()
        case .data, .interleavedData: return receiveData(chunk, arrival: &arrival)
        case .forwardTSN, .interleavedForwardTSN: receiveForwardTSN(chunk, arrival: &arrival)
        case .selectiveAcknowledgment: receiveAcknowledgment(chunk)
        case .reconfiguration: receiveReconfiguration(chunk, arrival: &arrival)
        case .heartbeat: receiveHeartbeat(chunk)
        case .heartbeatAcknowledgment: receiveHeartbeatAcknowledgment(chunk)
        case .abort:
            receiveAbort(chunk)
            return false
        case .error: receiveError(chunk)
        case .shutdown: receiveShutdown(chunk)
        case .shutdownAcknowledgment: receiveShutdownAcknowledgment(tag: header.verificationTag)
        case .shutdownComplete: receiveShutdownComplete()
        case nil: return receiveUnknown(chunk)
        }
        return !state.isClosed
    }

    /// RFC 9260 §3.2: the type says what to do with what is not known.
    private mutating func receiveUnknown(_ chunk: borrowing SCTPChunk) -> Bool {
        let action = SCTPUnknownAction(chunkType: chunk.type)
        if action.reports, state.isLive {
            var cause: [UInt8] = []
            let start = cause.beginSCTPParameter(SCTPCauseCode.unrecognizedChunk)
            // What does not fit a packet beside the heads of packet, chunk and cause is cut off.
            let room = min(512, configuration.maximumPacketSize - SCTPCommonHeader.size - 8)
            cause.append(contentsOf: chunk.whole.extracting(0..<min(chunk.whole.byteCount, room)))
            cause.endSCTPParameter(start)
            queueControl(.error, value: cause)
        }
        return action.goesOn
    }

    /// RFC 9260 §3.3.7.
    private mutating func receiveAbort(_ chunk: borrowing SCTPChunk) {
        guard state != .new else { return }
        move(to: .closed(.abortedByPeer(cause: SCTPParameter.read(chunk.value).first?.type)))
    }

    private mutating func receiveError(_ chunk: borrowing SCTPChunk) {
        let causes = SCTPParameter.read(chunk.value)
        if state == .cookieEchoed, causes.contains(where: { $0.type == SCTPCauseCode.staleCookie }) { beginAgain() }
    }

    /// RFC 9260 §8.3.
    private mutating func receiveHeartbeat(_ chunk: borrowing SCTPChunk) {
        guard state.isLive else { return }
        queueControl(.heartbeatAcknowledgment, value: chunk.value.withUnsafeBytes { [UInt8]($0) })
    }

    private mutating func receiveHeartbeatAcknowledgment(_ chunk: borrowing SCTPChunk) {
        guard state.isLive, let info = SCTPParameter.read(chunk.value).first,
            info.type == SCTPParameterType.heartbeatInfo
        else { return }
        var reader = ByteReader(info.value.span.bytes)
        guard let nonce = reader.readUInt64(), nonce == timers.heartbeatNonce else { return }
        timers.heartbeatNonce = nil
        timers.errors = 0
        // §8.3: what undoes the back-off where no DATA is measured.
        roundTrip.measured(now - timers.heartbeatSentAt)
        if let deadline = timers.retransmission {
            timers.retransmission = min(deadline, now + roundTrip.timeout)
        }
        scheduleHeartbeat()
    }
}
