internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// A stream of ours that has begun.
struct OutgoingStream: Sendable {
    let id: String
    let destinations: [ParticipantIdentity]
    let isText: Bool
    /// The session of ours that it was begun in: nobody knows it in another one.
    fileprivate let session: String
    fileprivate var nextIndex: UInt64 = 0

    /// In bytes, as LiveKit's SDKs cut it.
    static let chunkLength = 15_000

    /// Cuts content into chunks; text between characters, so that whoever reads chunk by chunk has whole ones.
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

/// Content that is there as a whole, and what has to be sent for it.
struct WholeStream {
    let stream: OutgoingStream
    /// Nothing when the beginning has carried all of it.
    let chunks: [ArraySlice<UInt8>]
    let isOver: Bool
}

extension RoomClientMachine {
    /// Begins a stream of whose content nothing is known yet.
    ///
    /// - Parameter sender: in whose name; our own if it is nil.
    mutating func beginStream(
        _ header: LiveKitDataStream.Header, to destinations: [ParticipantIdentity],
        as sender: ParticipantIdentity? = nil, at now: Instant
    ) throws(RoomError) -> OutgoingStream {
        try sendStream(.streamHeader(header), to: destinations, as: sender, at: now)
        return outgoing(header, to: destinations)
    }

    /// Begins a stream whose content is there. A short one is all said by that, where all who get it understand
    /// (`client_protocol` 2), and is packed where they can unpack it and that makes it shorter. What is left has to be
    /// sent: chunk by chunk, and the end.
    mutating func beginStream(
        _ header: LiveKitDataStream.Header, content: [UInt8], to destinations: [ParticipantIdentity],
        as sender: ParticipantIdentity? = nil, at now: Instant
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
        if readers.allSatisfy({ $0.capabilities.contains(.capCompressionDeflateRaw) }),
            let packed = Deflate.compress(content), packed.count < content.count
        {
            sent = packed
            header.compression = .deflateRaw
        }
        var inline = header
        inline.inlineContent = Data(sent)
        if sent.count <= OutgoingStream.chunkLength, inline.serializedLength <= OutgoingStream.chunkLength {
            try sendStream(.streamHeader(inline), to: destinations, as: sender, at: now)
            return WholeStream(stream: stream, chunks: [], isOver: true)
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

    /// Ends a stream; with a reason one that does not come to a good end.
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

    /// All of a stream at once, for content that is not long.
    mutating func sendWhole(
        _ header: LiveKitDataStream.Header, content: [UInt8], to destinations: [ParticipantIdentity], at now: Instant
    ) throws(RoomError) {
        let whole = try beginStream(header, content: content, to: destinations, at: now)
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
            id: header.streamID, destinations: destinations, isText: isText, session: roster.local.sid)
    }

    private func check(_ stream: OutgoingStream) throws(RoomError) {
        guard isInRoom else { throw .notConnected }
        guard stream.session == roster.local.sid else { throw .streamInterrupted }
    }

    private func recipients(_ destinations: [ParticipantIdentity]) -> [LiveKitParticipantInfo] {
        guard !destinations.isEmpty else { return Array(roster.remote.values) }
        return destinations.map { destination in
            // One that we do not know may be of any age.
            roster.remote.values.first { $0.identity == destination.rawValue } ?? LiveKitParticipantInfo()
        }
    }

    private mutating func sendStream(
        _ value: LiveKitDataPacket.OneOf_Value, to destinations: [ParticipantIdentity],
        as sender: ParticipantIdentity? = nil, at now: Instant
    ) throws(RoomError) {
        var packet = LiveKitDataPacket()
        packet.participantIdentity = sender?.rawValue ?? ""
        packet.destinationIdentities = destinations.map(\.rawValue)
        packet.value = value
        try send(packet, .reliable, at: now)
    }
}

extension LiveKitDataStream.Header {
    fileprivate var serializedLength: Int { (try? serializedBytes() as [UInt8])?.count ?? .max }

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
