import NIOCore

/// A Socket.IO packet as it leaves: written once, shared by every receiver, whichever transport each has.
struct EncodedMessage: Sendable {
    /// WebSocket frames, unmasked as a server sends them: one for the text part, then one for each attachment.
    let frames: ByteBuffer
    /// Whether it is an event, for the counters.
    let isEvent: Bool
    /// How long the text part is, Engine.IO's `4` included, and where it begins in `frames`.
    private let textLength: Int
    private let textStart: Int
    private let attachments: [[UInt8]]

    /// The text part is `4`, which Engine.IO puts in front, then `head` and `body`.
    private init(
        head: [UInt8], body: ArraySlice<UInt8> = [], attachments: [[UInt8]], isEvent: Bool
    ) {
        textLength = 1 + head.count + body.count
        var frames = ByteBuffer()
        frames.reserveCapacity(
            textLength + WebSocketFraming.headLimit
                + attachments.reduce(0) { $0 + $1.count + WebSocketFraming.headLimit })
        WebSocketFraming.writeHead(length: textLength, opcode: WebSocketOpcode.text, into: &frames)
        textStart = frames.writerIndex
        frames.writeInteger(EngineIOPacketKind.message.rawValue)
        frames.writeBytes(head)
        frames.writeBytes(body)
        for attachment in attachments {
            WebSocketFraming.write(attachment[...], opcode: WebSocketOpcode.binary, into: &frames)
        }
        self.frames = frames
        self.attachments = attachments
        self.isEvent = isEvent
    }

    /// How many bytes wait while this message does.
    var count: Int { frames.readableBytes }

    /// The same for long-polling: one Engine.IO packet for the text part, then one for each attachment.
    var packets: [EngineIOPacket] {
        let text = frames.getBytes(at: textStart + 1, length: textLength - 1) ?? []
        return [.text(.message, text[...])] + attachments.map { .binary($0[...]) }
    }

    static func packet(_ packet: SocketIOPacket) -> EncodedMessage {
        var head: [UInt8] = []
        SocketIOPacketWriter.writeHead(of: packet, into: &head)
        return EncodedMessage(
            head: head, body: packet.payload?.bytes ?? [], attachments: packet.attachments, isEvent: false)
    }

    static func event(_ name: String, _ arguments: SocketIOArguments, namespace: String, id: Int? = nil)
        -> EncodedMessage
    {
        var text: [UInt8] = []
        SocketIOPacketWriter.writeEvent(name, arguments, namespace: namespace, id: id, into: &text)
        return EncodedMessage(head: text, attachments: arguments.attachments, isEvent: true)
    }

    /// An event passed on: its array leaves byte for byte as it came, without the sender's acknowledgement id.
    static func relay(_ event: SocketIOEvent, namespace: String) -> EncodedMessage {
        let attachments = event.arguments.attachments
        let packet = SocketIOPacket(
            kind: attachments.isEmpty ? .event : .binaryEvent, namespace: namespace, attachments: attachments)
        var head: [UInt8] = []
        SocketIOPacketWriter.writeHead(of: packet, into: &head)
        return EncodedMessage(head: head, body: event.payload.bytes, attachments: attachments, isEvent: true)
    }

    static func acknowledgement(_ arguments: SocketIOArguments, namespace: String, id: Int) -> EncodedMessage {
        var text: [UInt8] = []
        SocketIOPacketWriter.writeAcknowledgement(arguments, namespace: namespace, id: id, into: &text)
        return EncodedMessage(head: text, attachments: arguments.attachments, isEvent: false)
    }
}
