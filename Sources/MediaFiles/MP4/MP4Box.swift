import RTCWire

/// Four letters that name a box of an ISO base media file.
struct BoxType: Hashable, ExpressibleByStringLiteral {
    let code: UInt32

    init(code: UInt32) { self.code = code }

    /// From the literal's four ASCII letters.
    init(stringLiteral letters: StaticString) {
        code = letters.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } }
    }
}

/// One box (ISO/IEC 14496-12 §4.2), as a place in the file.
struct MP4Box {
    var type: BoxType
    /// Where it begins, its header included.
    var start: Int
    /// What follows the header.
    var content: Range<Int>
}

/// Walks the boxes of a range of the file. A box that claims more than its parent holds ends the walk.
struct MP4BoxReader {
    private var offset: Int
    private let end: Int

    init(_ range: Range<Int>) {
        offset = range.lowerBound
        end = range.upperBound
    }

    mutating func next(_ file: RawSpan) -> MP4Box? {
        guard offset + 8 <= end, let size = file.uint32(at: offset), let code = file.uint32(at: offset + 4) else {
            return nil
        }
        var header = 8
        var length = Int(size)
        switch size {
        // ISO/IEC 14496-12 §4.2: 0 reaches to the end, 1 is followed by a 64-bit size.
        case 0: length = end - offset
        case 1:
            guard offset + 16 <= end, let high = file.uint32(at: offset + 8), let low = file.uint32(at: offset + 12),
                high < 1 << 16
            else { return nil }
            header = 16
            length = Int(high) << 32 | Int(low)
        default: break
        }
        guard length >= header, length <= end - offset else { return nil }
        defer { offset += length }
        return MP4Box(
            type: BoxType(code: code), start: offset, content: offset + header..<offset + length)
    }

    /// The first box of a type within a range.
    static func first(_ type: BoxType, in range: Range<Int>?, of file: RawSpan) -> Range<Int>? {
        guard let range else { return nil }
        var boxes = MP4BoxReader(range)
        while let box = boxes.next(file) {
            if box.type == type { return box.content }
        }
        return nil
    }

    /// The first box at the end of a path of types.
    static func first(path: [BoxType], in range: Range<Int>, of file: RawSpan) -> Range<Int>? {
        var found: Range<Int>? = range
        for type in path { found = first(type, in: found, of: file) }
        return found
    }
}
