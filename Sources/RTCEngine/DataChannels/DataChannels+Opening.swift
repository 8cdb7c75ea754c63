internal import RTCWire

/// Channels come into being: ours and the peer's, in band (RFC 8832) and by agreement outside.
extension DataChannels {
    // MARK: Ours

    /// Makes a channel. It connects when the association is established.
    mutating func create(
        label: String, options: DataChannelInit, at now: Instant
    ) throws(DataChannelError) -> DataChannelID {
        if case .ended = phase { throw .connectionClosed }
        guard options.maxPacketLifeTime == nil || options.maxRetransmits == nil else { throw .conflictingReliability }
        guard label.utf8.count <= DataChannelOpen.longestText else { throw .labelTooLong }
        guard options.protocol.utf8.count <= DataChannelOpen.longestText else { throw .protocolTooLong }
        var stream: UInt16?
        if options.negotiated {
            // RFC 8832 §6: 65,535 streams have the numbers 0 to 65,534.
            guard let wanted = options.id, wanted < .max else { throw .invalidID }
            guard streams[wanted] == nil else { throw .idInUse(wanted) }
            guard Int(wanted) < streamLimit else { throw .noStreamLeft }
            stream = wanted
        } else if let role {
            guard let free = freeStream(for: role) else { throw .noStreamLeft }
            stream = free
        }
        let id = add(Channel(label: label, options: options, isRemote: false, stream: stream))
        if case .established = phase { connect(id, at: now) }
        return id
    }

    private mutating func add(_ channel: Channel) -> DataChannelID {
        let id = DataChannelID(rawValue: nextID)
        nextID &+= 1
        channels[id] = channel
        if let stream = channel.stream { streams[stream] = .channel(id) }
        return id
    }

    /// The streams that may be used in both directions.
    private var streamLimit: Int {
        switch phase {
        case .established(let streams): streams
        case .idle, .connecting, .ended: Int(UInt16.max)
        }
    }

    /// RFC 8832 §6: the DTLS client opens channels on even streams, the server on odd ones.
    private mutating func freeStream(for role: DTLSRole) -> UInt16? {
        let first = role == .client ? 0 : 1
        var stream = max(lowestFree[role] ?? first, first)
        while stream < streamLimit {
            let candidate = UInt16(stream)
            if streams[candidate] == nil {
                lowestFree[role] = stream
                return candidate
            }
            stream += 2
        }
        return nil
    }

    /// Our part in DTLS is known: channels that were made before it get their streams, in the order of their making.
    mutating func assignStreams() {
        guard let role else { return }
        for id in channelsInOrder where channels[id]?.stream == nil {
            guard let stream = freeStream(for: role) else {
                forget(id, .noStreamLeft)
                continue
            }
            streams[stream] = .channel(id)
            channels[id]?.stream = stream
        }
    }

    /// The association carries: DATA_CHANNEL_OPEN goes out, and messages may follow it at once (RFC 8832 §6).
    mutating func connect(_ id: DataChannelID, at now: Instant) {
        guard let channel = channels[id], channel.state == .connecting, let stream = channel.stream else { return }
        if !channel.options.negotiated {
            let open = DCEPMessage.open(DataChannelOpen(channel)).bytes
            guard open.count <= maximumMessageSize, sendControl(open, on: stream, at: now) else {
                return forget(id, .nameTooLong)
            }
        }
        channels[id]?.state = .open
        totals.opened += 1
        tell(id, .open)
    }

    /// RFC 8832 §6: control messages are ordered and reliable whatever the channel is. A buffer that messages have
    /// filled keeps no channel from opening.
    private mutating func sendControl(_ bytes: [UInt8], on stream: UInt16, at now: Instant) -> Bool {
        let message = SCTPMessage(
            stream: stream, payloadProtocol: DataChannelPayload.control.rawValue, bytes: bytes)
        do throws(SCTPSendError) {
            guard association != nil else { return false }
            try association?.send(message, isAdmitted: true, at: now)
            return true
        } catch {
            return false
        }
    }

    // MARK: The peer's

    mutating func receiveControl(_ message: SCTPReceivedMessage, at now: Instant) {
        let control = DCEPMessage(parsing: message.bytes.span.bytes)
        switch (streams[message.stream], control) {
        case (.channel(let id), .ack):
            channels[id]?.isAcknowledged = true
        case (.channel(let id), .open):
            fail(id, .protocolViolation("DATA_CHANNEL_OPEN on a stream in use"), at: now)
        case (.channel(let id), nil):
            fail(id, .protocolViolation("a malformed control message"), at: now)
        case (nil, .open(let open)):
            receive(open, on: message.stream, at: now)
        case (nil, .ack), (nil, nil):
            refuse(message.stream, at: now)
        case (.refused, _), (.spent, _):
            totals.strayMessages += 1
        }
    }

    /// RFC 8832 §6: the peer opens a channel. Its streams should have the other parity than ours; we take any that is
    /// free, since some peers go by their role in ICE instead of the one in DTLS.
    private mutating func receive(_ open: DataChannelOpen, on stream: UInt16, at now: Instant) {
        let channel = Channel(
            label: open.label, options: DataChannelInit(open, stream: stream), isRemote: true, stream: stream)
        guard totals.remoteChannels < configuration.maximumRemoteChannels,
            totals.remoteNames + channel.nameBytes <= configuration.maximumRemoteNames,
            sendControl(DCEPMessage.ack.bytes, on: stream, at: now)
        else { return refuse(stream, at: now) }
        totals.remoteChannels += 1
        totals.remoteNames += channel.nameBytes
        totals.opened += 1
        let id = add(channel)
        channels[id]?.state = .open
        if let description = description(of: id) { tell(id, .announced(description)) }
        tell(id, .open)
    }
}

extension DataChannelOpen {
    fileprivate init(_ channel: DataChannels.Channel) {
        let reliability: Reliability
        switch channel.reliability {
        case .reliable: reliability = .reliable
        case .maxRetransmits(let count): reliability = .retransmissions(UInt32(count))
        case .maxLifetime: reliability = .lifetime(UInt32(channel.options.maxPacketLifeTime ?? 0))
        }
        self.init(
            reliability: reliability, isOrdered: channel.options.ordered, label: channel.label,
            subprotocol: channel.options.protocol)
    }
}

extension DataChannelInit {
    /// W3C has 16 bits where the wire has 32; what is beyond is as good as for ever.
    fileprivate init(_ open: DataChannelOpen, stream: UInt16) {
        self.init(ordered: open.isOrdered, protocol: open.subprotocol, id: stream)
        switch open.reliability {
        case .reliable: break
        case .retransmissions(let count): maxRetransmits = UInt16(clamping: count)
        case .lifetime(let milliseconds): maxPacketLifeTime = UInt16(clamping: milliseconds)
        }
    }
}
