/// Descriptions of sources (RFC 3550 §6.5).
public struct SourceDescription: Sendable, Hashable {
    /// One item of text.
    public struct Item: Sendable, Hashable {
        /// The types that the stack writes or reads.
        public enum Kind {
            /// The canonical name, common to all streams of a participant (RFC 7022).
            public static let cname: UInt8 = 1
            /// The media section (RFC 9143 §15.1).
            public static let mid: UInt8 = 15
        }

        /// See `Kind`.
        public var type: UInt8
        /// At most 255 bytes of UTF-8.
        public var text: String

        public init(type: UInt8, text: String) {
            self.type = type
            self.text = text
        }
    }

    /// The items of one source.
    public struct Chunk: Sendable, Hashable {
        public var ssrc: UInt32
        public var items: [Item]

        public init(ssrc: UInt32, items: [Item]) {
            self.ssrc = ssrc
            self.items = items
        }

        /// A source with its canonical name.
        public init(ssrc: UInt32, cname: String) {
            self.init(ssrc: ssrc, items: [Item(type: Item.Kind.cname, text: cname)])
        }

        /// The canonical name, if described.
        public var cname: String? { items.first { $0.type == Item.Kind.cname }?.text }

        /// Bytes on the wire, padding included.
        var size: Int {
            let items = items.reduce(0) { $0 + 2 + min($1.text.utf8.count, 255) }
            return 4 + (items / 4 + 1) * 4
        }
    }

    /// At most 31.
    public var chunks: [Chunk]

    public init(chunks: [Chunk]) { self.chunks = chunks }

    init?(reading reader: inout ByteReader, count: Int) {
        chunks = []
        for _ in 0..<count {
            guard let ssrc = reader.readUInt32() else { return nil }
            let start = reader.offset
            var items: [Item] = []
            while true {
                // RFC 3550 §6.5: a zero ends the items, more zeros follow up to the next whole word.
                guard let type = reader.readUInt8() else { return nil }
                if type == 0 { break }
                guard let length = reader.readUInt8(), let text = reader.readBytes(Int(length)) else { return nil }
                items.append(Item(type: type, text: String(decoding: text, as: UTF8.self)))
            }
            let used = reader.offset - start
            guard reader.skip((4 - used % 4) % 4) else { return nil }
            chunks.append(Chunk(ssrc: ssrc, items: items))
        }
    }

    func writeBody(into packet: inout [UInt8]) {
        for chunk in chunks.prefix(RTCPPacket.maximumCount) {
            packet.append(uint32: chunk.ssrc)
            let start = packet.count
            for item in chunk.items where item.type != 0 {
                let text = item.text.utf8.prefix(255)
                packet.append(item.type)
                packet.append(UInt8(truncatingIfNeeded: text.count))
                packet.append(contentsOf: text)
            }
            repeat { packet.append(0) } while (packet.count - start) % 4 != 0
        }
    }
}

/// Sources that leave (RFC 3550 §6.6).
public struct Goodbye: Sendable, Hashable {
    /// At most 31.
    public var ssrcs: [UInt32]
    /// For a log; at most 255 bytes of UTF-8.
    public var reason: String?

    public init(ssrcs: [UInt32], reason: String? = nil) {
        self.ssrcs = ssrcs
        self.reason = reason
    }

    init?(reading reader: inout ByteReader, count: Int) {
        ssrcs = []
        for _ in 0..<count {
            guard let ssrc = reader.readUInt32() else { return nil }
            ssrcs.append(ssrc)
        }
        guard let length = reader.readUInt8() else { return }
        guard let text = reader.readBytes(Int(length)) else { return nil }
        reason = String(decoding: text, as: UTF8.self)
    }

    func writeBody(into packet: inout [UInt8]) {
        for ssrc in ssrcs.prefix(RTCPPacket.maximumCount) { packet.append(uint32: ssrc) }
        guard let reason else { return }
        let start = packet.count
        let text = reason.utf8.prefix(255)
        packet.append(UInt8(truncatingIfNeeded: text.count))
        packet.append(contentsOf: text)
        while (packet.count - start) % 4 != 0 { packet.append(0) }
    }
}
