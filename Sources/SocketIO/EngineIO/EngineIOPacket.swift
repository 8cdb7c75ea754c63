/// The seven packet types of Engine.IO protocol revision 4; on the wire an ASCII digit.
public enum EngineIOPacketKind: UInt8, Hashable, Sendable {
    /// Server to client: the handshake's JSON.
    case open = 0x30
    /// Either side: this transport is finished.
    case close = 0x31
    /// Server to client: answer within `pingTimeout`. During an upgrade, client to server: `probe`.
    case ping = 0x32
    /// Client to server: the answer. During an upgrade, server to client: `probe`.
    case pong = 0x33
    /// Either side: a message of the protocol above.
    case message = 0x34
    /// Client to server: the probed transport takes over.
    case upgrade = 0x35
    /// Server to client: ends a pending poll during an upgrade.
    case noop = 0x36
}

/// One Engine.IO packet.
public enum EngineIOPacket: Hashable, Sendable {
    /// A packet whose body is UTF-8 text, without the digit of its kind.
    case text(EngineIOPacketKind, ArraySlice<UInt8>)
    /// A message of bytes.
    case binary(ArraySlice<UInt8>)

    /// A packet with a short body of our own.
    public init(_ kind: EngineIOPacketKind, _ body: String = "") { self = .text(kind, Array(body.utf8)[...]) }

    /// Reads the content of a text frame of a WebSocket: a digit, then the body.
    public init(textFrame bytes: ArraySlice<UInt8>) throws(EngineIOPacketError) {
        guard let first = bytes.first, let kind = EngineIOPacketKind(rawValue: first) else { throw .unknownKind }
        self = .text(kind, bytes.dropFirst())
    }

    /// The content of a text frame (`isBinary` false) or of a binary frame of a WebSocket.
    public var frame: (bytes: [UInt8], isBinary: Bool) {
        switch self {
        case .text(let kind, let body): ([kind.rawValue] + body, false)
        case .binary(let body): (Array(body), true)
        }
    }

    /// How many bytes the body has.
    public var count: Int {
        switch self {
        case .text(_, let body), .binary(let body): body.count
        }
    }
}

/// Why bytes are no Engine.IO packet.
public enum EngineIOPacketError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Empty, or a first byte that is no packet type.
    case unknownKind
    /// Not base64 after `b`.
    case malformedBase64
    /// More packets in one polling body than `EngineIOPayload.packetLimit`.
    case tooManyPackets

    /// A part of a sentence.
    public var description: String {
        switch self {
        case .unknownKind: "a packet is of no known type"
        case .malformedBase64: "a packet is not base64"
        case .tooManyPackets: "too many packets came at once"
        }
    }
}

/// The body of a polling request or response: packets with a record separator between them, bytes as `b` and
/// base64 (Engine.IO protocol revision 4, "Packet encoding", HTTP long-polling).
public enum EngineIOPayload {
    /// U+001E.
    public static let separator: UInt8 = 0x1e
    /// A body that comes may hold this many packets.
    public static let packetLimit = 4096
    /// A body of ours holds no more. python-engineio takes 16 (`Payload.max_decode_packets`): of what a client posts it
    /// drops the whole body and answers `ok`, and as a client it ends the connection.
    static let packetsPerBody = 16

    /// Reads the packets of a body.
    public static func decode(_ body: ArraySlice<UInt8>) throws(EngineIOPacketError) -> [EngineIOPacket] {
        var packets: [EngineIOPacket] = []
        var rest = body
        while true {
            guard packets.count < packetLimit else { throw .tooManyPackets }
            let end = rest.firstIndex(of: separator) ?? rest.endIndex
            let record = rest[rest.startIndex..<end]
            if record.first == UInt8(ascii: "b") {
                guard let bytes = Base64.decode(record.dropFirst()) else { throw .malformedBase64 }
                packets.append(.binary(bytes[...]))
            } else {
                packets.append(try EngineIOPacket(textFrame: record))
            }
            guard end < rest.endIndex else { return packets }
            rest = rest[(end + 1)...]
        }
    }

    /// Writes packets as one body.
    public static func encode(_ packets: some Sequence<EngineIOPacket>) -> [UInt8] {
        var body: [UInt8] = []
        for packet in packets {
            if !body.isEmpty { body.append(separator) }
            append(packet, to: &body)
        }
        return body
    }

    /// How many bytes a packet takes in a body.
    static func length(of packet: EngineIOPacket) -> Int {
        switch packet {
        case .text(_, let text): 1 + text.count
        case .binary(let bytes): 1 + (bytes.count + 2) / 3 * 4
        }
    }

    /// Appends one packet's text.
    static func append(_ packet: EngineIOPacket, to body: inout [UInt8]) {
        switch packet {
        case .text(let kind, let text):
            body.append(kind.rawValue)
            body += text
        case .binary(let bytes):
            body.append(UInt8(ascii: "b"))
            Base64.encode(bytes, into: &body)
        }
    }
}
