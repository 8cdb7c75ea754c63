import NIOCore
import NIOWebSocket

/// Writes WebSocket frames (RFC 6455 §5.2) as one buffer each, so that a broadcast can share it.
enum WebSocketFraming {
    /// Appends one unfragmented frame. A client has to mask (§5.1), a server must not.
    static func write(
        _ payload: ArraySlice<UInt8>, opcode: WebSocketOpcode, mask: WebSocketMaskingKey? = nil,
        into buffer: inout ByteBuffer
    ) {
        buffer.writeInteger(0x80 | opcode.byte)
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch payload.count {
        case ..<126: buffer.writeInteger(maskBit | UInt8(truncatingIfNeeded: payload.count))
        case ..<65_536:
            buffer.writeInteger(maskBit | 126)
            buffer.writeInteger(UInt16(truncatingIfNeeded: payload.count))
        default:
            buffer.writeInteger(maskBit | 127)
            buffer.writeInteger(UInt64(payload.count))
        }
        guard let mask else {
            buffer.writeBytes(payload)
            return
        }
        let key = Array(mask)
        buffer.writeBytes(key)
        buffer.writeBytes(payload.enumerated().lazy.map { offset, byte in byte ^ key[offset & 3] })
    }

    /// A frame with an Engine.IO packet.
    static func write(_ packet: EngineIOPacket, mask: WebSocketMaskingKey? = nil, into buffer: inout ByteBuffer) {
        let (bytes, isBinary) = packet.frame
        write(bytes[...], opcode: isBinary ? .binary : .text, mask: mask, into: &buffer)
    }

    /// The payload of a close frame (§5.5.1): a code and at most 123 bytes of reason.
    static func closePayload(_ code: UInt16, _ reason: String) -> [UInt8] {
        var text = reason
        while text.utf8.count > 123 { text.removeLast() }
        return [UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)] + text.utf8
    }
}

extension WebSocketOpcode {
    fileprivate var byte: UInt8 { UInt8(webSocketOpcode: self) }
}
