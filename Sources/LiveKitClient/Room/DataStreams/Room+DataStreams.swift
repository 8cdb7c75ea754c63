internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import RTCNetwork
internal import Synchronization

/// Streams of data: texts and files of any length, which come whole, in order, and piece by piece (LiveKit's data
/// streams). Those on topics `lk.rpc_…` are calls of methods, and belong to `performRPC`.
extension Room {
    /// Reads a text stream of a participant. The identity is nil when the server has sent it, or a hidden participant.
    /// The handler runs in a task of its own, which starts when the text begins and is never cancelled. Errors that
    /// it throws are ignored.
    public typealias TextStreamHandler = @Sendable (TextStreamReader, ParticipantIdentity?) async throws -> Void
    /// Reads a byte stream of a participant; as `TextStreamHandler`.
    public typealias ByteStreamHandler = @Sendable (ByteStreamReader, ParticipantIdentity?) async throws -> Void

    /// Sets the handler for text streams on a topic that begin from now on, in this room and in those that are joined
    /// later. With nil such streams are ignored. The room keeps the handler, so capture the room weakly in it.
    public func registerTextStreamHandler(for topic: String, _ handler: TextStreamHandler?) {
        textStreamHandlers[topic] = handler
        machine.incoming.textTopics = Set(textStreamHandlers.keys)
    }

    /// Sets the handler for byte streams on a topic that begin from now on; as `registerTextStreamHandler`.
    public func registerByteStreamHandler(for topic: String, _ handler: ByteStreamHandler?) {
        byteStreamHandlers[topic] = handler
        machine.incoming.byteTopics = Set(byteStreamHandlers.keys)
    }

    // MARK: Sending

    /// Sends a text. Returns when all of it was handed to the data channel, or is queued for it. It waits while 4 MiB
    /// of messages are still to be sent, or 2 MiB are queued for a connection that is being made.
    ///
    /// - Returns: what receivers are told of the text.
    /// - Throws: `notConnected` outside a room; `streamInterrupted` when our session is lost before the end or the task
    ///   is cancelled; `dataTooLarge` when topic and attributes are too long; `dataBacklog` when messages that do not
    ///   wait have filled the queue; `notEncryptable` when messages are encrypted and there is no key.
    @discardableResult
    public func sendText(_ text: String, options: StreamTextOptions) async throws(RoomError) -> TextStreamInfo {
        let header = LiveKitDataStream.Header(options, id: name(options.id), timestamp: machine.wallClock())
        let content = Array(text.utf8)
        try await sendWhole(header, content, to: options.destinationIdentities, as: options.senderIdentity)
        return TextStreamInfo(options, id: header.streamID, timestamp: header.timestamp, length: content.count)
    }

    /// Sends bytes; as `sendText`.
    @discardableResult
    public func sendBytes(_ bytes: [UInt8], options: StreamByteOptions) async throws(RoomError) -> ByteStreamInfo {
        let header = LiveKitDataStream.Header(options, id: name(options.id), timestamp: machine.wallClock())
        try await sendWhole(header, bytes, to: options.destinationIdentities)
        return ByteStreamInfo(options, id: header.streamID, timestamp: header.timestamp, length: bytes.count)
    }

    /// Sends a file, which is read while it is sent; otherwise as `sendText`. If the file cannot be read to its end,
    /// the stream ends with an error for its receivers too.
    ///
    /// - Parameter path: its name goes along unless `options.name` is another.
    /// - Throws: also `fileUnreadable`.
    @discardableResult
    public func sendFile(at path: String, options: StreamByteOptions) async throws(RoomError) -> ByteStreamInfo {
        let file = try await StreamedFile.open(path)
        var options = options
        options.name = options.name ?? file.name
        options.totalLength = file.length
        let writer = try await streamBytes(options: options)
        do throws(RoomError) {
            var sent = 0
            while let piece = try await file.piece(at: sent) {
                try await writer.write(piece)
                sent += piece.count
            }
            try await writer.close()
        } catch {
            var reason = "it was given up"
            if case .fileUnreadable = error { reason = "the file could not be read" }
            try? await writer.close(reason: reason)
            throw error
        }
        return writer.info
    }

