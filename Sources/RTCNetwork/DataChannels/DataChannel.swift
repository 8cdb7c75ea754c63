public import RTCEngine
internal import Synchronization

/// A way to send messages to the peer and to receive its messages (W3C: RTCDataChannel). A handle: it may be kept,
/// shared between tasks and closed at any moment; once its connection is closed it is closed too.
///
/// ```swift
/// let chat = try await connection.createDataChannel("chat")     // before the offer is made, or at any time later
/// try await chat.waitUntilOpen()
/// try await chat.send("Hello")
/// for await message in chat.messages { … }                      // ends when the channel is closed
/// ```
/// The other side gets its handle as `PeerConnectionEvent.dataChannel`.
public final class DataChannel: Sendable {
    /// What has happened to a channel, in order.
    public enum Event: Sendable, Hashable {
        /// Messages can be sent (`open`).
        case open
        /// What waits to be sent has fallen to `bufferedAmountLowThreshold` (`bufferedamountlow`).
        case bufferedAmountLow
        /// One side has begun to close it (`closing`); what was sent before still goes out.
        case closing
        /// The channel is closed (`close`). With a failure it was closed by neither side (`error`).
        case close(DataChannelFailure?)
    }

    /// What the channel is called; need not be unique.
    public let label: String
    /// The subprotocol that both applications speak on the channel, such as `json`; may be empty (W3C: protocol).
    public let `protocol`: String
    /// Whether messages arrive in the order in which they were sent.
    public let ordered: Bool
    /// After how many milliseconds a message is given up; nil for never.
    public let maxPacketLifeTime: UInt16?
    /// After how many retransmissions a message is given up; nil for never.
    public let maxRetransmits: UInt16?
    /// Whether both applications created the channel themselves, under the same `id`; otherwise one announced it (RFC
    /// 8832).
    public let negotiated: Bool

    /// In its connection's machine.
    let engineID: DataChannelID
    weak let connection: PeerConnection?
    private let outbox: DataChannelOutbox
    let inbox: DataChannelInbox
    private let eventBroadcast = EventBroadcast<Event>(backlog: 1_024)
    /// Rings when something has changed, for those who wait for it.
    private let changes = EventBroadcast<Void>(backlog: 1)

    private struct Snapshot {
        var id: UInt16?
        var readyState: DataChannelState
        /// In the outbox, and in the machine.
        var outboxAmount = 0
        var machineAmount = 0
        var bufferedAmountLowThreshold = 0
        /// More waits than the threshold.
        var isAboveThreshold = false
        /// A message was refused since all channels together had too much waiting, and it still is much.
        var lacksRoom = false

        var bufferedAmount: Int { outboxAmount + machineAmount }
    }

    /// What goes into the outbox is noted by who sends; all else is written on the connection's thread.
    private let snapshot: Mutex<Snapshot>

    init(
        _ engineID: DataChannelID, _ description: DataChannelDescription, of connection: PeerConnection,
        _ outbox: DataChannelOutbox
    ) {
        self.engineID = engineID
        self.connection = connection
        self.outbox = outbox
        label = description.label
        self.protocol = description.options.protocol
        ordered = description.options.ordered
        maxPacketLifeTime = description.options.maxPacketLifeTime
        maxRetransmits = description.options.maxRetransmits
        negotiated = description.options.negotiated
        inbox = DataChannelInbox(unread: connection.unreadData)
        snapshot = Mutex(Snapshot(id: description.options.id, readyState: description.state))
    }

    // MARK: State

    /// The SCTP stream that carries the channel (W3C: id). Of a channel without an `id` of its own the connection
    /// chooses one when the first answer is set, by which side is the client in DTLS (RFC 8832 §6); nil until then.
    /// With more channels than there are ids, those made last are closed with `DataChannelFailure.noStreamLeft`.
    public var id: UInt16? { snapshot.withLock { $0.id } }
    /// Messages can be sent while this is `.open`.
    public var readyState: DataChannelState { snapshot.withLock { $0.readyState } }
    /// Bytes that were given to `send` and have not been sent yet. When the channel is closed: those that never were.
    public var bufferedAmount: Int { snapshot.withLock { $0.bufferedAmount } }
    /// In bytes. When `bufferedAmount` falls to this, `Event.bufferedAmountLow` comes. 0 unless set.
    public var bufferedAmountLowThreshold: Int { snapshot.withLock { $0.bufferedAmountLowThreshold } }

    /// Sets `bufferedAmountLowThreshold`, in bytes; a negative value counts as 0.
    public func setBufferedAmountLowThreshold(_ bytes: Int) async {
        snapshot.withLock { snapshot in
            snapshot.bufferedAmountLowThreshold = max(bytes, 0)
            snapshot.isAboveThreshold = snapshot.bufferedAmount > snapshot.bufferedAmountLowThreshold
        }
        // It may be low by the new measure.
        changes.send(())
    }

    // MARK: Messages

    /// Queues a string. It is sent as the network permits, in the order of the calls, and may share packets with other
    /// messages. This waits neither for the network nor for the connection's thread: to send much, call
    /// `waitForBufferedAmountLow` in between.
    ///
    /// - Throws: `.notOpen` unless the channel is open, `.messageTooLarge` beyond what the peer takes, `.bufferFull`
    ///   when too much waits already: then wait with `waitForBufferedAmountLow`. `.unknownChannel` and
    ///   `.connectionClosed` once the channel or the connection is over. Nothing is sent in these cases.
    public func send(_ text: String) async throws(DataChannelError) { try await send(.text(text)) }

