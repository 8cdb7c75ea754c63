internal import LiveKitProtocol
internal import RTCEngine

/// Our own name of a stream that somebody else sends.
struct IncomingStreamID: Hashable, Sendable {
    let rawValue: UInt64
}

/// What came before the content of a stream.
struct IncomingStreamHeader: Sendable {
    enum Kind: Sendable {
        case text(TextStreamInfo)
        case bytes(ByteStreamInfo)
    }

    var kind: Kind
    /// Nil when the sender is the server, or a hidden participant.
    var sender: ParticipantIdentity?
    /// Whether the content is compressed: its chunks together are one stream of DEFLATE.
    var isPacked: Bool

    var topic: String {
        switch kind {
        case .text(let info): info.topic
        case .bytes(let info): info.topic
        }
    }

    var totalLength: Int? {
        switch kind {
        case .text(let info): info.totalLength
        case .bytes(let info): info.totalLength
        }
    }

    var isText: Bool {
        switch kind {
        case .text: true
        case .bytes: false
        }
    }

    /// A decoder for the content. Throws as `StreamDecoder.init` does.
    func decoder() throws(StreamError) -> StreamDecoder {
        try StreamDecoder(totalLength: totalLength, isPacked: isPacked, isText: isText)
    }
}

/// Streams of others that have begun and not ended (LiveKit's data streams, versions 1 and 2).
struct IncomingStreams {
    /// What becomes of the content.
    enum Use {
        case reader(IncomingStreamID)
        /// It is the payload of a call of one of our methods.
        case call(CallPayload)
        /// It is the answer to a call of ours.
        case answer(CallPayload)
    }

    /// Names an open stream: by its sender too, for two senders may choose the same name.
    struct Key: Hashable {
        let sender: String
        let streamID: String

        init(_ packet: LiveKitDataPacket, _ streamID: String) {
            // Some servers send no sids. Of a hidden sender neither is known.
            sender = packet.participantSid.isEmpty ? packet.participantIdentity : packet.participantSid
            self.streamID = streamID
        }
    }

    struct Stream {
        var use: Use
        var nextIndex: UInt64 = 0
    }

    /// How many streams of one sender may be open at a time, and how many may still have a reader.
    static let openLimit = 256

    /// The topics for which the application has handlers.
    var textTopics: Set<String> = []
    var byteTopics: Set<String> = []
    var open: [Key: Stream] = [:]
    /// The senders of the streams that their readers have not let go of.
    private var readers: [IncomingStreamID: String] = [:]
    private var lastID: UInt64 = 0

    mutating func addReader(of key: Key) -> IncomingStreamID {
        lastID += 1
        let id = IncomingStreamID(rawValue: lastID)
        readers[id] = key.sender
        return id
    }

    /// The stream's reader has let go of it: what still comes is ignored.
    mutating func readerGone(_ id: IncomingStreamID) {
        guard readers.removeValue(forKey: id) != nil else { return }
        drop { use in if case .reader(id) = use { true } else { false } }
    }

    /// Stops reading the payloads of calls that nobody waits for any more.
    mutating func dropCalls(_ isOver: (String) -> Bool) {
        drop { use in if case .call(let payload) = use { isOver(payload.requestID) } else { false } }
    }

    mutating func dropAnswers(_ isOver: (String) -> Bool) {
        drop { use in if case .answer(let payload) = use { isOver(payload.requestID) } else { false } }
    }

    private mutating func drop(_ isOver: (Use) -> Bool) {
        for (key, stream) in open where isOver(stream.use) { open[key] = nil }
    }

    func hasRoom(for key: Key) -> Bool {
        open[key] == nil && readers.values.count { $0 == key.sender } < Self.openLimit
            && open.keys.count { $0.sender == key.sender } < Self.openLimit
    }

    /// Removes and returns the open streams of a sender, or all with nil.
    mutating func takeAll(of sender: String? = nil) -> [Use] {
        let taken = open.filter { sender == nil || $0.key.sender == sender }
        for key in taken.keys { open[key] = nil }
        return taken.sorted { $0.key.streamID < $1.key.streamID }.map(\.value.use)
    }
}

/// How a stream has ended: well, with the attributes that its end has carried, or with an error.
typealias IncomingStreamEnd = Result<[String: String], StreamError>

extension RoomClientMachine {
    mutating func streamBegan(_ header: LiveKitDataStream.Header, _ packet: LiveKitDataPacket, at now: Instant) {
        let key = IncomingStreams.Key(packet, header.streamID)
        // A compression that we do not know cannot be read.
        guard [.none, .deflateRaw].contains(header.compression), incoming.hasRoom(for: key),
            let begun = IncomingStreamHeader(header, sender: packet.sender),
            let use = use(of: begun, key, at: now)
        else { return }
        if case .reader(let id) = use { put(.streamBegan(id, begun)) }
        guard header.hasInlineContent else { return incoming.open[key] = IncomingStreams.Stream(use: use) }
        // The header has the whole content in it: neither chunks nor an end follow.
        if take([UInt8](header.inlineContent), for: use, at: now) { finish(use, .success([:]), at: now) }
    }