    /// Begins a text whose content follows: write it to what this returns, and close that. Throws as `sendText`.
    public func streamText(options: StreamTextOptions) async throws(RoomError) -> TextStreamWriter {
        let header = LiveKitDataStream.Header(options, id: name(options.id), timestamp: machine.wallClock())
        let info = TextStreamInfo(options, id: header.streamID, timestamp: header.timestamp, length: nil)
        let stream = try await begin(header, to: options.destinationIdentities, as: options.senderIdentity)
        return TextStreamWriter(info, stream)
    }

    /// Begins a stream of bytes whose content follows: write it to what this returns, and close that. Throws as
    /// `sendText`.
    public func streamBytes(options: StreamByteOptions) async throws(RoomError) -> ByteStreamWriter {
        let header = LiveKitDataStream.Header(options, id: name(options.id), timestamp: machine.wallClock())
        let info = ByteStreamInfo(
            options, id: header.streamID, timestamp: header.timestamp, length: options.totalLength)
        return ByteStreamWriter(info, try await begin(header, to: options.destinationIdentities))
    }

    private func name(_ id: String?) -> String { id ?? machine.makeID("ST_") }

    private func begin(
        _ header: LiveKitDataStream.Header, to destinations: [ParticipantIdentity],
        as sender: ParticipantIdentity? = nil
    ) async throws(RoomError) -> OutgoingStreamSlot {
        try await waitForRoomForStream()
        let stream = try await applying { machine, now throws(RoomError) in
            try machine.beginStream(header, to: destinations, as: sender, at: now)
        }
        return OutgoingStreamSlot(stream, room: self)
    }

    private func sendWhole(
        _ header: LiveKitDataStream.Header, _ content: [UInt8], to destinations: [ParticipantIdentity],
        as sender: ParticipantIdentity? = nil
    ) async throws(RoomError) {
        try await waitForRoomForStream()
        var packed: [UInt8]?
        if content.count > RoomClientMachine.packedAtOnce, machine.canUnpack(destinations) {
            packed = await Self.packed(content)
        }
        let whole = try await applying { machine, now throws(RoomError) in
            try machine.beginStream(header, content: content, packed: packed, to: destinations, as: sender, at: now)
        }
        guard !whole.isOver else { return }
        let slot = OutgoingStreamSlot(whole.stream, room: self)
        for chunk in whole.chunks { try await write(chunk, on: slot) }
        try await close(slot, [:], "")
    }

    /// Long content takes its time, in which the room does other things.
    @concurrent private static func packed(_ content: [UInt8]) async -> [UInt8]? { Deflate.compress(content) }

    /// A cancelled task does not wait, so without the check it would fill the memory.
    private func waitForRoomForStream() async throws(RoomError) {
        await waitForRoom()
        guard !Task.isCancelled else { throw .streamInterrupted }
    }

    /// Back when not too many reliable messages wait for their way out, or for there to be one; when there will be
    /// none, or the task is cancelled.
    func waitForRoom() async {
        while true {
            await media?.waitForRoom()
            guard machine.isInRoom, machine.data.isHalfFull, !Task.isCancelled else { return }
            lastChannelWaiter += 1
            let number = lastChannelWaiter
            await withTaskCancellationHandler {
                await withCheckedContinuation { channelWaiters[number] = $0 }
            } onCancel: {
                Task { await self.resumeChannelWaiter(number) }
            }
        }
    }

    private func resumeChannelWaiter(_ number: UInt64) { channelWaiters.removeValue(forKey: number)?.resume() }

    func resumeChannelWaiters() {
        guard !channelWaiters.isEmpty, !machine.isInRoom || !machine.data.isHalfFull else { return }
        let resumed = channelWaiters.sorted { $0.key < $1.key }
        channelWaiters = [:]
        for waiter in resumed { waiter.value.resume() }
    }

    func write(_ content: [UInt8], on slot: OutgoingStreamSlot) async throws(RoomError) {
        guard let isText = slot.stream.withLock({ $0?.isText }) else { throw .streamClosed }
        for chunk in OutgoingStream.chunks(content, isText: isText) { try await write(chunk, on: slot) }
    }

    private func write(_ chunk: ArraySlice<UInt8>, on slot: OutgoingStreamSlot) async throws(RoomError) {
        try await waitForRoomForStream()
        try await applying { machine, now throws(RoomError) in
            guard var stream = slot.stream.withLock({ $0 }) else { throw .streamClosed }
            try machine.send(chunk, on: &stream, at: now)
            slot.stream.withLock { $0 = stream }
        }
    }

