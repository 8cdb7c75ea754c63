/// The two layouts of a header extension block.
public enum HeaderExtensionForm: Sendable, Hashable {
    /// RFC 8285 §4.2: identifiers 1 to 14, 1 to 16 bytes of data.
    case oneByte
    /// RFC 8285 §4.3: identifiers 1 to 255, 0 to 255 bytes of data.
    case twoByte
}

/// Appends a header extension block to a packet that ends with its RTP header: begin, append elements, finish.
public struct HeaderExtensionWriter: Sendable {
    /// Bytes before an element's data at most.
    public static let elementOverhead = 2
    /// Bytes that a block has beside its elements at most: its head, and what fills it up to whole words.
    public static let blockOverhead = 4 + 3

    private let form: HeaderExtensionForm
    private let packetStart: Int
    private let blockStart: Int

    /// Begins the block after a header that starts at `packetStart`. The header's X bit is set by `finish`.
    public init(form: HeaderExtensionForm, in packet: inout OutputSpan<UInt8>, packetStart: Int = 0) {
        self.form = form
        self.packetStart = packetStart
        packet.append(uint32: form == .oneByte ? 0xbede_0000 : 0x1000_0000)
        blockStart = packet.count
    }

    /// Appends an element whose data the caller appends next, exactly `length` bytes. Returns where the data begin;
    /// nil, with nothing written, when the form cannot hold the element.
    public func begin(_ id: UInt8, length: Int, in packet: inout OutputSpan<UInt8>) -> Int? {
        switch form {
        case .oneByte:
            guard (1...14).contains(id), (1...16).contains(length) else { return nil }
            packet.append(id << 4 | UInt8(length - 1))
        case .twoByte:
            guard id > 0, (0...255).contains(length) else { return nil }
            packet.append(id)
            packet.append(UInt8(length))
        }
        return packet.count
    }

    /// Appends text, as MID and RID are (RFC 7941 §4.1); false when the form cannot hold it.
    @discardableResult
    public func append(_ id: UInt8, text: String, in packet: inout OutputSpan<UInt8>) -> Bool {
        guard begin(id, length: text.utf8.count, in: &packet) != nil else { return false }
        for byte in text.utf8 { packet.append(byte) }
        return true
    }

    /// Pads the block to whole words, writes its length and sets the X bit; an empty block is taken back.
    public func finish(in packet: inout OutputSpan<UInt8>) {
        guard packet.count > blockStart else {
            packet.removeLast(packet.count - blockStart + 4)
            return
        }
        packet.append(zeros: (blockStart - packet.count) & 3)
        packet.set(uint16: UInt16(truncatingIfNeeded: (packet.count - blockStart) / 4), at: blockStart - 2)
        packet[packetStart] |= 0x10
    }

    /// The form that holds elements of these identifiers and lengths.
    public static func form(for elements: [(id: UInt8, length: Int)]) -> HeaderExtensionForm {
        elements.allSatisfy { (1...14).contains($0.id) && (1...16).contains($0.length) } ? .oneByte : .twoByte
    }
}