    /// What becomes of the stream; nil where nothing reads it.
    private mutating func use(
        of header: IncomingStreamHeader, _ key: IncomingStreams.Key, at now: Instant
    ) -> IncomingStreams.Use? {
        switch header.kind {
        case .text(let info) where info.topic == CallPayload.requestTopic:
            return callBegan(header, info.attributes, at: now).map { .call($0) }
        case .text(let info) where info.topic == CallPayload.responseTopic:
            return answerBegan(header, info.attributes).map { .answer($0) }
        case .text(let info):
            return incoming.textTopics.contains(info.topic) ? .reader(incoming.addReader(of: key)) : nil
        case .bytes(let info):
            return incoming.byteTopics.contains(info.topic) ? .reader(incoming.addReader(of: key)) : nil
        }
    }

    mutating func streamWentOn(_ chunk: LiveKitDataStream.Chunk, _ packet: LiveKitDataPacket, at now: Instant) {
        let key = IncomingStreams.Key(packet, chunk.streamID)
        // Some senders send the header to a few and the chunks to everybody, so those of unknown streams are ignored;
        // so is a chunk that has come before.
        guard var stream = incoming.open[key], chunk.chunkIndex >= stream.nextIndex else { return }
        incoming.open[key] = nil
        guard chunk.chunkIndex == stream.nextIndex else { return finish(stream.use, .failure(.incomplete), at: now) }
        stream.nextIndex += 1
        if take([UInt8](chunk.content), for: stream.use, at: now) { incoming.open[key] = stream }
    }

    mutating func streamEnded(_ trailer: LiveKitDataStream.Trailer, _ packet: LiveKitDataPacket, at now: Instant) {
        guard let stream = incoming.open.removeValue(forKey: IncomingStreams.Key(packet, trailer.streamID)) else {
            return
        }
        let end: IncomingStreamEnd =
            trailer.reason.isEmpty
            ? .success(trailer.attributes) : .failure(.abnormalEnd(reason: trailer.reason))
        finish(stream.use, end, at: now)
    }

    /// Their sender has left. Some servers send no sids: those streams are found by the identity.
    mutating func endStreams(of sender: LiveKitParticipantInfo, at now: Instant) {
        for use in incoming.takeAll(of: sender.sid) + incoming.takeAll(of: sender.identity) {
            finish(use, .failure(.senderLeft), at: now)
        }
    }

    /// We are in a new session. Parts of the streams were lost between the two, so they end with an error.
    mutating func endStreams(at now: Instant) {
        for use in incoming.takeAll() { finish(use, .failure(.disconnected), at: now) }
    }

    /// - Returns: false when the rest of the stream is not wanted.
    private mutating func take(_ content: [UInt8], for use: IncomingStreams.Use, at now: Instant) -> Bool {
        switch use {
        case .reader(let id):
            if !content.isEmpty { put(.streamWentOn(id, content)) }
            return true
        case .call(let payload), .answer(let payload):
            do throws(StreamError) {
                try payload.take(content)
                if case .call = use, !calls.hold(payload.length, of: payload.requestID) {
                    throw .tooLong(limit: RPCError.largestStreamedPayload)
                }
                return true
            } catch {
                finish(use, .failure(error), at: now)
                return false
            }
        }
    }

    private mutating func finish(_ use: IncomingStreams.Use, _ end: IncomingStreamEnd, at now: Instant) {
        switch use {
        case .reader(let id): put(.streamEnded(id, end))
        case .call(let payload): callEnded(payload, end, at: now)
        case .answer(let payload): answerEnded(payload, end)
        }
    }
}

extension LiveKitDataPacket {
    var isOfStream: Bool {
        switch value {
        case .streamHeader?, .streamChunk?, .streamTrailer?: true
        default: false
        }
    }

    /// Nil when the sender is the server, or a hidden participant.
    var sender: ParticipantIdentity? {
        participantIdentity.isEmpty ? nil : ParticipantIdentity(participantIdentity)
    }
}

extension IncomingStreamHeader {
    /// Nil for content of a kind that we do not know.
    init?(_ header: LiveKitDataStream.Header, sender: ParticipantIdentity?) {
        let length = header.hasTotalLength ? Int(clamping: header.totalLength) : nil
        switch header.contentHeader {
        case .textHeader(let text)?:
            kind = .text(
                TextStreamInfo(
                    id: header.streamID, topic: header.topic, timestamp: header.timestamp, totalLength: length,
                    attributes: header.attributes, operation: TextStreamInfo.Operation(text.operationType),
                    version: Int(text.version),
                    replyToStreamID: text.replyToStreamID.isEmpty ? nil : text.replyToStreamID,
                    attachedStreamIDs: text.attachedStreamIds, isGenerated: text.generated))
        case .byteHeader(let bytes)?:
            kind = .bytes(
                ByteStreamInfo(
                    id: header.streamID, topic: header.topic, timestamp: header.timestamp, totalLength: length,
                    attributes: header.attributes, mimeType: header.mimeType, name: bytes.name))
        case nil: return nil
        }
        self.sender = sender
        isPacked = header.compression == .deflateRaw
    }
}

extension TextStreamInfo.Operation {
    init(_ operation: LiveKitDataStream.OperationType) {
        switch operation {
        case .update: self = .update
        case .delete: self = .delete
        case .reaction: self = .reaction
        case .create, .UNRECOGNIZED: self = .create
        }
    }

    var message: LiveKitDataStream.OperationType {
        switch self {
        case .create: .create
        case .update: .update
        case .delete: .delete
        case .reaction: .reaction
        }
    }
}