    func close(
        _ slot: OutgoingStreamSlot, _ attributes: [String: String], _ reason: String
    ) async throws(RoomError) {
        try await applying { machine, now throws(RoomError) in
            guard let stream = slot.stream.withLock({ $0 }) else { throw .streamClosed }
            try machine.endStream(stream, reason: reason, attributes: attributes, at: now)
            slot.stream.withLock { $0 = nil }
        }
    }

    /// Its writer let go of it without an end.
    func forget(_ stream: OutgoingStream) async {
        try? await applying { machine, now throws(RoomError) in
            try machine.endStream(stream, reason: "its writer let go of it", attributes: [:], at: now)
        }
    }

    /// Asks the machine, and does what comes of it.
    private func applying<Value>(
        _ ask: (inout RoomClientMachine, Instant) throws(RoomError) -> Value
    ) async throws(RoomError) -> Value {
        let result: Result<Value, RoomError>
        do throws(RoomError) {
            result = .success(try ask(&machine, NetworkLoop.now))
        } catch {
            result = .failure(error)
        }
        await apply()
        return try result.get()
    }

    // MARK: Receiving

    func streamBegan(_ id: IncomingStreamID, _ header: IncomingStreamHeader) {
        let inbox = DataStreamInbox(header, broadcast: broadcast) { [weak self] in
            Task { [weak self] in await self?.readerGone(id) }
        }
        // The handlers' tasks are the application's. When the room is left their readers throw, and none is cancelled:
        // it may be writing down what had come.
        switch header.kind {
        case .text(let info):
            guard let handler = textStreamHandlers[info.topic] else { return readerGone(id) }
            let reader = TextStreamReader(info, inbox)
            Task { try await handler(reader, header.sender) }
        case .bytes(let info):
            guard let handler = byteStreamHandlers[info.topic] else { return readerGone(id) }
            let reader = ByteStreamReader(info, inbox)
            Task { try await handler(reader, header.sender) }
        }
        inboxes[id] = inbox
    }

    private func readerGone(_ id: IncomingStreamID) {
        inboxes[id] = nil
        machine.incoming.readerGone(id)
    }
}

/// A file that is read as it is sent. Disks take their time, in which the room does other things.
private final class StreamedFile: Sendable {
    private static let pieceLength = 240_000

    let name: String
    /// As it was when it was opened: so much is sent.
    let length: Int
    private let descriptor: Int32

    @concurrent static func open(_ path: String) async throws(RoomError) -> StreamedFile {
        // Of what is no file one would wait for a writer.
        let descriptor = Foundation.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw .fileUnreadable(String(cString: strerror(errno))) }
        var status = stat()
        // Of others nobody knows how long they are, and some have no end.
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            Foundation.close(descriptor)
            throw .fileUnreadable("it is no file")
        }
        return StreamedFile(URL(fileURLWithPath: path).lastPathComponent, Int(status.st_size), descriptor)
    }

    private init(_ name: String, _ length: Int, _ descriptor: Int32) {
        self.name = name
        self.length = length
        self.descriptor = descriptor
    }

    deinit { Foundation.close(descriptor) }

    /// What follows, up to the length that was announced; nil at the end.
    @concurrent func piece(at offset: Int) async throws(RoomError) -> [UInt8]? {
        guard offset < length else { return nil }
        let wanted = min(Self.pieceLength, length - offset)
        var count = 0
        let piece = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, initialized in
            count = pread(descriptor, buffer.baseAddress, wanted, off_t(offset))
            initialized = max(count, 0)
        }
        guard count >= 0 else { throw .fileUnreadable(String(cString: strerror(errno))) }
        guard count > 0 else { throw .fileUnreadable("it has become shorter") }
        return piece
    }
}

extension TextStreamInfo {
    init(_ options: StreamTextOptions, id: String, timestamp: Int64, length: Int?) {
        self.init(
            id: id, topic: options.topic, timestamp: timestamp, totalLength: length, attributes: options.attributes,
            operation: options.operation, version: options.version, replyToStreamID: options.replyToStreamID,
            attachedStreamIDs: options.attachedStreamIDs, isGenerated: options.isGenerated)
    }
}

extension ByteStreamInfo {
    init(_ options: StreamByteOptions, id: String, timestamp: Int64, length: Int?) {
        self.init(
            id: id, topic: options.topic, timestamp: timestamp, totalLength: length, attributes: options.attributes,
            mimeType: options.mimeType ?? "application/octet-stream", name: options.name ?? "")
    }
}
