internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import RTCNetwork
internal import Synchronization

/// Streams of data: texts and files of any length, which come whole, in order, and piece by piece (LiveKit's data
/// streams). Those on topics `lk.rpc_…` are calls of methods, and belong to `performRPC`.
extension Room {
    /// Reads a text of somebody's; nil for a sender that is the server, or hidden. Runs beside all else, and begins
    /// when the text does; an error that it throws is told to nobody.
    public typealias TextStreamHandler = @Sendable (TextStreamReader, ParticipantIdentity?) async throws -> Void
    /// Reads bytes of somebody's; as `TextStreamHandler`.
    public typealias ByteStreamHandler = @Sendable (ByteStreamReader, ParticipantIdentity?) async throws -> Void

    /// Says who reads the texts on a topic that begin from now on; nil: nobody, and they are passed over.
    public func registerTextStreamHandler(for topic: String, _ handler: TextStreamHandler?) {
        textStreamHandlers[topic] = handler
        machine.incoming.textTopics = Set(textStreamHandlers.keys)
    }

    /// Says who reads the streams of bytes on a topic that begin from now on; nil: nobody, and they are passed over.
    public func registerByteStreamHandler(for topic: String, _ handler: ByteStreamHandler?) {
        byteStreamHandlers[topic] = handler
        machine.incoming.byteTopics = Set(byteStreamHandlers.keys)
    }

    // MARK: Sending

    /// Sends a text. Back when it is on its way; waits while 4 MiB of messages do.
    ///
    /// - Throws: `notConnected` outside a room, `streamInterrupted` when our session is lost before the end,
    ///   `dataTooLarge` where topic and attributes are.
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

    /// Sends a file, which is read as it goes; otherwise as `sendText`. A file that cannot be read to its end ends the
    /// stream for those who read it, too.
    ///
    /// - Parameter path: its name goes along unless `options.name` is another.
    /// - Throws: also `fileUnreadable`.
    @discardableResult
    public func sendFile(at path: String, options: StreamByteOptions) async throws(RoomError) -> ByteStreamInfo {
        var file = try StreamedFile(path)
        var options = options
        options.name = options.name ?? file.name
        options.totalLength = file.length
        let writer = try await streamBytes(options: options)
        do throws(RoomError) {
            while let piece = try file.next() { try await writer.write(piece) }
            try await writer.close()
        } catch {
            try? await writer.close(reason: "the file could not be read")
            throw error
        }
        return writer.info
    }

    /// Begins a text that is not there yet; what is written follows.
    public func streamText(options: StreamTextOptions) async throws(RoomError) -> TextStreamWriter {
        let header = LiveKitDataStream.Header(options, id: name(options.id), timestamp: machine.wallClock())
        let info = TextStreamInfo(options, id: header.streamID, timestamp: header.timestamp, length: nil)
        let stream = try await begin(header, to: options.destinationIdentities, as: options.senderIdentity)
        return TextStreamWriter(info, stream)
    }

    /// Begins a stream of bytes that are not there yet; what is written follows.
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
        await media?.waitForRoom()
        let stream = try await applying { machine, now throws(RoomError) in
            try machine.beginStream(header, to: destinations, as: sender, at: now)
        }
        return OutgoingStreamSlot(stream, room: self)
    }

    private func sendWhole(
        _ header: LiveKitDataStream.Header, _ content: [UInt8], to destinations: [ParticipantIdentity],
        as sender: ParticipantIdentity? = nil
    ) async throws(RoomError) {
        await media?.waitForRoom()
        let whole = try await applying { machine, now throws(RoomError) in
            try machine.beginStream(header, content: content, to: destinations, as: sender, at: now)
        }
        guard !whole.isOver else { return }
        let slot = OutgoingStreamSlot(whole.stream, room: self)
        for chunk in whole.chunks { try await write(chunk, on: slot) }
        try await close(slot, [:], "")
    }

    func write(_ content: [UInt8], on slot: OutgoingStreamSlot) async throws(RoomError) {
        guard let isText = slot.stream.withLock({ $0?.isText }) else { throw .streamClosed }
        for chunk in OutgoingStream.chunks(content, isText: isText) { try await write(chunk, on: slot) }
    }

    private func write(_ chunk: ArraySlice<UInt8>, on slot: OutgoingStreamSlot) async throws(RoomError) {
        await media?.waitForRoom()
        // Whoever is cancelled does not wait, and would fill the memory.
        guard !Task.isCancelled else { throw .streamInterrupted }
        try await applying { machine, now throws(RoomError) in
            guard var stream = slot.stream.withLock({ $0 }) else { throw .streamClosed }
            try machine.send(chunk, on: &stream, at: now)
            slot.stream.withLock { $0 = stream }
        }
    }

    func close(
        _ slot: OutgoingStreamSlot, _ attributes: [String: String], _ reason: String
    ) async throws(RoomError) {
        guard
            let stream = slot.stream.withLock({ stream in
                defer { stream = nil }
                return stream
            })
        else { throw .streamClosed }
        try await applying { machine, now throws(RoomError) in
            try machine.endStream(stream, reason: reason, attributes: attributes, at: now)
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
        let inbox = DataStreamInbox(header, broadcast: broadcast)
        switch header.kind {
        case .text(let info):
            guard let handler = textStreamHandlers[info.topic] else { return }
            let reader = TextStreamReader(info, inbox)
            Task { try await handler(reader, header.sender) }
        case .bytes(let info):
            guard let handler = byteStreamHandlers[info.topic] else { return }
            let reader = ByteStreamReader(info, inbox)
            Task { try await handler(reader, header.sender) }
        }
        inboxes[id] = inbox
    }
}

/// A file that is read as it is sent.
private struct StreamedFile {
    private static let pieceLength = 240_000

    let name: String
    let length: Int
    private let handle: FileHandle
    /// Of what was announced.
    private var left: Int

    init(_ path: String) throws(RoomError) {
        let url = URL(fileURLWithPath: path)
        name = url.lastPathComponent
        var size: Int?
        do {
            let values = try url.resourceValues(forKeys: [.isRegularFileKey, .fileSizeKey])
            // Of others nobody knows how long they are, and some wait for a writer or have no end.
            if values.isRegularFile == true { size = values.fileSize }
            handle = try size == nil ? .nullDevice : FileHandle(forReadingFrom: url)
        } catch {
            throw .fileUnreadable(error.localizedDescription)
        }
        guard let size else { throw .fileUnreadable("it is no file") }
        length = size
        left = size
    }

    /// The next piece, up to the length that was announced; nil at the end.
    mutating func next() throws(RoomError) -> [UInt8]? {
        guard left > 0 else { return nil }
        let piece: Data
        do {
            piece = try handle.read(upToCount: min(Self.pieceLength, left)) ?? Data()
        } catch {
            throw .fileUnreadable(error.localizedDescription)
        }
        guard !piece.isEmpty else { throw .fileUnreadable("it has become shorter") }
        left -= piece.count
        return [UInt8](piece)
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
