/// What a server answers: a code and lines of text (RFC 5321 §4.2).
struct SMTPReply: Sendable, Equatable {
    let code: Int
    /// Without the codes in front of them.
    let lines: [String]
}

/// Reads replies from bytes as they come.
struct SMTPReplyReader: Sendable {
    private var bytes: [UInt8] = []
    private var lines: [String] = []

    /// RFC 5321 §4.5.3.1.5 has 512 octets in a line; servers are not that strict, and we need not be.
    private static let longestLine = 4_096
    private static let mostLines = 256

    /// Whether nothing has come that was not given out.
    var isEmpty: Bool { bytes.isEmpty && lines.isEmpty }

    mutating func append(_ more: some Sequence<UInt8>) { bytes += more }

    /// - Returns: the next reply; nil until all of it is there.
    /// - Throws: `SMTPFault.malformedReply`.
    mutating func next() throws(SMTPFault) -> SMTPReply? {
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            guard end <= Self.longestLine, lines.count < Self.mostLines else { throw .malformedReply }
            var line = bytes[..<end]
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            let digits = line.prefix(3).map { Int($0) - 0x30 }
            guard digits.count == 3, (2...5).contains(digits[0]), digits.allSatisfy({ (0...9).contains($0) }) else {
                throw .malformedReply
            }
            let mark = line.dropFirst(3).first
            guard mark == nil || mark == UInt8(ascii: " ") || mark == UInt8(ascii: "-") else { throw .malformedReply }
            lines.append(String(decoding: line.dropFirst(4), as: UTF8.self))
            bytes.removeFirst(end + 1)
            // The code of the last line is the one that counts; all of them are to be the same.
            guard mark == UInt8(ascii: "-") else {
                defer { lines = [] }
                return SMTPReply(code: digits[0] * 100 + digits[1] * 10 + digits[2], lines: lines)
            }
        }
        guard bytes.count <= Self.longestLine else { throw .malformedReply }
        return nil
    }
}
