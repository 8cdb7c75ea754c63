import NIOCore
import NIOWebSocket

/// Puts the frames of one WebSocket together to messages, within a size limit, and minds RFC 6455's rules about
/// fragments.
struct WebSocketAssembler {
    /// What a frame amounts to.
    enum Outcome {
        /// A fragment, or a pong that nobody asked for.
        case nothing
        case text([UInt8])
        case binary([UInt8])
        /// Answer with a pong of the same payload (§5.5.2).
        case ping([UInt8])
        /// The peer closes, with this code if it gave one.
        case close(code: UInt16?)
        /// Close with this code: the peer broke a rule.
        case violation(code: UInt16, String)
    }

    private let limit: Int
    private let expectsMask: Bool
    private var fragments: (opcode: WebSocketOpcode, bytes: [UInt8])?

    /// A server expects masked frames, a client unmasked ones (§5.1).
    init(limit: Int, expectsMask: Bool) {
        self.limit = limit
        self.expectsMask = expectsMask
    }

    mutating func receive(_ frame: WebSocketFrame) -> Outcome {
        guard (frame.maskKey != nil) == expectsMask else { return .violation(code: 1002, "wrong masking") }
        // No extension was negotiated (§5.2).
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return .violation(code: 1002, "reserved bits") }
        let bytes = Self.unmasked(frame)
        switch frame.opcode {
        case .ping: return .ping(bytes)
        case .pong: return .nothing
        case .connectionClose:
            return .close(code: bytes.count >= 2 ? UInt16(bytes[0]) << 8 | UInt16(bytes[1]) : nil)
        case .text, .binary:
            guard fragments == nil else { return .violation(code: 1002, "a message inside another") }
            guard bytes.count <= limit else { return .violation(code: 1009, "message too large") }
            if frame.fin { return frame.opcode == .text ? .text(bytes) : .binary(bytes) }
            fragments = (frame.opcode, bytes)
            return .nothing
        case .continuation:
            guard let (opcode, start) = fragments else { return .violation(code: 1002, "nothing to continue") }
            var whole = start
            fragments = nil
            guard whole.count + bytes.count <= limit else { return .violation(code: 1009, "message too large") }
            whole += bytes
            if frame.fin { return opcode == .text ? .text(whole) : .binary(whole) }
            fragments = (opcode, whole)
            return .nothing
        default: return .violation(code: 1002, "unknown frame type")
        }
    }

    /// §5.3: octet i is XORed with octet i mod 4 of the key.
    private static func unmasked(_ frame: WebSocketFrame) -> [UInt8] {
        let count = frame.data.readableBytes
        guard count > 0 else { return [] }
        guard let mask = frame.maskKey else { return Array(frame.data.readableBytesView) }
        var key: UInt64 = 0
        for index in 0..<8 { key |= UInt64(mask[index & 3]) << UInt64(index * 8) }
        return frame.data.withUnsafeReadableBytes { source in
            [UInt8](unsafeUninitializedCapacity: count) { target, initialized in
                let raw = UnsafeMutableRawBufferPointer(target)
                var offset = 0
                while offset + 8 <= count {
                    let word = source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                    raw.storeBytes(of: word ^ key.littleEndian, toByteOffset: offset, as: UInt64.self)
                    offset += 8
                }
                while offset < count {
                    raw[offset] = source[offset] ^ UInt8(truncatingIfNeeded: key >> UInt64((offset & 7) * 8))
                    offset += 1
                }
                initialized = count
            }
        }
    }
}
