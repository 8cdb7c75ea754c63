import NIOCore
import NIOWebSocket

/// A Socket.IO packet as it leaves: written once, shared by every receiver, whichever transport each has.
struct EncodedMessage: Sendable {
    /// One Engine.IO packet for a text part, then one for each attachment.
    let packets: [EngineIOPacket]
    /// The same as WebSocket frames, unmasked as a server sends them, one after the other.
    let frames: ByteBuffer
    /// Whether it is an event, for the counters.
    let isEvent: Bool

    /// `text` is the text part with Engine.IO's `4` in front.
    private init(text: [UInt8], attachments: [[UInt8]], isEvent: Bool) {
        var frames = ByteBuffer()
        frames.reserveCapacity(text.count + 10 + attachments.reduce(0) { $0 + $1.count + 10 })
        WebSocketFraming.write(text[...], opcode: .text, into: &frames)
        var packets = [EngineIOPacket.text(.message, text.dropFirst())]
        for attachment in attachments {
            WebSocketFraming.write(attachment[...], opcode: .binary, into: &frames)
            packets.append(.binary(attachment[...]))
        }
        self.packets = packets
        self.frames = frames
        self.isEvent = isEvent
    }

    /// How many bytes wait while this message does.
    var count: Int { frames.readableBytes }

    static func packet(_ packet: SocketIOPacket) -> EncodedMessage {
        var text = [EngineIOPacketKind.message.rawValue]
        SocketIOPacketWriter.write(packet, into: &text)
        return EncodedMessage(text: text, attachments: packet.attachments, isEvent: false)
    }

    static func event(_ name: String, _ arguments: SocketIOArguments, namespace: String, id: Int? = nil)
        -> EncodedMessage
    {
        var text = [EngineIOPacketKind.message.rawValue]
        SocketIOPacketWriter.writeEvent(name, arguments, namespace: namespace, id: id, into: &text)
        return EncodedMessage(text: text, attachments: arguments.attachments, isEvent: true)
    }

    /// An event passed on: its array leaves byte for byte as it came, without the sender's acknowledgement id.
    static func relay(_ event: SocketIOEvent, namespace: String) -> EncodedMessage {
        let attachments = event.arguments.attachments
        var text: [UInt8] = []
        text.reserveCapacity(event.payload.count + namespace.utf8.count + 24)
        text.append(EngineIOPacketKind.message.rawValue)
        let packet = SocketIOPacket(
            kind: attachments.isEmpty ? .event : .binaryEvent, namespace: namespace, payload: event.payload,
            attachments: attachments)
        SocketIOPacketWriter.write(packet, into: &text)
        return EncodedMessage(text: text, attachments: attachments, isEvent: true)
    }

    static func acknowledgement(_ arguments: SocketIOArguments, namespace: String, id: Int) -> EncodedMessage {
        var text = [EngineIOPacketKind.message.rawValue]
        SocketIOPacketWriter.writeAcknowledgement(arguments, namespace: namespace, id: id, into: &text)
        return EncodedMessage(text: text, attachments: arguments.attachments, isEvent: false)
    }
}
