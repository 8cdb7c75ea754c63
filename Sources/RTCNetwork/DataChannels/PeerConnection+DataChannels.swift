public import RTCEngine

extension PeerConnection {
    /// Makes a data channel (W3C: createDataChannel). The first one of a connection needs a negotiation: an offer that
    /// is made afterwards, which `PeerConnectionEvent.negotiationNeeded` asks for. Later ones need none.
    ///
    /// - Parameters:
    ///   - label: what the peer sees it as; need not be unique, at most 65,535 bytes.
    ///   - options: order, reliability, protocol; `negotiated` with an `id` when both applications make it themselves.
    /// - Throws: `.conflictingReliability`, `.labelTooLong`, `.protocolTooLong` and `.invalidID` for what cannot be,
    ///   `.idInUse` and `.noStreamLeft` for what is not free, `.connectionClosed` at the end.
    public func createDataChannel(
        _ label: String, _ options: DataChannelInit = DataChannelInit()
    ) throws(DataChannelError) -> DataChannel {
        defer { flush() }
        followUnreadData()
        let id = try machine.createDataChannel(label, options, at: NetworkLoop.now)
        guard let channel = handle(id) else { throw .connectionClosed }
        return channel
    }

    /// All data channels that are not closed, oldest first.
    public var dataChannels: [DataChannel] { machine.dataChannels.compactMap { handle($0) } }

    /// The largest message that the peer takes (W3C: RTCSctpTransport.maxMessageSize). Bytes.
    public var maxMessageSize: Int { machine.maximumDataMessageSize }

    // MARK: From the handles

    /// Why a message that the channel itself has not taken cannot be sent.
    func refusal(of channel: DataChannel) -> DataChannelError {
        guard machine.connectionState != .closed else { return .connectionClosed }
        return machine.dataChannel(channel.engineID).map { .notOpen($0.state) } ?? .unknownChannel
    }

    /// Sends what channels have put into the outbox.
    func sendQueuedData() {
        takeQueuedData()
        flush()
    }

    /// Gives the machine what is in the outbox, which was told before what there is room for.
    func takeQueuedData() {
        guard let outbox else { return }
        outbox.take(into: &queuedData)
        guard !queuedData.isEmpty else { return }
        let now = NetworkLoop.now
        // W3C WebRTC §6.2: what a channel that closes has not sent stays in its `bufferedAmount`.
        queuedData.removeAll { !queue($0, at: now) }
        machine.sendQueuedData(at: now)
        // What channels tell of themselves is right once nothing is counted twice.
        var first = 0
        while first < queuedData.count {
            let channel = queuedData[first].channel
            var bytes = 0
            while first < queuedData.count, queuedData[first].channel === channel {
                bytes += queuedData[first].message.byteCount
                first += 1
            }
            refresh(channel, queued: bytes)
        }
        queuedData.removeAll(keepingCapacity: true)
    }

    /// - Returns: whether the machine has taken the message.
    private func queue(_ entry: DataChannelOutbox.Entry, at now: Instant) -> Bool {
        do throws(DataChannelError) {
            try machine.queue(entry.message, on: entry.channel.engineID, isAdmitted: true, at: now)
            return true
        } catch {
            // The peer has taken back what its description promised: without this message the channel cannot go on.
            // Anything else means that it has closed since the message was sent.
            if case .messageTooLarge = error { machine.closeDataChannel(entry.channel.engineID, at: now) }
            return false
        }
    }

    /// Tells the outbox what it may take, and those who wait for room that there is some.
    func tellSendLimits() {
        guard let outbox, outbox.update(machine.dataSendLimits) else { return }
        for channel in channels.values { channel.roomCame() }
    }

    func close(_ channel: DataChannel) {
        takeQueuedData()
        machine.closeDataChannel(channel.engineID, at: NetworkLoop.now)
        flush()
    }

    /// Tells the machine what the application has left unread; when it has taken enough, this runs again.
    func noteUnreadData() {
        let unread = unreadData.count
        guard unread != toldUnread else { return }
        toldUnread = unread
        machine.setUnreadData(unread, at: NetworkLoop.now)
    }

    // MARK: From the machine

    private func followUnreadData() {
        guard channels.isEmpty else { return }
        unreadData.whenRelieved { [weak self] in
            Task { [weak self] in await self?.flush() }
        }
    }

    /// Nil for a channel that the machine does not know any more.
    private func handle(_ id: DataChannelID) -> DataChannel? {
        if let channel = channels[id] { return channel }
        return machine.dataChannel(id).map { makeHandle(id, $0) }
    }

    private func makeHandle(_ id: DataChannelID, _ description: DataChannelDescription) -> DataChannel {
        let outbox = outbox ?? makeOutbox()
        let channel = DataChannel(id, description, of: self, outbox)
        channels[id] = channel
        return channel
    }

    /// One that takes messages at once: the application may send before this call into the connection is over.
    private func makeOutbox() -> DataChannelOutbox {
        let outbox = DataChannelOutbox(self)
        self.outbox = outbox
        tellSendLimits()
        return outbox
    }

    /// - Parameters:
    ///   - queued: bytes that the machine has taken from the outbox since the last time.
    ///   - amount: what the machine told last, which counts when it has let go of the channel since.
    private func refresh(_ channel: DataChannel, queued: Int = 0, amount: Int? = nil) {
        let description = machine.dataChannel(channel.engineID)
        channel.update(
            description,
            bufferedAmount: description == nil ? amount : machine.bufferedAmount(of: channel.engineID), queued: queued)
    }

    /// Channels that were made before a description have their ids once it is set.
    func tellChannelIDs() {
        for channel in channels.values where channel.id == nil { refresh(channel) }
    }

    /// Wakes those who wait for messages, once for all that have come.
    func tellReaders() {
        for inbox in filledInboxes { inbox.deliver() }
        filledInboxes.removeAll(keepingCapacity: true)
    }

    func publish(_ event: DataChannelEvent, of id: DataChannelID) {
        // A channel may be over before this is told; then what was announced is all that is known of it.
        if case .announced(let description) = event {
            followUnreadData()
            return eventBroadcast.send(.dataChannel(makeHandle(id, description)))
        }
        guard let channel = handle(id) else { return }
        switch event {
        case .announced: return
        case .open:
            refresh(channel)
            channel.tell(.open)
        case .message(let message):
            // A peer that does not hold back though it was asked to.
            if !channel.inbox.append(message) { machine.failDataChannel(id, at: NetworkLoop.now) }
            if filledInboxes.last !== channel.inbox { filledInboxes.append(channel.inbox) }
        case .bufferedAmount(let amount):
            refresh(channel, amount: amount)
        // The channel knows better: some of what waits is in the outbox.
        case .bufferedAmountLow:
            return
        case .closing:
            refresh(channel)
            channel.tell(.closing)
        case .closed(let failure):
            channels[id] = nil
            channel.end(failure)
        }
    }
}
