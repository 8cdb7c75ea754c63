internal import ChatCore
internal import ChatModel
internal import Foundation

/// How texts are written in a letter. Whatever is in a text, nothing of it begins a new line of the header.
enum MailText {
    /// Whether an address is nothing but that, in a header as in a command.
    static func isAddress(_ text: String) -> Bool { (try? Texts.email(text)) == text }

    // MARK: Headers

    /// A text in a header (RFC 5322 §2.2.1), folded; as encoded words (RFC 2047) where it needs them.
    ///
    /// - Parameter length: what stands in front of it on the line, in characters.
    static func unstructured(_ text: String, behind length: Int) -> String {
        let words = text.split(separator: " ")
        // A text that looks like an encoded word would be read as one.
        let isPlain =
            text.utf8.allSatisfy { (0x20..<0x7f).contains($0) } && !text.contains("=?")
            && words.allSatisfy { $0.utf8.count <= 70 }
        return isPlain ? folded(words.map { String($0) }, behind: length) : encodedWords(text, behind: length)
    }

    /// A name in front of an address (RFC 5322 §3.2.5).
    static func phrase(_ text: String, behind length: Int) -> String {
        guard text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }), text.utf8.count <= 60 else {
            return encodedWords(text, behind: length)
        }
        return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// RFC 5322 §2.1.1 and §2.2.3: lines of at most 78 characters, broken in front of a space.
    private static func folded(_ words: [String], behind length: Int) -> String {
        var (text, column) = ("", length)
        for (index, word) in words.enumerated() {
            if index > 0 {
                let isFull = column + 1 + word.utf8.count > 78
                text += isFull ? "\r\n " : " "
                column = isFull ? 1 : column + 1
            }
            text += word
            column += word.utf8.count
        }
        return text
    }

    /// RFC 2047 §2: each of at most 75 characters, and of whole ones (§5).
    private static func encodedWords(_ text: String, behind length: Int) -> String {
        var words: [String] = []
        var bytes: [UInt8] = []
        func end() {
            if !bytes.isEmpty { words.append("=?UTF-8?B?\(Data(bytes).base64EncodedString())?=") }
            bytes = []
        }
        for scalar in text.unicodeScalars {
            let more = Array(String(scalar).utf8)
            // 63 characters are left of 75, and base 64 makes four of three bytes.
            let room = words.isEmpty ? max(6, (63 - length) / 4 * 3) : 45
            if bytes.count + more.count > room { end() }
            bytes += more
        }
        end()
        return folded(words, behind: length)
    }

    // MARK: The time

    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// RFC 5322 §3.3: `Mon, 23 Nov 2026 16:40:07 +0000`.
    static func date(_ time: Timestamp) -> String {
        let parts = time.description.split { "-T.".contains($0) }
        // 1970 began on a Thursday. A day begins before what has passed of it, before 1970 as well.
        let (quotient, rest) = time.milliseconds.quotientAndRemainder(dividingBy: 86_400_000)
        let day = days[Int(((quotient - (rest < 0 ? 1 : 0)) % 7 + 7) % 7)]
        let month = months[max(0, (Int(parts[1]) ?? 1) - 1) % 12]
        return "\(day), \(parts[2]) \(month) \(parts[0]) \(parts[3]) +0000"
    }

    // MARK: The text itself

    /// RFC 2045 §6.7, lines ended by CRLF.
    static func quotedPrintable(_ text: String) -> String {
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        return lines.map { quotedPrintableLine(Array($0.utf8)) + "\r\n" }.joined()
    }

    private static func quotedPrintableLine(_ bytes: [UInt8]) -> String {
        var (text, column) = ("", 0)
        for (index, byte) in bytes.enumerated() {
            let isLast = index == bytes.count - 1
            let isSpace = byte == 0x20 || byte == 0x09
            // Rules 2 and 3: as it is, but for `=` and for a space at the end.
            let isLiteral = byte != 0x3d && (0x21..<0x7f).contains(byte) || isSpace && !isLast
            let piece = isLiteral ? String(UnicodeScalar(byte)) : "=" + hexadecimal(byte)
            // Rule 5: at most 76 characters, the `=` of a soft break among them.
            if column + piece.utf8.count > (isLast ? 76 : 75) {
                text += "=\r\n"
                column = 0
            }
            text += piece
            column += piece.utf8.count
        }
        return text
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 0x10 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
}
