/// Which bytes of a file an answer has (RFC 9110 §14).
enum ByteRange: Sendable, Equatable {
    case whole
    case part(Range<Int64>)
    /// §15.5.17: 416.
    case unsatisfiable

    /// - Parameters:
    ///   - header: the value of `Range`. What is wrong in itself, another unit, and several ranges are passed over, as
    ///     §14.2 allows: the answer has everything.
    ///   - size: of the file; not 0.
    init(_ header: String?, of size: Int64) {
        guard let header, let text = Self.ranges(header), !text.contains(","), let dash = text.firstIndex(of: "-")
        else {
            self = .whole
            return
        }
        let (first, last) = (Self.trimmed(text[..<dash]), Self.trimmed(text[text.index(after: dash)...]))
        switch (first.isEmpty, last.isEmpty) {
        case (true, true): self = .whole
        case (true, false): self = Self.suffix(last, of: size)
        case (false, _): self = Self.part(first, last, of: size)
        }
    }

    /// §14.1: names of units are case-insensitive.
    private static func ranges(_ header: String) -> Substring? {
        let parts = header.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, trimmed(parts[0]).lowercased() == "bytes" else { return nil }
        return parts[1]
    }

    /// §14.1.2: the last so many bytes.
    private static func suffix(_ text: Substring, of size: Int64) -> ByteRange {
        guard let length = number(text) else { return .whole }
        return length == 0 ? .unsatisfiable : .part(max(0, size - length)..<size)
    }

    private static func part(_ first: Substring, _ last: Substring, of size: Int64) -> ByteRange {
        guard let start = number(first), let end = last.isEmpty ? .max : number(last), start <= end else {
            return .whole
        }
        return start < size ? .part(start..<min(end, size - 1) + 1) : .unsatisfiable
    }

    /// Digits alone; one that is too large for us is larger than every file.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int64(text) ?? .max
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        var text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text
    }
}
