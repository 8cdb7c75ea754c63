/// Reads WebSocket messages (RFC 6455 §5) from the bytes of a connection, however they are cut: heads and payloads may
/// come in any pieces. Each payload is copied once, and unmasked on the way.
///
/// What a frame announces costs no memory: only bytes that have come are held, and never more than `limit`.
public struct WebSocketReader: Sendable {
    /// Who reads: a client's frames are masked, a server's are not (§5.1).
    public enum Side: Sendable {
        case server, client
    }

    /// What a frame that has come as a whole amounts to.
    public enum Message: Hashable, Sendable {
        /// Valid UTF-8.
        case text([UInt8])
        case binary([UInt8])
        /// A part of a text or of bytes whose end is still to come, with or without content (§5.4).
        case fragment
        /// To be answered with a pong of the same payload (§5.5.2).
        case ping([UInt8])
        case pong
        /// The peer closes, with this code and reason if it gave any. Nothing follows.
        case close(code: UInt16?, reason: String)
    }

    private enum Step {
        case first
        case second
        case length(missing: Int)
        case key(missing: Int)
        case payload
        /// A close frame or a fault came: the rest is nobody's business.
        case over
    }

    /// The frame that is being read.
    private struct Frame {
        var opcode: UInt8 = 0
        var isLast = true
        var length: UInt64 = 0
        /// In the order of the wire, the first octet lowest.
        var key: UInt32 = 0
        var taken = 0

        var isControl: Bool { opcode & 8 != 0 }
    }

    private let side: Side
    private let limit: Int
    private var step = Step.first
    private var frame = Frame()
    /// The message that is being put together, over all its frames; its kind while it has not ended.
    private var message: [UInt8] = []
    private var messageOpcode: UInt8?
    /// The control frame that is being put together; it may come between two frames of a message (§5.4).
    private var control: [UInt8] = []

    /// - Parameter limit: the largest message, in bytes.
    public init(side: Side, limit: Int) {
        self.side = side
        self.limit = limit
    }

    /// Takes the next bytes and hands over each message, and each fragment of one, that they complete. After a fault or
    /// a close nothing more is read.
    public mutating func receive(
        _ bytes: RawSpan, _ deliver: (Message) -> Void
    ) throws(WebSocketFault) {
        do throws(WebSocketFault) {
            try read(bytes, deliver)
        } catch {
            (step, message, control) = (.over, [], [])
            throw error
        }
    }

