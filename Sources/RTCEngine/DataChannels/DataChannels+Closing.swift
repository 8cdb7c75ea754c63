/// Channels end: each side resets its outgoing half of the stream (RFC 8831 §6.7). When both are reset the channel is
/// closed, and its stream may carry another one.
extension DataChannels {
    /// Closes a channel when what was sent on it has gone out. Repeatable; without effect on one that is not there.
    mutating func close(_ id: DataChannelID, at now: Instant) {
        guard let channel = channels[id] else { return }
        switch channel.state {
        case .connecting: forget(id, nil)
        case .open: beginToClose(id, at: now)
        case .closing, .closed: return
        }
    }

    /// Closes a channel because something is wrong with it.
    mutating func fail(_ id: DataChannelID, _ failure: DataChannelFailure, at now: Instant) {
        guard let channel = channels[id], channel.state == .open else { return }
        channels[id]?.failure = failure
        beginToClose(id, at: now)
    }

    private mutating func beginToClose(_ id: DataChannelID, at now: Instant) {
        guard let stream = channels[id]?.stream else { return forget(id, nil) }
        channels[id]?.state = .closing
        tell(id, .closing)
        association?.resetStreams([stream], at: now)
    }

    /// RFC 6525 §4.1: a peer that names no stream has reset all of its own, those too on which nothing has come.
    mutating func incomingReset(_ named: [UInt16], at now: Instant) {
        let reset = named.isEmpty ? streams.keys.filter { mayBeReset($0) }.sorted() : named
        for stream in reset { incomingReset(stream, at: now) }
    }

    /// Whether the peer has anything on a stream that has not been reset.
    private func mayBeReset(_ stream: UInt16) -> Bool { !isForNextChannel(stream) || held.holds(stream) }

    /// RFC 8831 §6.7: the peer closes; we reset our half too.
    private mutating func incomingReset(_ stream: UInt16, at now: Instant) {
        if isForNextChannel(stream) { return held.hold(.reset, of: stream) }
        switch streams[stream] {
        case .channel(let id):
            guard let channel = channels[id], channel.state != .connecting else { return }
            channels[id]?.reset.incoming = true
            if channel.state == .open { beginToClose(id, at: now) }
            finish(id, at: now)
        case .refused(var reset):
            reset.incoming = true
            note(reset, of: stream, at: now)
        case nil:
            // A channel that this application has not made, or not yet. The peer waits for our half all the same.
            guard mayTakeUnclaimed else { return }
            streams[stream] = .refused(StreamReset(incoming: true))
            association?.resetStreams([stream], at: now)
        case .spent:
            return
        }
    }

    mutating func outgoingReset(_ stream: UInt16, at now: Instant) {
        switch streams[stream] {
        case .channel(let id):
            guard channels[id]?.state == .closing else { return }
            channels[id]?.reset.outgoing = true
            finish(id, at: now)
        case .refused(var reset):
            reset.outgoing = true
            note(reset, of: stream, at: now)
        case .spent, nil:
            return
        }
    }

    /// Our half stays as it is, and a peer that resets nothing need not reset its own: the channel is closed all the
    /// same. Neither side can tell another channel's messages on the stream from this one's, so there is to be none.
    mutating func outgoingResetDenied(_ stream: UInt16) {
        switch streams[stream] {
        case .channel(let id):
            guard let channel = channels[id], channel.state == .closing else { return }
            streams[stream] = .spent
            forget(id, channel.failure)
        case .refused:
            streams[stream] = .spent
        case .spent, nil:
            return
        }
        // Of the stream's next channel.
        _ = held.take(stream)
    }

    private mutating func finish(_ id: DataChannelID, at now: Instant) {
        guard let channel = channels[id], channel.reset.isComplete else { return }
        forget(id, channel.failure)
        if let stream = channel.stream { beginAnew(stream, at: now) }
    }

    private mutating func note(_ reset: StreamReset, of stream: UInt16, at now: Instant) {
        streams[stream] = .refused(reset)
        guard reset.isComplete else { return }
        streams[stream] = nil
        released(stream)
        beginAnew(stream, at: now)
    }

    // MARK: The stream's next channel

    /// The peer has ended its half of the stream, so what comes now belongs to another channel.
    func isForNextChannel(_ stream: UInt16) -> Bool {
        switch streams[stream] {
        case .channel(let id): channels[id]?.reset.incoming == true
        case .refused(let reset): reset.incoming
        case .spent, nil: false
        }
    }

    /// The stream is free: what the peer has already sent on it counts.
    private mutating func beginAnew(_ stream: UInt16, at now: Instant) {
        guard let items = held.take(stream) else { return refuse(stream, at: now) }
        for item in items {
            switch item {
            case .message(let message): receive(message, at: now)
            case .reset: incomingReset(stream, at: now)
            }
        }
    }

    /// The peer has opened a channel that we do not take (RFC 8832 §6: closed, and not acknowledged).
    mutating func refuse(_ stream: UInt16, at now: Instant) {
        totals.refused += 1
        guard mayTakeUnclaimed else { return }
        streams[stream] = .refused(StreamReset())
        association?.resetStreams([stream], at: now)
    }

    /// How many streams may be in no channel's use and not free. A peer that opens or closes what there is not on all
    /// of the 65,535 would make us keep something of each, here and in the association.
    private static let maximumUnclaimed = 4_096

    /// Each channel has one of `streams` once there is an association. Beyond the limit the peer waits in vain.
    private var mayTakeUnclaimed: Bool { streams.count - channels.count < Self.maximumUnclaimed }

    /// The channel is over.
    mutating func forget(_ id: DataChannelID, _ failure: DataChannelFailure?) {
        guard let channel = channels.removeValue(forKey: id) else { return }
        totals.closed += 1
        totals.partialBytes -= channel.partial.bytes.count
        if channel.isRemote {
            totals.remoteChannels -= 1
            totals.remoteNames -= channel.nameBytes
        }
        if let stream = channel.stream, streams[stream] == .channel(id) {
            streams[stream] = nil
            released(stream)
        }
        tell(id, .closed(failure))
    }

    /// A stream is free again.
    private mutating func released(_ stream: UInt16) {
        let role: DTLSRole = stream.isMultiple(of: 2) ? .client : .server
        if let lowest = lowestFree[role] { lowestFree[role] = min(lowest, Int(stream)) }
    }
}
