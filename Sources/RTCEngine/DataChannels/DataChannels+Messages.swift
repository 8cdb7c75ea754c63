internal import RTCWire

/// What channels carry (RFC 8831 §6.6).
extension DataChannels {
    // MARK: Out

    mutating func send(
        _ message: DataChannelMessage, on id: DataChannelID, isAdmitted: Bool = false, at now: Instant
    ) throws(DataChannelError) {
        guard let channel = channels[id], let stream = channel.stream else {
            throw channels[id].map { .notOpen($0.state) } ?? .unknownChannel
        }
        guard channel.state == .open else { throw .notOpen(channel.state) }
        let count = message.byteCount
        guard count <= maximumMessageSize else { throw .messageTooLarge(limit: maximumMessageSize) }
        let (payload, bytes) = message.onTheWire
        let packed = SCTPMessage(
            stream: stream, payloadProtocol: payload.rawValue, bytes: bytes,
            isOrdered: channel.options.ordered || !channel.isAcknowledged, reliability: channel.reliability)
        do throws(SCTPSendError) {
            try association?.send(packed, isAdmitted: isAdmitted, at: now)
        } catch {
            switch error {
            case .messageTooLarge(let limit): throw .messageTooLarge(limit: limit)
            case .bufferFull: throw .bufferFull
            case .closed: throw .connectionClosed
            case .streamClosing: throw .notOpen(.closing)
            // Made impossible by `onTheWire`.
            case .messageEmpty: throw .messageTooLarge(limit: 0)
            }
        }
        channels[id]?.counters.messagesSent += 1
        channels[id]?.counters.bytesSent += UInt64(count)
        // Where messages whose time is over have made room for it, the fall is still to be told.
        channels[id]?.bufferedAmount = max(channel.bufferedAmount, association?.bufferedAmount(of: stream) ?? 0)
    }

    /// Bytes that were given to `send` and have not gone out.
    func bufferedAmount(of id: DataChannelID) -> Int {
        guard let stream = channels[id]?.stream else { return 0 }
        return association?.bufferedAmount(of: stream) ?? 0
    }

    mutating func setBufferedAmountLowThreshold(_ threshold: Int, of id: DataChannelID) {
        channels[id]?.lowThreshold = max(threshold, 0)
    }

    /// W3C WebRTC §6.2: the event when the amount falls to the threshold, and not again while it stays below.
    mutating func tellBufferedAmount(of stream: UInt16) {
        guard case .channel(let id) = streams[stream], let channel = channels[id], let association else { return }
        let amount = association.bufferedAmount(of: stream)
        guard amount < channel.bufferedAmount else { return }
        channels[id]?.bufferedAmount = amount
        tell(id, .bufferedAmount(amount))
        let wasAbove = channel.bufferedAmount > channel.lowThreshold
        if wasAbove, amount <= channel.lowThreshold { tell(id, .bufferedAmountLow) }
    }

    // MARK: In

    mutating func receive(_ message: SCTPReceivedMessage, at now: Instant) {
        if isForNextChannel(message.stream) { return held.hold(.message(message), of: message.stream) }
        let payload = DataChannelPayload(rawValue: message.payloadProtocol)
        if payload == .control { return receiveControl(message, at: now) }
        guard case .channel(let id) = streams[message.stream], channels[id] != nil else {
            totals.strayMessages += 1
            return
        }
        // RFC 8832 §6: who sends on the channel has seen it opened.
        channels[id]?.isAcknowledged = true
        switch payload {
        case .string: complete(message.bytes, on: id, isText: true)
        case .binary: complete(message.bytes, on: id, isText: false)
        case .stringPartial, .binaryPartial: keep(message.bytes, on: id, at: now)
        case .stringEmpty: deliver(.text(""), on: id)
        case .binaryEmpty: deliver(.binary([]), on: id)
        case .control: return
        // RFC 8831 §6.6: the channel is closed.
        case nil: fail(id, .protocolViolation("an unknown payload protocol"), at: now)
        }
    }

    private mutating func complete(_ bytes: [UInt8], on id: DataChannelID, isText: Bool) {
        totals.partialBytes -= channels[id]?.partial.bytes.count ?? 0
        let whole = channels[id]?.partial.complete(with: bytes) ?? bytes
        guard isText else { return deliver(.binary(whole), on: id) }
        // W3C WebRTC §6.2: decoded as UTF-8, with U+FFFD for what is none, as browsers do.
        deliver(.text(String(decoding: whole, as: UTF8.self)), on: id)
    }

    private mutating func keep(_ piece: [UInt8], on id: DataChannelID, at now: Instant) {
        let held = channels[id]?.partial.bytes.count ?? 0
        guard totals.partialBytes + piece.count <= configuration.maximumPartialBytes,
            held + piece.count <= configuration.maximumMessageSize
        else { return fail(id, .protocolViolation("a message in pieces without end"), at: now) }
        totals.partialBytes += piece.count
        channels[id]?.partial.append(piece)
    }

    private mutating func deliver(_ message: DataChannelMessage, on id: DataChannelID) {
        // W3C WebRTC §6.3: what comes after the application has closed the channel is nobody's.
        guard channels[id]?.state == .open else { return }
        channels[id]?.counters.messagesReceived += 1
        channels[id]?.counters.bytesReceived += UInt64(message.byteCount)
        tell(id, .message(message))
    }
}

extension DataChannelMessage {
    /// SCTP carries no empty messages: RFC 8831 §6.6 has a byte and identifiers for them.
    fileprivate var onTheWire: (DataChannelPayload, [UInt8]) {
        switch self {
        case .text(let text) where text.isEmpty: (.stringEmpty, [0])
        case .text(let text): (.string, Array(text.utf8))
        case .binary(let bytes) where bytes.isEmpty: (.binaryEmpty, [0])
        case .binary(let bytes): (.binary, bytes)
        }
    }
}
