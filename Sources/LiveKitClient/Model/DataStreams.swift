internal import LiveKitProtocol

/// What a sender says of a stream of text before its content (LiveKit's data streams).
public struct TextStreamInfo: Sendable, Hashable {
    /// What a text does to those that came before it; for chats (LiveKit's names). The receiver's application is what
    /// acts on it: this client only carries it.
    public enum Operation: String, Sendable, Hashable {
        /// It is a new text.
        case create
        /// It replaces an earlier text; `version` says which edit this is.
        case update
        /// It takes an earlier text back.
        case delete
        /// It is a reaction to an earlier text.
        case reaction
    }

    /// Chosen by the sender: another one for each stream.
    public let id: String
    /// Chosen by applications; `lk.chat` and `lk.transcription` are LiveKit's own.
    public let topic: String
    /// When it was begun, by the sender's clock: milliseconds since 1970.
    public let timestamp: Int64
    /// In bytes of UTF-8; nil where the sender did not know it.
    public let totalLength: Int?
    /// Chosen by applications, as the sender began the stream with; those of its end are in the reader's `attributes`.
    public let attributes: [String: String]
    /// What the text does to those that came before it.
    public let operation: Operation
    /// The number of the edit, where `operation` is `update`; else usually 0.
    public let version: Int
    /// The stream that this one answers.
    public let replyToStreamID: String?
    /// Streams of bytes that belong to this text.
    public let attachedStreamIDs: [String]
    /// It was made by a program, as a transcription is.
    public let isGenerated: Bool
}

/// What a sender says of a stream of bytes before its content (LiveKit's data streams).
public struct ByteStreamInfo: Sendable, Hashable {
    /// Chosen by the sender: another one for each stream.
    public let id: String
    /// Chosen by applications.
    public let topic: String
    /// When it was begun, by the sender's clock: milliseconds since 1970.
    public let timestamp: Int64
    /// In bytes; nil where the sender did not know it.
    public let totalLength: Int?
    /// Chosen by applications, as the sender began the stream with; those of its end are in the reader's `attributes`.
    public let attributes: [String: String]
    /// As the sender says.
    public let mimeType: String
    /// Of a file, as the sender says: it may be anything, a path too, and be empty.
    public let name: String
}

/// How a stream of text is begun.
public struct StreamTextOptions: Sendable, Hashable {
    /// Chosen by applications: receivers register a handler for it. Topics that begin with `lk.` are LiveKit's.
    public var topic: String
    /// Chosen by applications; receivers get them with the beginning of the stream.
    public var attributes: [String: String] = [:]
    /// Who receives the stream; everybody when it is empty.
    public var destinationIdentities: [ParticipantIdentity] = []
    /// The participant in whose name the text is sent; nil for us. Servers permit other names to agents only.
    public var senderIdentity: ParticipantIdentity?
    /// One is made when it is nil.
    public var id: String?
    /// What the text does to those that came before it.
    public var operation = TextStreamInfo.Operation.create
    /// The number of the edit, where `operation` is `update`.
    public var version = 0
    /// The `id` of the stream that this one answers.
    public var replyToStreamID: String?
    /// The `id` of each stream of bytes that belongs to this text.
    public var attachedStreamIDs: [String] = []
    /// The text was made by a program, as a transcription is.
    public var isGenerated = false

    public init(topic: String) { self.topic = topic }
}

/// How a stream of bytes is begun.
public struct StreamByteOptions: Sendable, Hashable {
    /// Chosen by applications: receivers register a handler for it. Topics that begin with `lk.` are LiveKit's.
    public var topic: String
    /// Chosen by applications; receivers get them with the beginning of the stream.
    public var attributes: [String: String] = [:]
    /// Who receives the stream; everybody when it is empty.
    public var destinationIdentities: [ParticipantIdentity] = []
    /// One is made when it is nil.
    public var id: String?
    /// `application/octet-stream` when it is nil.
    public var mimeType: String?
    /// A name for receivers, such as a file's. With nil, `Room.sendFile` takes the name of the file.
    public var name: String?
    /// How many bytes will come, where that is known.
    public var totalLength: Int?

    public init(topic: String) { self.topic = topic }
}

/// Why the content of a stream does not come to a good end.
public enum StreamError: Error, Sendable, Hashable {
    /// Its sender gave it up, for this reason.
    case abnormalEnd(reason: String)
    /// Its sender has left the room, or is back in a new session.
    case senderLeft
    /// We have left the room, or are in a new session, where what came meanwhile is missing.
    case disconnected
    /// A part of it is missing.
    case incomplete
    /// More came than was announced.
    case lengthExceeded
    /// It is no UTF-8, or is packed in a way that makes no sense.
    case undecodable
    /// It is longer than the `limit` of `readAll`.
    case tooLong(limit: Int)
    /// Nobody reads any more: the task that did, or the reader, is cancelled.
    case cancelled
}

extension StreamError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .abnormalEnd(let reason): "Its sender has given it up: \(reason)"
        case .senderLeft: "Its sender has left before its end."
        case .disconnected: "The connection was lost before its end."
        case .incomplete: "A part of it is missing."
        case .lengthExceeded: "It is longer than its sender has said."
        case .undecodable: "It cannot be decoded."
        case .tooLong(let limit): "It is longer than \(limit) bytes."
        case .cancelled: "Nobody reads it any more."
        }
    }
}
