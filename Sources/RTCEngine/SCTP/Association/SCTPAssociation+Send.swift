internal import RTCWire

extension SCTPAssociation {
    /// Queues a message; before the association is established too.
    ///
    /// - Parameter isAdmitted: its sender has been told that there is room, so that it is not refused for want of it.
    public mutating func send(
        _ message: SCTPMessage, isAdmitted: Bool = false, at now: Instant
    ) throws(SCTPSendError) {
        self.now = now
        guard state.acceptsMessages else { throw .closed }
        guard !message.bytes.isEmpty else { throw .messageEmpty }
        let limit = configuration.remoteMaximumMessageSize
        guard limit == 0 || message.bytes.count <= limit else { throw .messageTooLarge(limit: limit) }
        guard message.stream < outboundStreams, queue.phase(of: message.stream) == .open else { throw .streamClosing }
        let cost = bytesKept
        let hasRoom = cost == 0 || cost + message.bytes.count + SCTPQueuedMessage.overhead <= configuration.sendBuffer
        guard hasRoom || isAdmitted else { throw .bufferFull }
        var expiry: Instant?
        var retransmits: UInt16?
        switch message.reliability {
        case .reliable: break
        case .maxRetransmits(let number): retransmits = number
        // A lifetime beyond an hour is as good as none, and stays within the clock's numbers. It says how long one goes
        // on trying (RFC 8831 §6.6): what can leave at once does, also where it is 0.
        case .maxLifetime(let lifetime):
            expiry = now + min(max(lifetime, .zero), .milliseconds(3_600_000)) + .milliseconds(1)
        }
        queue.append(
            SCTPQueuedMessage(
                bytes: message.bytes, payloadProtocol: message.payloadProtocol, isOrdered: message.isOrdered,
                expiry: expiry, maxRetransmits: retransmits), to: message.stream, at: now)
        burst = max(burst, congestion.burst)
    }

    /// Writes as much DATA as the packet, the network and the peer have room for (RFC 9260 §6.1).
    mutating func writeData(into packet: inout [UInt8]) {
        guard state.sendsData else { return }
        let start = packet.count
        var lastChunk: Int?
        writeRetransmissions(into: &packet, lastChunk: &lastChunk)
        if flight.lostChunks == 0 { writeNewData(into: &packet, lastChunk: &lastChunk) }
        guard let lastChunk else { return }
        congestion.sent(at: now)
        burst -= packet.count - start
        if timers.retransmission == nil { timers.retransmission = now + roundTrip.timeout }
        // RFC 7053 §4: a peer that waits for a second packet would wait in vain.
        let isAlone = flight.bytesInFlight < 2 * largestFragment
        if isAlone, !isWindowOpen || state == .shutdownPending || outgoingResets.hasWaiting {
            packet[lastChunk + 1] |= SCTPChunkFlag.acknowledgeNow
        }
    }

    /// Whether `writeData` would write something.
    var hasDataToWrite: Bool {
        guard state.sendsData else { return false }
        if flight.lostChunks > 0 { return owesFastRetransmission || isWindowOpen }
        return !queue.isEmpty && isWindowOpen && (advertisedWindow > flight.bytesInFlight || flight.bytesInFlight == 0)
    }

    /// §6.1 B, D.
    private var isWindowOpen: Bool { flight.bytesInFlight < congestion.window && burst > 0 }

    /// The user data of a full packet.
    private var largestFragment: Int {
        configuration.maximumPacketSize - SCTPCommonHeader.size
            - SCTPDataHeader.size(isInterleaved: queue.isInterleaved)
    }

    /// §6.1 C: before anything new.
    private mutating func writeRetransmissions(into packet: inout [UInt8], lastChunk: inout Int?) {
        let ignoresWindow = owesFastRetransmission
        while let index = flight.nextLost() {
            if abandonIfGivenUp(index) {
                forwardAbandoned()
                continue
            }
            guard ignoresWindow || isWindowOpen else { return }
            let chunk = flight.chunks[index]
            let room =
                configuration.maximumPacketSize - packet.count
                - SCTPDataHeader.size(isInterleaved: chunk.header.isInterleaved)
            guard chunk.count <= room else { return }
            lastChunk = packet.count
            write(chunk.header, tsn: flight.tsn(at: index), chunk.message, chunk.range, into: &packet)
            // §7.2.4 4: the timer that runs is that of the transmission which was lost.
            if ignoresWindow, flight.isLowestOutstanding(index) {
                timers.retransmission = now + roundTrip.timeout
            }
            flight.sentAgain(index, at: now)
            counters.chunksRetransmitted += 1
            owesFastRetransmission = false
        }
        owesFastRetransmission = false
    }

    private mutating func writeNewData(into packet: inout [UInt8], lastChunk: inout Int?) {
        while isWindowOpen, !queue.isEmpty {
            let room =
                configuration.maximumPacketSize - packet.count
                - SCTPDataHeader.size(isInterleaved: queue.isInterleaved)
            // §6.1 A: a window of nothing is probed by one chunk.
            let window = flight.bytesInFlight == 0 ? .max : advertisedWindow - flight.bytesInFlight
            guard room > 0, let next = queue.next(room: room, window: window, largest: largestFragment, at: now) else {
                break
            }
            switch next {
            case .fragment(let header, let message, let range):
                if flight.bytesInFlight == 0 { congestion.willBegin(at: now, timeout: roundTrip.timeout) }
                lastChunk = packet.count
                write(header, tsn: flight.nextTSN, message.bytes, range, into: &packet)
                if header.isLast { counters.messagesSent += 1 }
                flight.append(
                    SCTPSentChunk(
                        header: header, message: message.bytes, range: range,
                        expiry: queue.mayAbandon ? message.expiry : nil,
                        retransmissionsLeft: queue.mayAbandon ? message.maxRetransmits.map(Int.init) : nil,
                        sentAt: now, sentBefore: flight.nextTSN))
            case .abandoned(let header):
                counters.messagesAbandoned += 1
                flight.abandonUnfinished(header, at: now)
                forwardAbandoned()
            }
        }
        counters.messagesAbandoned += queue.discardedMessages
        queue.discardedMessages = 0
    }

    private func write(
        _ header: SCTPDataHeader, tsn: UInt32, _ message: [UInt8], _ range: Range<Int>, into packet: inout [UInt8]
    ) {
        var header = header
        header.tsn = tsn
        header.write(payloadCount: range.count, into: &packet)
        packet.append(contentsOf: message[range])
        for _ in 0..<(-range.count & 3) { packet.append(0) }
    }
}
