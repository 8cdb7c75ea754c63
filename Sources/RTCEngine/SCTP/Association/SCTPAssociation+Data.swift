internal import RTCWire

/// What the peer sends (RFC 9260 §6.2).
extension SCTPAssociation {
    /// a_rwnd: how much more we take.
    var receiveWindow: Int { max(0, configuration.receiveBuffer - reassembly.held - unread) }

    /// RFC 9260 §6.2: a window that opens again is told at once, and not for every byte (RFC 1122 §4.2.3.3). What the
    /// peer knows to be half of the buffer or more is enough.
    mutating func tellReceiveWindow() {
        let buffer = configuration.receiveBuffer
        guard state.takesData, toldReceiveWindow < buffer / 2, receiveWindow - toldReceiveWindow >= buffer / 8 else {
            return
        }
        acknowledgments.packetReceived(isUrgent: true, at: now)
    }

    /// How much of what was delivered the application has not taken. It counts against the window, so that a peer sends
    /// no faster than the application reads.
    public mutating func setUnread(_ bytes: Int, at now: Instant) {
        self.now = now
        unread = max(bytes, 0)
        tellReceiveWindow()
    }

    /// Hands over the messages that have become whole, and whose turn it is.
    mutating func tellDelivered() {
        reassembly.settleSkips(upTo: received.cumulative)
        while let message = reassembly.popDelivered() {
            counters.messagesReceived += 1
            outputs.append(.message(message))
        }
    }

    /// False when the association is over.
    mutating func receiveData(_ chunk: borrowing SCTPChunk, arrival: inout Arrival) -> Bool {
        guard state.takesData, let header = SCTPDataHeader(chunk) else { return true }
        // RFC 8260 §2.2.1: one kind only.
        guard header.isInterleaved == reassembly.isInterleaved else {
            return fail(SCTPCauseCode.protocolViolation, "DATA and I-DATA in one association")
        }
        let size = SCTPDataHeader.size(isInterleaved: header.isInterleaved) - 4
        let payload = chunk.value.extracting(size..<chunk.value.byteCount)
        guard !payload.isEmpty else {
            // RFC 9260 §6.2, §3.3.10.9.
            var tsn: [UInt8] = []
            tsn.append(uint32: header.tsn)
            return fail(SCTPCauseCode.noUserData, value: tsn, "DATA without data")
        }
        arrival.hasData = true
        if header.wantsAcknowledgment { arrival.isUrgent = true }
        let place = received.place(of: header.tsn)
        switch place {
        case .next, .ahead: break
        case .duplicate:
            received.noteDuplicate(header.tsn)
            counters.duplicateChunksReceived += 1
            arrival.isUrgent = true
            return true
        case .tooFar:
            arrival.isUrgent = true
            return true
        }
        guard !incomingResets.isPremature(header) else {
            arrival.isUrgent = true
            return true
        }
        guard hasRoom(for: payload.byteCount, isNext: place == .next) else {
            arrival.isUrgent = true
            return place != .next || !isStuck(for: payload.byteCount) || giveUp()
        }
        guard header.stream < inboundStreams else {
            received.record(header.tsn)
            reportInvalid(stream: header.stream)
            return true
        }
        switch reassembly.insert(header, payload) {
        case .taken: received.record(header.tsn)
        case .noRoom:
            arrival.isUrgent = true
            return place != .next || giveUp()
        case .tooLarge: return fail(SCTPCauseCode.protocolViolation, "a message larger than a=max-message-size")
        }
        return true
    }

    /// RFC 9260 §6.2: with the buffer full, only the chunk that lets others go is taken, up to twice the buffer.
    private func hasRoom(for count: Int, isNext: Bool) -> Bool {
        let held = reassembly.held + unread + count + SCTPReassembly.overhead
        return held <= configuration.receiveBuffer || isNext && held <= 2 * configuration.receiveBuffer
    }

    /// Whether what is not whole yet leaves no room for the chunk that everything waits for, however much the
    /// application reads. Only interleaving gets there: its senders may begin more messages than fit (RFC 8260 §2.2.1
    /// says nothing of it).
    private func isStuck(for count: Int) -> Bool {
        reassembly.held + count + SCTPReassembly.overhead > 2 * configuration.receiveBuffer
    }

    /// RFC 9260 §3.3.10.4: none of the messages can ever be finished. Always false, as `fail` is.
    private mutating func giveUp() -> Bool {
        sendAbort(SCTPCauseCode.outOfResource)
        move(to: .closed(.outOfBuffer))
        return false
    }

    /// §6.5: acknowledged, and not delivered.
    private mutating func reportInvalid(stream: UInt16) {
        var cause: [UInt8] = []
        let start = cause.beginSCTPParameter(SCTPCauseCode.invalidStream)
        cause.append(uint16: stream)
        cause.append(uint16: 0)
        cause.endSCTPParameter(start)
        queueControl(.error, value: cause)
    }

    /// RFC 3758 §3.6.
    mutating func receiveForwardTSN(_ chunk: borrowing SCTPChunk, arrival: inout Arrival) {
        guard state.takesData, let forward = SCTPForwardTSN(chunk), forward.isInterleaved == reassembly.isInterleaved
        else { return }
        arrival.hasData = true
        arrival.isUrgent = true
        guard SerialNumber.isNewer(forward.cumulativeTSN, than: received.cumulative) else { return }
        received.advance(to: forward.cumulativeTSN)
        reassembly.forward(forward)
    }

    /// The SACK for what has come.
    mutating func writeAcknowledgment(into packet: inout [UInt8]) {
        let entries = (configuration.maximumPacketSize - packet.count - 16) / 4
        toldReceiveWindow = receiveWindow
        received.acknowledgment(window: receiveWindow, maximumEntries: entries).write(into: &packet)
        acknowledgments.sent()
    }
}
