/// Writes packets. An event of many receivers is written once.
enum SocketIOPacketWriter {
    /// The text part of a packet, appended to `text`.
    static func write(_ packet: SocketIOPacket, into text: inout [UInt8]) {
        writeHead(of: packet, into: &text)
        if let payload = packet.payload { text += payload.bytes }
    }

    /// What stands before the payload.
    static func writeHead(of packet: SocketIOPacket, into text: inout [UInt8]) {
        header(packet.kind, packet.namespace, id: packet.id, attachments: packet.attachments.count, into: &text)
    }

    /// The text part of an event, appended to `text`; binary if the arguments have attachments.
    static func writeEvent(
        _ name: String, _ arguments: SocketIOArguments, namespace: String, id: Int?, into text: inout [UInt8]
    ) {
        let kind: SocketIOPacketKind = arguments.attachments.isEmpty ? .event : .binaryEvent
        text.reserveCapacity(text.count + arguments.bytes.count + name.utf8.count + namespace.utf8.count + 24)
        header(kind, namespace, id: id, attachments: arguments.attachments.count, into: &text)
        text.append(UInt8(ascii: "["))
        text.appendJSONString(name)
        if !arguments.bytes.isEmpty {
            text.append(UInt8(ascii: ","))
            text += arguments.bytes
        }
        text.append(UInt8(ascii: "]"))
    }

    /// The text part of an acknowledgement, appended to `text`.
    static func writeAcknowledgement(
        _ arguments: SocketIOArguments, namespace: String, id: Int, into text: inout [UInt8]
    ) {
        let kind: SocketIOPacketKind = arguments.attachments.isEmpty ? .ack : .binaryAck
        header(kind, namespace, id: id, attachments: arguments.attachments.count, into: &text)
        text.append(UInt8(ascii: "["))
        text += arguments.bytes
        text.append(UInt8(ascii: "]"))
    }

    private static func header(
        _ kind: SocketIOPacketKind, _ namespace: String, id: Int?, attachments: Int, into text: inout [UInt8]
    ) {
        text.append(kind.rawValue)
        if kind.isBinary {
            text += String(attachments).utf8
            text.append(UInt8(ascii: "-"))
        }
        if namespace != "/" {
            text += namespace.utf8
            text.append(UInt8(ascii: ","))
        }
        if let id { text += String(id).utf8 }
    }
}

extension SocketIOPacket {
    /// The text part as it goes into an Engine.IO message; the attachments follow as binary messages.
    public var encodedText: [UInt8] {
        var text: [UInt8] = []
        SocketIOPacketWriter.write(self, into: &text)
        return text
    }
}
