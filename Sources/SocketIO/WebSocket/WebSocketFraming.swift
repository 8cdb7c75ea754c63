import NIOCore

/// Writes WebSocket frames (RFC 6455 §5.2) as one buffer each, so that a broadcast can share it.
enum WebSocketFraming {
    /// The most that the head of a frame takes.
    static let headLimit = 14

    /// Appends the head of an unfragmented frame. A client has to mask (§5.1), a server must not.
    static func writeHead(length: Int, opcode: UInt8, mask: UInt32? = nil, into buffer: inout ByteBuffer) {
        buffer.writeInteger(0x80 | opcode)
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch length {
        case ..<126: buffer.writeInteger(maskBit | UInt8(truncatingIfNeeded: length))
        case ..<65_536:
            buffer.writeInteger(maskBit | 126)
            buffer.writeInteger(UInt16(truncatingIfNeeded: length))
        default:
            buffer.writeInteger(maskBit | 127)
            buffer.writeInteger(UInt64(length))
        }
        if let mask { buffer.writeInteger(mask) }
    }

    /// Appends one unfragmented frame.
    static func write(
        _ payload: ArraySlice<UInt8>, opcode: UInt8, mask: UInt32? = nil, into buffer: inout ByteBuffer
    ) {
        writeHead(length: payload.count, opcode: opcode, mask: mask, into: &buffer)
        guard let mask else {
            buffer.writeBytes(payload)
            return
        }
        // §5.3: the first octet of the key, as it travels, is for the first octet of the payload.
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: payload.count) { space in
            let target = UnsafeMutableRawBufferPointer(rebasing: space[..<payload.count])
            payload.withUnsafeBytes { WebSocketReader.unmask($0, into: target, mask.byteSwapped) }
            return payload.count
        }
    }

    /// A frame with an Engine.IO packet.
    static func write(_ packet: EngineIOPacket, mask: UInt32? = nil, into buffer: inout ByteBuffer) {
        let (bytes, isBinary) = packet.frame
        write(bytes[...], opcode: isBinary ? WebSocketOpcode.binary : WebSocketOpcode.text, mask: mask, into: &buffer)
    }

    /// The payload of a close frame (§5.5.1): a code and at most 123 bytes of reason, or nothing.
    static func closePayload(_ code: UInt16?, _ reason: String) -> [UInt8] {
        guard let code else { return [] }
        var text = reason
        while text.utf8.count > 123 { text.removeLast() }
        return [UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)] + text.utf8
    }
}
