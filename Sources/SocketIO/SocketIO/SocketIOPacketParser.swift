/// Reads the text part of a packet, and puts attachments to packets that wait for them. One per connection.
public struct SocketIOPacketParser: Sendable {
    /// A packet may have this many attachments.
    public var attachmentLimit: Int
    /// The attachments of a packet may have this many bytes together.
    public var attachmentByteLimit: Int
    /// The packet whose attachments are still coming, how many it announced, and how many bytes they have so far.
    private var pending: (packet: SocketIOPacket, count: Int, bytes: Int)?

    public init(attachmentLimit: Int = 64, attachmentByteLimit: Int = 1_000_000) {
        self.attachmentLimit = attachmentLimit
        self.attachmentByteLimit = attachmentByteLimit
    }

    /// Whether binary parts are due before the next text.
    public var awaitsAttachments: Bool { pending != nil }

    /// Reads a text message; nil while its attachments are missing.
    public mutating func receive(text: ArraySlice<UInt8>) throws(SocketIOPacketError) -> SocketIOPacket? {
        guard pending == nil else { throw .attachmentsExpected }
        let (packet, count) = try Self.parse(text)
        guard packet.kind.isBinary else { return packet }
        guard count <= attachmentLimit, packet.payload?.placeholdersAreValid(count: count) ?? false else {
            throw .illegalAttachments
        }
        if count == 0 { return packet }
        pending = (packet, count, 0)
        return nil
    }

    /// Takes one attachment; the packet once it is complete.
    public mutating func receive(binary: ArraySlice<UInt8>) throws(SocketIOPacketError) -> SocketIOPacket? {
        guard let (incomplete, count, bytes) = pending else { throw .illegalAttachments }
        // Together, since a packet that is never completed is held for as long as its connection lives.
        guard binary.count <= attachmentByteLimit - bytes else { throw .attachmentsTooLarge }
        var packet = incomplete
        packet.attachments.append(Array(binary))
        guard packet.attachments.count == count else {
            pending = (packet, count, bytes + binary.count)
            return nil
        }
        pending = nil
        return packet
    }

    /// `<kind>[<attachments>-][<namespace>[?query],][<id>][<JSON>]`
    static func parse(_ text: ArraySlice<UInt8>) throws(SocketIOPacketError) -> (SocketIOPacket, attachments: Int) {
        guard let first = text.first, let kind = SocketIOPacketKind(rawValue: first) else { throw .unknownKind }
        var rest = text.dropFirst()
        var attachments = 0
        if kind.isBinary {
            guard let count = rest.takeNumber(), rest.popFirst() == UInt8(ascii: "-") else { throw .malformedHeader }
            attachments = count
        }
        var packet = SocketIOPacket(kind: kind)
        if rest.first == UInt8(ascii: "/") {
            let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
            let name = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
            let parts = name.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            packet.namespace = parts.first.map(String.init) ?? "/"
            packet.query = parts.count > 1 ? String(parts[1]) : ""
            rest = end < rest.endIndex ? rest[(end + 1)...] : []
        }
        if let byte = rest.first, byte.isDigit {
            guard let id = rest.takeNumber() else { throw .malformedHeader }
            packet.id = id
        }
        if !rest.isEmpty {
            guard let payload = RawJSON(rest) else { throw .malformedPayload }
            packet.payload = payload
        }
        try check(packet)
        return (packet, attachments)
    }

    /// What each kind carries.
    private static func check(_ packet: SocketIOPacket) throws(SocketIOPacketError) {
        switch packet.kind {
        case .connect:
            guard packet.payload.map({ $0.kind == .object }) ?? true else { throw .malformedPayload }
        case .disconnect:
            guard packet.payload == nil else { throw .malformedPayload }
        case .connectError:
            guard let kind = packet.payload?.kind, kind == .object || kind == .string else { throw .malformedPayload }
        case .ack, .binaryAck:
            guard packet.payload?.kind == .array, packet.id != nil else { throw .malformedPayload }
        case .event, .binaryEvent:
            guard packet.payload?.kind == .array, let event = packet.event else { throw .malformedPayload }
            guard !Self.reservedNames.contains(event.name) else { throw .reservedEventName(event.name) }
        }
    }

    /// Names that both sides raise by themselves; a peer must not send them.
    static let reservedNames: Set<String> = [
        "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener",
    ]
}

extension UInt8 {
    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
}

extension ArraySlice<UInt8> {
    /// Takes the digits at the start; nil if there are none or more than a JavaScript integer holds.
    fileprivate mutating func takeNumber() -> Int? {
        var value = 0
        var digits = 0
        while let byte = first, byte.isDigit {
            digits += 1
            guard digits <= 15 else { return nil }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
            removeFirst()
        }
        return digits > 0 ? value : nil
    }
}
