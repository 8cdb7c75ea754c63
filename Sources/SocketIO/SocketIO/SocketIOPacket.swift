/// The packet types of Socket.IO protocol revision 5; on the wire an ASCII digit.
public enum SocketIOPacketKind: UInt8, Hashable, Sendable {
    /// Client: join this namespace, with an optional auth object. Server: joined, with the socket's id.
    case connect = 0x30
    /// Either side leaves the namespace.
    case disconnect = 0x31
    /// Either side: a name and arguments.
    case event = 0x32
    /// Either side: the answer to an event that had an id.
    case ack = 0x33
    /// Server: the namespace refused, with a message and optional data.
    case connectError = 0x34
    /// An event whose arguments hold placeholders for attachments that follow.
    case binaryEvent = 0x35
    /// An answer of the same kind.
    case binaryAck = 0x36

    /// Whether attachments follow.
    public var isBinary: Bool {
        switch self {
        case .binaryEvent, .binaryAck: true
        case .connect, .disconnect, .event, .ack, .connectError: false
        }
    }
}

/// One packet of Socket.IO protocol revision 5, together with its binary attachments.
public struct SocketIOPacket: Hashable, Sendable {
    public var kind: SocketIOPacketKind
    /// The namespace with its leading slash; `/` is the main one.
    public var namespace: String
    /// What followed `?` in the namespace's place, as some clients send it; empty if nothing did.
    public var query: String
    /// The acknowledgement's id.
    public var id: Int?
    /// The JSON as it was sent; nil if there was none.
    public var payload: RawJSON?
    /// The attachments, in the order of their placeholders' numbers.
    public var attachments: [[UInt8]]

    public init(
        kind: SocketIOPacketKind, namespace: String = "/", query: String = "", id: Int? = nil,
        payload: RawJSON? = nil, attachments: [[UInt8]] = []
    ) {
        self.kind = kind
        self.namespace = namespace
        self.query = query
        self.id = id
        self.payload = payload
        self.attachments = attachments
    }

    /// The name of an event and the arguments after it; nil for other kinds.
    public var event: (name: String, arguments: SocketIOArguments)? {
        switch kind {
        case .event, .binaryEvent:
            guard let payload else { return nil }
            let bytes = payload.bytes
            var scanner = JSONScanner(bytes.span, at: 1)
            scanner.skipWhitespace()
            let start = scanner.position
            guard scanner.skipString() else { return nil }
            guard let name = RawJSON(checked: bytes.part(start..<scanner.position)).string else { return nil }
            scanner.skipWhitespace()
            _ = scanner.skip(UInt8(ascii: ","))
            let body = bytes.part(min(scanner.position, bytes.count - 1)..<(bytes.count - 1))
            return (name, SocketIOArguments(checked: body, attachments: attachments))
        case .connect, .disconnect, .ack, .connectError, .binaryAck: return nil
        }
    }

    /// The arguments of an acknowledgement; nil for other kinds.
    public var acknowledgement: SocketIOArguments? {
        switch kind {
        case .ack, .binaryAck: payload.flatMap { SocketIOArguments(array: $0, attachments: attachments) }
        case .connect, .disconnect, .event, .connectError, .binaryEvent: nil
        }
    }
}

/// Why bytes are no Socket.IO packet. The connection that sent them is closed; nobody else notices.
public enum SocketIOPacketError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No type, or one that does not exist.
    case unknownKind
    /// Too large a number, or a missing separator.
    case malformedHeader
    /// The payload is not JSON, or not of the kind that this packet takes.
    case malformedPayload
    /// An event with a name that the protocol keeps for itself.
    case reservedEventName(String)
    /// A placeholder without an attachment, an attachment without a packet, or more than are allowed.
    case illegalAttachments
    /// The attachments of one packet have more bytes together than are allowed.
    case attachmentsTooLarge
    /// A text packet while attachments were still missing.
    case attachmentsExpected

    /// A part of a sentence.
    public var description: String {
        switch self {
        case .unknownKind: "a packet is of no known type"
        case .malformedHeader: "a packet's head is malformed"
        case .malformedPayload: "a packet's payload is malformed"
        case .reservedEventName(let name): "the event name \(name) is reserved"
        case .illegalAttachments: "attachments and placeholders do not match"
        case .attachmentsTooLarge: "the attachments of a packet are too large together"
        case .attachmentsExpected: "attachments of a packet are missing"
        }
    }
}
