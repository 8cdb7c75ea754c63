internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// A stream of ours that has begun.
struct OutgoingStream: Sendable {
    let id: String
    let destinations: [ParticipantIdentity]
    let isText: Bool
    /// The session (`sessionNumber`) that it was begun in, or waits for. In another one it cannot go on.
    fileprivate let session: Int
    fileprivate var nextIndex: UInt64 = 0

    /// The largest chunk in bytes, as LiveKit's SDKs have it.
    static let chunkLength = 15_000

    /// Cuts content into chunks. Text is cut between characters, so that each chunk is text by itself.
    static func chunks(_ content: [UInt8], isText: Bool) -> [ArraySlice<UInt8>] {
        var chunks: [ArraySlice<UInt8>] = []
        var rest = content[...]
        while !rest.isEmpty {
            var chunk = rest.prefix(chunkLength)
            if isText, chunk.count < rest.count { chunk.removeLast(StreamDecoder.unfinishedLength(chunk)) }
            chunks.append(chunk)
            rest = rest.dropFirst(chunk.count)
        }
        return chunks
    }
}

/// A stream whose header was sent and whose whole content is known, and what still has to be sent.
struct WholeStream {
    let stream: OutgoingStream
    /// Empty when the header has the whole content in it (`isOver`).
    let chunks: [ArraySlice<UInt8>]
    let isOver: Bool
}

extension RoomClientMachine {
    /// Begins a stream whose content comes later.
    ///
    /// - Parameter sender: in whose name it is sent; nil for our own.
    mutating func beginStream(
        _ header: LiveKitDataStream.Header, to destinations: [ParticipantIdentity],
        as sender: ParticipantIdentity? = nil, at now: Instant
    ) throws(RoomError) -> OutgoingStream {
        try sendStream(.streamHeader(header), to: destinations, as: sender, at: now)
        return outgoing(header, to: destinations)
    }

    /// Begins a stream whose content is known. Where all receivers can decompress, and it becomes shorter, the content
    /// is sent compressed. Where all receivers have `client_protocol` 2 and it is short enough, it is in the header,
    /// and nothing follows. Otherwise the caller sends the chunks of the result, and the end.
    ///
    /// - Parameter packed: the content compressed, for content of more than `packedAtOnce`; shorter content is
    ///   compressed here.
    mutating func beginStream(
        _ header: LiveKitDataStream.Header, content: [UInt8], packed: [UInt8]? = nil,
        to destinations: [ParticipantIdentity], as sender: ParticipantIdentity? = nil, at now: Instant
    ) throws(RoomError) -> WholeStream {
        var header = header
        header.totalLength = UInt64(content.count)
        let stream = outgoing(header, to: destinations)
        let readers = recipients(destinations)
        guard readers.allSatisfy({ $0.clientProtocol >= 2 }) else {
            try sendStream(.streamHeader(header), to: destinations, as: sender, at: now)
            return WholeStream(
                stream: stream, chunks: OutgoingStream.chunks(content, isText: stream.isText), isOver: false)
        }
        var sent = content
        if canUnpack(destinations),
            let packed = packed ?? (content.count <= Self.packedAtOnce ? Deflate.compress(content) : nil),
            packed.count < content.count
        {
            sent = packed
            header.compression = .deflateRaw
        }
        if sent.count <= OutgoingStream.chunkLength {
            var inline = header
            inline.inlineContent = Data(sent)
            let packet = packet(.streamHeader(inline), to: destinations, as: sender)
            if packet.length <= OutgoingStream.chunkLength {
                try send(packet, .reliable, at: now)
                return WholeStream(stream: stream, chunks: [], isOver: true)
            }
        }
        try sendStream(.streamHeader(header), to: destinations, as: sender, at: now)
        let isText = stream.isText && header.compression == .none
        return WholeStream(stream: stream, chunks: OutgoingStream.chunks(sent, isText: isText), isOver: false)
    }

    /// Sends the next chunk.
    mutating func send(
        _ chunk: ArraySlice<UInt8>, on stream: inout OutgoingStream, at now: Instant
    ) throws(RoomError) {
        try check(stream)
        let index = stream.nextIndex
        try sendStream(
            .streamChunk(
                .with {
                    $0.streamID = stream.id
                    $0.chunkIndex = index
                    $0.content = Data(chunk)
                }), to: stream.destinations, at: now)
        stream.nextIndex += 1
    }