    private mutating func read(_ bytes: RawSpan, _ deliver: (Message) -> Void) throws(WebSocketFault) {
        var position = 0
        while position < bytes.byteCount {
            if case .payload = step {
                let count = min(bytes.byteCount - position, Int(frame.length) - frame.taken)
                take(bytes.extracting(position..<position + count))
                position += count
                if frame.taken == Int(frame.length) { try frameEnded(deliver) }
                continue
            }
            let byte = bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self)
            position += 1
            switch step {
            case .first: try firstByte(byte)
            case .second: try secondByte(byte)
            case .length(let missing):
                frame.length = frame.length << 8 | UInt64(byte)
                if missing > 1 { step = .length(missing: missing - 1) } else { try lengthKnown() }
            case .key(let missing):
                frame.key = frame.key >> 8 | UInt32(byte) << 24
                step = missing > 1 ? .key(missing: missing - 1) : .payload
            case .payload: break
            case .over: return
            }
            // An empty frame ends with its head.
            if case .payload = step, frame.length == 0 { try frameEnded(deliver) }
        }
    }

    // MARK: Heads

    /// §5.2: FIN, three reserved bits, the opcode.
    private mutating func firstByte(_ byte: UInt8) throws(WebSocketFault) {
        guard byte & 0x70 == 0 else { throw .violation("reserved bits") }
        frame = Frame(opcode: byte & 0x0f, isLast: byte & 0x80 != 0)
        switch frame.opcode {
        case WebSocketOpcode.text, WebSocketOpcode.binary:
            guard messageOpcode == nil else { throw .violation("a message inside another") }
            messageOpcode = frame.opcode
        case WebSocketOpcode.continuation:
            guard messageOpcode != nil else { throw .violation("nothing to continue") }
        case WebSocketOpcode.close, WebSocketOpcode.ping, WebSocketOpcode.pong:
            // §5.5: control frames are not fragmented.
            guard frame.isLast else { throw .violation("a control frame in fragments") }
        default: throw .violation("unknown frame type")
        }
        step = .second
    }

    /// §5.2: MASK and the length, or how many bytes hold it.
    private mutating func secondByte(_ byte: UInt8) throws(WebSocketFault) {
        guard (byte & 0x80 != 0) == (side == .server) else { throw .violation("wrong masking") }
        let length = byte & 0x7f
        guard length < 126 || !frame.isControl else { throw .violation("a control frame of more than 125 bytes") }
        switch length {
        case 126: step = .length(missing: 2)
        case 127: step = .length(missing: 8)
        default:
            frame.length = UInt64(length)
            try lengthKnown()
        }
    }

    private mutating func lengthKnown() throws(WebSocketFault) {
        // §5.2: the most significant bit of the long form is 0.
        guard frame.length <= UInt64(Int.max) else { throw .violation("an impossible length") }
        if !frame.isControl {
            guard frame.length <= UInt64(max(0, limit - message.count)) else { throw .tooLarge }
        }
        step = side == .server ? .key(missing: 4) : .payload
    }

    // MARK: Payloads

    private mutating func take(_ bytes: RawSpan) {
        if frame.isControl {
            Self.append(bytes, key: frame.key, offset: frame.taken, to: &control)
        } else {
            Self.append(bytes, key: frame.key, offset: frame.taken, to: &message)
        }
        frame.taken += bytes.byteCount
    }

    /// §5.3: octet i is XORed with octet i mod 4 of the key; eight at a time here.
    private static func append(_ bytes: RawSpan, key: UInt32, offset: Int, to target: inout [UInt8]) {
        let turn = UInt32(offset & 3) * 8
        let turned = turn == 0 ? key : key >> turn | key << (32 - turn)
        guard target.isEmpty else {
            let start = target.count
            bytes.withUnsafeBytes { target.append(contentsOf: $0) }
            target.withUnsafeMutableBytes { all in
                let added = UnsafeMutableRawBufferPointer(rebasing: all[start...])
                unmask(UnsafeRawBufferPointer(added), into: added, turned)
            }
            return
        }
        target = bytes.withUnsafeBytes { source in
            [UInt8](unsafeUninitializedCapacity: source.count) { space, count in
                unmask(source, into: UnsafeMutableRawBufferPointer(space), turned)
                count = source.count
            }
        }
    }

    /// - Parameter key: in the order of the wire, the first octet lowest. Masking is the same.
    static func unmask(
        _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, _ key: UInt32
    ) {
        let word = (UInt64(key) << 32 | UInt64(key)).littleEndian
        let count = source.count
        var offset = 0
        while offset + 8 <= count {
            let value = source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            target.storeBytes(of: value ^ word, toByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < count {
            target[offset] = source[offset] ^ UInt8(truncatingIfNeeded: key >> UInt32((offset & 3) * 8))
            offset += 1
        }
    }

    // MARK: Ends

    private mutating func frameEnded(_ deliver: (Message) -> Void) throws(WebSocketFault) {
        step = .first
        if frame.isControl {
            let payload = control
            control = []
            return try controlEnded(payload, deliver)
        }
        guard frame.isLast, let opcode = messageOpcode else { return deliver(.fragment) }
        let whole = message
        message = []
        messageOpcode = nil
        guard opcode == WebSocketOpcode.text else { return deliver(.binary(whole)) }
        // §8.1
        guard UTF8Check.isValid(whole.span.bytes) else { throw .notUTF8 }
        deliver(.text(whole))
    }

    private mutating func controlEnded(_ payload: [UInt8], _ deliver: (Message) -> Void) throws(WebSocketFault) {
        switch frame.opcode {
        case WebSocketOpcode.ping: deliver(.ping(payload))
        case WebSocketOpcode.pong: deliver(.pong)
        default:
            step = .over
            let code = try Self.closeCode(payload)
            deliver(.close(code: code, reason: String(decoding: payload.dropFirst(2), as: UTF8.self)))
        }
    }

    /// §5.5.1: nothing, or a code and a reason in UTF-8.
    private static func closeCode(_ payload: [UInt8]) throws(WebSocketFault) -> UInt16? {
        guard !payload.isEmpty else { return nil }
        guard payload.count >= 2 else { throw .violation("half a close code") }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        switch code {
        // §7.4.1 and the registry of §11.7, without the codes that never travel; §7.4.2 for the rest.
        case 1000...1003, 1007...1014, 3000...4999: break
        default: throw .violation("a close code that does not exist")
        }
        guard UTF8Check.isValid(payload.span.bytes.extracting(2..<payload.count)) else { throw .notUTF8 }
        return code
    }
}

/// Why a connection cannot go on as a WebSocket.
public enum WebSocketFault: Error, Hashable, Sendable {
    /// A rule was broken; the text says which.
    case violation(String)
    /// A text that is not UTF-8.
    case notUTF8
    /// A message beyond the limit.
    case tooLarge

    /// The code of the close frame (§7.4.1).
    public var code: UInt16 {
        switch self {
        case .violation: 1002
        case .notUTF8: 1007
        case .tooLarge: 1009
        }
    }

    /// A part of a sentence.
    public var text: String {
        switch self {
        case .violation(let text): text
        case .notUTF8: "text that is not UTF-8"
        case .tooLarge: "message too large"
        }
    }
}

/// The frame types of RFC 6455 §5.2.
enum WebSocketOpcode {
    static let continuation: UInt8 = 0
    static let text: UInt8 = 1
    static let binary: UInt8 = 2
    static let close: UInt8 = 8
    static let ping: UInt8 = 9
    static let pong: UInt8 = 10
}
