internal import RTCWire

/// Data channels: between the application, the association and DTLS.
extension PeerMachine {
    /// Makes a data channel (W3C: createDataChannel). The first one asks for a negotiation.
    public mutating func createDataChannel(
        _ label: String, _ options: DataChannelInit = DataChannelInit(), at now: Instant
    ) throws(DataChannelError) -> DataChannelID {
        guard connectionState != .closed else { throw .connectionClosed }
        let id = try data.create(label: label, options: options, at: now)
        do throws(NegotiationError) {
            try negotiator.wantDataChannels()
            negotiationNotice.changed()
        } catch {
            throw .connectionClosed
        }
        drainSecure(at: now)
        return id
    }

    /// Queues a message on an open channel.
    public mutating func send(
        _ message: DataChannelMessage, on id: DataChannelID, at now: Instant
    ) throws(DataChannelError) {
        try queue(message, on: id, at: now)
        sendQueuedData(at: now)
    }

    /// As `send`, but the message waits for `sendQueuedData`: several share packets.
    ///
    /// - Parameter isAdmitted: its sender went by `dataSendLimits`, so that it is not refused as `.bufferFull`.
    public mutating func queue(
        _ message: DataChannelMessage, on id: DataChannelID, isAdmitted: Bool = false, at now: Instant
    ) throws(DataChannelError) {
        guard connectionState != .closed else { throw .connectionClosed }
        try data.send(message, on: id, isAdmitted: isAdmitted, at: now)
    }

    /// Sends what `queue` has taken, as far as the network lets it.
    public mutating func sendQueuedData(at now: Instant) { drainSecure(at: now) }

    /// What `send` takes now, on all channels together.
    public var dataSendLimits: DataSendLimits { data.sendLimits }

    /// Closes a channel when what was sent on it has gone out. Repeatable.
    public mutating func closeDataChannel(_ id: DataChannelID, at now: Instant) {
        data.close(id, at: now)
        drainSecure(at: now)
    }

    /// How many bytes of messages the application has not taken, over all channels: the peer is asked to send as many
    /// less, and nothing when they fill `DataChannelConfiguration.receiveBuffer`.
    public mutating func setUnreadData(_ bytes: Int, at now: Instant) {
        data.setUnread(bytes, at: now)
        drainSecure(at: now)
    }

    /// The application leaves too much unread: the channel is closed, and says why.
    public mutating func failDataChannel(_ id: DataChannelID, at now: Instant) {
        data.fail(id, .unread, at: now)
        drainSecure(at: now)
    }

    /// At which `bufferedAmount` an event is wanted. Bytes.
    public mutating func setBufferedAmountLowThreshold(_ threshold: Int, of id: DataChannelID) {
        data.setBufferedAmountLowThreshold(threshold, of: id)
    }

    /// Bytes that were given to `send` and have not gone out.
    public func bufferedAmount(of id: DataChannelID) -> Int { data.bufferedAmount(of: id) }

    /// What is known of a channel; nil once it is closed.
    public func dataChannel(_ id: DataChannelID) -> DataChannelDescription? { data.description(of: id) }

    /// All channels that are not closed, oldest first.
    public var dataChannels: [DataChannelID] { data.channelsInOrder }

    /// The largest message that the peer takes and we can send (W3C: RTCSctpTransport.maxMessageSize). Bytes.
    public var maximumDataMessageSize: Int { data.maximumMessageSize }

    /// Gives DTLS what the association wants sent, one record at a time, and tells what has happened.
    mutating func drainData(at now: Instant) {
        guard !isInBatch else { return }
        while let output = data.pollOutput(at: now) {
            switch output {
            case .send(let packet):
                // RFC 7675 §5.1: nothing goes out without consent. The association repeats what is lost by it.
                guard ice.hasConsent else {
                    counters.dropped += 1
                    continue
                }
                secure.send(packet, at: now)
                takeSecureOutputs(at: now)
            case .event(let id, let event):
                events.append(.dataChannel(id, event))
            }
        }
    }
}

/// How much can be given to data channels before `DataChannelError.messageTooLarge` and `.bufferFull`. Bytes.
public struct DataSendLimits: Sendable, Hashable {
    /// The largest message.
    public var messageSize = 0
    /// What may wait to be sent or acknowledged, counted by `cost`. An empty buffer takes one message of any size.
    public var buffer = 0
    /// What does.
    public var used = 0

    public init() {}

    /// What a message takes of the buffer.
    public static func cost(ofBytes count: Int) -> Int { max(count, 1) + SCTPQueuedMessage.overhead }
}

extension Negotiator {
    /// Whether sound or pictures may flow in one direction at least.
    var hasMedia: Bool { transceivers.contains { $0.sendParameters != nil || $0.receiveParameters != nil } }
}
