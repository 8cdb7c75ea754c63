internal import ChatModel

/// A letter as it is handed in: the envelope (RFC 5321 §2.3.1) and what is in it.
struct SMTPLetter: Sendable, Equatable {
    let sender: String
    let recipient: String
    /// RFC 5322, lines ended by CRLF.
    let content: [UInt8]

    /// - Parameters:
    ///   - identifier: of this letter alone; it stays the same when it is sent again.
    /// - Returns: nil for addresses that could be more than an address in a command.
    init?(_ mail: Mail, from author: MailAuthor, identifier: String, at now: Timestamp) {
        guard MailText.isAddress(mail.to), MailText.isAddress(author.address) else { return nil }
        sender = author.address
        recipient = mail.to
        let domain = author.address.split(separator: "@").last ?? "localhost"
        let headers = [
            ("Date", MailText.date(now)),
            ("From", author.header),
            ("To", "<\(mail.to)>"),
            ("Message-ID", "<\(identifier)@\(domain)>"),
            ("Subject", MailText.unstructured(mail.subject, behind: "Subject: ".utf8.count)),
            // RFC 3834 §5: nobody's absence is to be told to us.
            ("Auto-Submitted", "auto-generated"),
            ("MIME-Version", "1.0"),
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Transfer-Encoding", "quoted-printable"),
        ]
        let head = headers.map { "\($0): \($1)\r\n" }.joined()
        content = Array((head + "\r\n" + MailText.quotedPrintable(mail.text)).utf8)
    }

    /// Whether an address has more than ASCII, which not every server takes (RFC 6531).
    var isInternational: Bool { !(sender + recipient).utf8.allSatisfy { $0 < 0x80 } }

    /// With a second full stop where a line begins with one, and the one that ends it (RFC 5321 §4.5.2).
    var stuffed: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(content.count + 64)
        var isLineStart = true
        for byte in content {
            if isLineStart, byte == UInt8(ascii: ".") { bytes.append(byte) }
            bytes.append(byte)
            isLineStart = byte == UInt8(ascii: "\n")
        }
        return bytes + Array((isLineStart ? ".\r\n" : "\r\n.\r\n").utf8)
    }
}

/// Whom letters are from.
package struct MailAuthor: Sendable, Equatable {
    let name: String?
    let address: String

    /// - Parameter text: `chat@example.org`, or `Roost <chat@example.org>`.
    /// - Returns: nil for what is neither.
    package init?(_ text: String) {
        if let begin = text.lastIndex(of: "<"), text.hasSuffix(">") {
            let name = text[..<begin].split(separator: " ").joined(separator: " ")
            self.name = name.isEmpty ? nil : name
            address = String(text[text.index(after: begin)...].dropLast())
        } else {
            (name, address) = (nil, text)
        }
        guard MailText.isAddress(address) else { return nil }
    }

    /// RFC 5322 §3.4.
    var header: String {
        guard let name else { return "<\(address)>" }
        return MailText.phrase(name, behind: "From: ".utf8.count) + " <\(address)>"
    }
}
