/// One element of a header extension block: its identifier and where its data lie in the packet.
public struct HeaderExtensionElement: Sendable, Equatable {
    public var id: UInt8
    public var range: Range<Int>

    public init(id: UInt8, range: Range<Int>) {
        self.id = id
        self.range = range
    }
}

/// Walks over the elements of a packet's header extension (RFC 8285 §4.2 one-byte form, §4.3 two-byte form). A
/// damaged block ends the walk; what was read before stays valid.
public struct HeaderExtensionIterator: Sendable {
    private enum Form {
        case oneByte, twoByte, other
    }

    private let form: Form
    private let end: Int
    private var offset: Int

    public init(_ header: RTPHeader) {
        offset = header.extensionRange.lowerBound
        end = header.extensionRange.upperBound
        switch header.extensionProfile {
        case .some(0xbede): form = .oneByte
        // RFC 8285 §4.3: 0x100 in the upper twelve bits; the lower four are "appbits".
        case .some(let profile) where profile & 0xfff0 == 0x1000: form = .twoByte
        case .some, .none: form = .other
        }
    }

    /// The next element; nil at the end.
    public mutating func next(in packet: RawSpan) -> HeaderExtensionElement? {
        switch form {
        case .oneByte: nextOneByte(in: packet)
        case .twoByte: nextTwoByte(in: packet)
        case .other: nil
        }
    }

    private mutating func nextOneByte(in packet: RawSpan) -> HeaderExtensionElement? {
        while offset < end, let head = packet.byte(at: offset) {
            // RFC 8285 §4.2: identifier 0 with length 0 is padding; 15 stops the processing.
            if head == 0 {
                offset += 1
                continue
            }
            let id = head >> 4
            let length = Int(head & 0x0f) + 1
            let start = offset + 1
            guard id != 15, start + length <= end else { break }
            offset = start + length
            // Identifier 0 with a length other than 0 is reserved: skipped.
            guard id != 0 else { continue }
            return HeaderExtensionElement(id: id, range: start..<offset)
        }
        offset = end
        return nil
    }

    private mutating func nextTwoByte(in packet: RawSpan) -> HeaderExtensionElement? {
        while offset < end, let id = packet.byte(at: offset) {
            if id == 0 {
                offset += 1
                continue
            }
            guard offset + 1 < end, let length = packet.byte(at: offset + 1) else { break }
            let start = offset + 2
            guard start + Int(length) <= end else { break }
            offset = start + Int(length)
            return HeaderExtensionElement(id: id, range: start..<offset)
        }
        offset = end
        return nil
    }
}

extension RTPHeader {
    /// Where the data of extension `id` lie in `packet`; nil when the packet has none.
    public func extensionElement(_ id: UInt8?, in packet: RawSpan) -> Range<Int>? {
        guard let id, extensionProfile != nil else { return nil }
        var elements = HeaderExtensionIterator(self)
        while let element = elements.next(in: packet) {
            if element.id == id { return element.range }
        }
        return nil
    }
}
