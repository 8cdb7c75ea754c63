public import RTCEngine

extension PeerConnection {
    /// Makes a data channel (W3C: createDataChannel). The first one of a connection needs a negotiation: an offer that
    /// is made afterwards, which `PeerConnectionEvent.negotiationNeeded` asks for. Later ones need none.
    ///
    /// - Parameters:
    ///   - label: what the peer sees it as; need not be unique, at most 65,535 bytes.
    ///   - options: order, reliability, protocol; `negotiated` with an `id` when both applications make it themselves.
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

    func send(_ message: DataChannelMessage, on channel: DataChannel) throws(DataChannelError) {
        defer { flush() }
        try machine.send(message, on: channel.engineID, at: NetworkLoop.now)
        refresh(channel)
    }

    func close(_ channel: DataChannel) {
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

    func setBufferedAmountLowThreshold(_ bytes: Int, of id: DataChannelID) {
        machine.setBufferedAmountLowThreshold(bytes, of: id)
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
        let channel = DataChannel(id, description, of: self)
        channels[id] = channel
        return channel
    }

    private func refresh(_ channel: DataChannel) {
        channel.update(
            machine.dataChannel(channel.engineID), bufferedAmount: machine.bufferedAmount(of: channel.engineID))
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
        case .bufferedAmount:
            refresh(channel)
        case .bufferedAmountLow:
            channel.tell(.bufferedAmountLow)
        case .closing:
            refresh(channel)
            channel.tell(.closing)
        case .closed(let failure):
            channels[id] = nil
            channel.end(failure)
        }
    }
}