    /// Queues bytes, as above.
    public func send(_ bytes: [UInt8]) async throws(DataChannelError) { try await send(.binary(bytes)) }

    /// Queues a message, as above.
    public func send(_ message: DataChannelMessage) async throws(DataChannelError) {
        guard let connection else { throw .connectionClosed }
        let size = message.byteCount
        // Taken and counted in one step: the connection's thread may have it the next moment.
        let admission = snapshot.withLock { snapshot -> DataChannelOutbox.Admission? in
            guard snapshot.readyState == .open else { return nil }
            let admission = outbox.append(message, of: self)
            switch admission {
            case .taken:
                snapshot.outboxAmount += size
                snapshot.isAboveThreshold = snapshot.bufferedAmount > snapshot.bufferedAmountLowThreshold
            case .full: snapshot.lacksRoom = true
            case .tooLarge: break
            }
            return admission
        }
        switch admission {
        case .taken?: return
        case .tooLarge(let limit)?: throw .messageTooLarge(limit: limit)
        case .full?: throw .bufferFull
        case nil:
            let error = await connection.refusal(of: self)
            // It has opened since it was looked at.
            if error == .notOpen(.open) { return try await send(message) }
            throw error
        }
    }

    /// The messages that the peer sends, in order of arrival, from the first one on: messages are kept until somebody
    /// listens. Of several listeners, one gets each message. Ends when the channel is closed and all is taken.
    ///
    /// While too much is unread, the peer is asked to hold back, on all channels of the connection. If it sends more
    /// all the same, the channel closes with `DataChannelFailure.unread`. Unread messages of closed channels do not
    /// count, up to 16 MiB.
    public var messages: DataChannelMessages { DataChannelMessages(inbox: inbox) }

    /// What happens to the channel, from now on; the first access also has what came before it. Ends with `close`.
    public var events: AsyncStream<Event> { eventBroadcast.stream() }

    // MARK: Waiting

    /// Returns when the channel is open. A cancelled task returns at once.
    ///
    /// - Throws: `.notOpen` when it closes before.
    public func waitUntilOpen() async throws(DataChannelError) {
        await wait { $0.readyState != .connecting }
        guard readyState == .open || Task.isCancelled else { throw .notOpen(readyState) }
    }

    /// Returns when `bufferedAmount` is at most `bufferedAmountLowThreshold`. After `.bufferFull` it also waits until
    /// half of the buffer that all channels share is free. In a cancelled task it returns at once.
    ///
    /// - Throws: `.notOpen` when the channel is not open any more.
    public func waitForBufferedAmountLow() async throws(DataChannelError) {
        await wait { snapshot in
            guard snapshot.readyState == .open else { return true }
            return !snapshot.lacksRoom && snapshot.bufferedAmount <= snapshot.bufferedAmountLowThreshold
        }
        guard readyState == .open || Task.isCancelled else { throw .notOpen(readyState) }
    }

    private func wait(until isTrue: (Snapshot) -> Bool) async {
        if snapshot.withLock({ isTrue($0) }) { return }
        var iterator = changes.stream().makeAsyncIterator()
        while !snapshot.withLock({ isTrue($0) }) {
            guard await iterator.next() != nil else { return }
        }
    }

    /// Closes the channel when what was sent on it has gone out (W3C: close). Safe at any time, and repeatable.
    public func close() async { await connection?.close(self) }

    // MARK: From the connection, on its thread

    /// - Parameters:
    ///   - bufferedAmount: what waits in the machine; nil when that has let go of the channel.
    ///   - queued: what has left the outbox since the last time.
    func update(_ description: DataChannelDescription?, bufferedAmount: Int?, queued: Int) {
        let hasBecomeLow = snapshot.withLock { snapshot in
            if let description {
                snapshot.id = description.options.id
                snapshot.readyState = description.state
            }
            snapshot.outboxAmount = max(snapshot.outboxAmount - queued, 0)
            if let bufferedAmount { snapshot.machineAmount = bufferedAmount }
            // W3C WebRTC §6.2: told when the amount falls to the threshold, and not again while it stays below.
            let wasAbove = snapshot.isAboveThreshold
            snapshot.isAboveThreshold = snapshot.bufferedAmount > snapshot.bufferedAmountLowThreshold
            return wasAbove && !snapshot.isAboveThreshold
        }
        changes.send(())
        if hasBecomeLow { eventBroadcast.send(.bufferedAmountLow) }
    }

    /// There is room again for a message that was refused.
    func roomCame() {
        let hasWaited = snapshot.withLock { snapshot in
            defer { snapshot.lacksRoom = false }
            return snapshot.lacksRoom
        }
        if hasWaited { changes.send(()) }
    }

    func tell(_ event: Event) { eventBroadcast.send(event) }

    /// The channel is closed. Messages that wait may still be taken.
    func end(_ failure: DataChannelFailure?) {
        let wasOver = snapshot.withLock { snapshot in
            defer {
                // W3C WebRTC §6.2: `bufferedAmount` stays what it was.
                snapshot.readyState = .closed
                snapshot.isAboveThreshold = false
            }
            return snapshot.readyState == .closed
        }
        guard !wasOver else { return }
        changes.send(())
        changes.finish()
        eventBroadcast.send(.close(failure))
        eventBroadcast.finish()
        inbox.finish()
    }
}

extension DataChannel: Hashable {
    public static func == (lhs: DataChannel, rhs: DataChannel) -> Bool { lhs === rhs }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