    /// Ends a stream. A reason that is not empty says that it is not complete.
    mutating func endStream(
        _ stream: OutgoingStream, reason: String, attributes: [String: String], at now: Instant
    ) throws(RoomError) {
        try check(stream)
        try sendStream(
            .streamTrailer(
                .with {
                    $0.streamID = stream.id
                    $0.reason = reason
                    $0.attributes = attributes
                }), to: stream.destinations, at: now)
    }

    /// Content of at most so many bytes is compressed by the machine itself, which keeps others waiting for that long.
    static let packedAtOnce = 64 << 10

    /// Whether all receivers can decompress.
    func canUnpack(_ destinations: [ParticipantIdentity]) -> Bool {
        recipients(destinations).allSatisfy {
            $0.clientProtocol >= 2 && $0.capabilities.contains(.capCompressionDeflateRaw)
        }
    }

    /// Sends a whole stream at once, or nothing of it where there is no room for all.
    mutating func sendWhole(
        _ header: LiveKitDataStream.Header, content: [UInt8], to destinations: [ParticipantIdentity], at now: Instant
    ) throws(RoomError) {
        var packed: [UInt8]?
        if content.count <= Self.packedAtOnce, canUnpack(destinations) { packed = Deflate.compress(content) }
        let ends = packet(.streamHeader(header), to: destinations, as: nil).length + OutgoingStream.chunkLength
        let length = min(packed?.count ?? content.count, content.count)
        // A sixteenth more is room for what each chunk has beside its content.
        guard data.hasRoom(for: ends + length + length / 16) else { throw .dataBacklog }
        let whole = try beginStream(header, content: content, packed: packed, to: destinations, at: now)
        var stream = whole.stream
        for chunk in whole.chunks { try send(chunk, on: &stream, at: now) }
        if !whole.isOver { try endStream(stream, reason: "", attributes: [:], at: now) }
    }

    private func outgoing(
        _ header: LiveKitDataStream.Header, to destinations: [ParticipantIdentity]
    ) -> OutgoingStream {
        var isText = false
        if case .textHeader? = header.contentHeader { isText = true }
        return OutgoingStream(
            id: header.streamID, destinations: destinations, isText: isText, session: sessionNumber)
    }

    private func check(_ stream: OutgoingStream) throws(RoomError) {
        guard isInRoom else { throw .notConnected }
        guard stream.session == sessionNumber else { throw .streamInterrupted }
    }

    private func recipients(_ destinations: [ParticipantIdentity]) -> [LiveKitParticipantInfo] {
        guard !destinations.isEmpty else { return Array(roster.remote.values) }
        return destinations.map { destination in
            // Of one that we do not know nothing is assumed: it counts as the oldest protocol.
            roster.remote.values.first { $0.identity == destination.rawValue } ?? LiveKitParticipantInfo()
        }
    }

    private mutating func sendStream(
        _ value: LiveKitDataPacket.OneOf_Value, to destinations: [ParticipantIdentity],
        as sender: ParticipantIdentity? = nil, at now: Instant
    ) throws(RoomError) {
        try send(packet(value, to: destinations, as: sender), .reliable, at: now)
    }

    private func packet(
        _ value: LiveKitDataPacket.OneOf_Value, to destinations: [ParticipantIdentity], as sender: ParticipantIdentity?
    ) -> LiveKitDataPacket {
        var packet = LiveKitDataPacket()
        packet.participantIdentity = sender?.rawValue ?? roster.local.identity
        packet.participantSid = roster.local.sid
        packet.destinationIdentities = destinations.map(\.rawValue)
        packet.value = value
        return packet
    }
}

extension LiveKitDataPacket {
    /// Its length in bytes when it is sent, with up to 6 for the sequence number that it gets then.
    fileprivate var length: Int { ((try? serializedBytes() as [UInt8])?.count ?? .max / 2) + 6 }
}

extension LiveKitDataStream.Header {
    init(_ options: StreamTextOptions, id: String, timestamp: Int64) {
        self.init()
        streamID = id
        self.timestamp = timestamp
        topic = options.topic
        mimeType = "text/plain"
        attributes = options.attributes
        textHeader = .with {
            $0.operationType = options.operation.message
            $0.version = Int32(clamping: options.version)
            $0.replyToStreamID = options.replyToStreamID ?? ""
            $0.attachedStreamIds = options.attachedStreamIDs
            $0.generated = options.isGenerated
        }
    }

    init(_ options: StreamByteOptions, id: String, timestamp: Int64) {
        self.init()
        streamID = id
        self.timestamp = timestamp
        topic = options.topic
        mimeType = options.mimeType ?? "application/octet-stream"
        attributes = options.attributes
        if let length = options.totalLength { totalLength = UInt64(clamping: length) }
        byteHeader = .with { $0.name = options.name ?? "" }
    }
}
