import ChatModel
import Testing

@testable import ChatServer

struct MailTextTests {
    @Test(arguments: [
        (Int64(0), "Thu, 01 Jan 1970 00:00:00 +0000"), (1_795_452_007_250, "Mon, 23 Nov 2026 16:40:07 +0000"),
        (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 +0000"), (-1, "Wed, 31 Dec 1969 23:59:59 +0000"),
    ])
    func `writes times as letters have them`(milliseconds: Int64, text: String) {
        #expect(MailText.date(Timestamp(milliseconds: milliseconds)) == text)
    }

    @Test func `a subject of ASCII stays as it is, and others are encoded words of whole characters`() {
        #expect(MailText.unstructured("Confirm your e-mail address", behind: 9) == "Confirm your e-mail address")
        #expect(MailText.unstructured("Grüße", behind: 9) == "=?UTF-8?B?R3LDvMOfZQ==?=")
        // What looks encoded would be decoded.
        #expect(MailText.unstructured("=?UTF-8?Q?x?=", behind: 9) == "=?UTF-8?B?PT9VVEYtOD9RP3g/PQ==?=")
        let long = MailText.unstructured(String(repeating: "é", count: 200), behind: 9)
        let lines = long.split(separator: "\r\n", omittingEmptySubsequences: false)
        #expect(lines.count > 4)
        #expect(lines.allSatisfy { $0.utf8.count <= 76 && $0.contains("=?UTF-8?B?") && $0.hasSuffix("?=") })
        #expect(("Subject: " + lines[0]).utf8.count <= 78)
    }

    @Test func `a long line is folded between words`() {
        let text = (0..<40).map { "word\($0)" }.joined(separator: " ")
        let folded = MailText.unstructured(text, behind: 9)
        #expect(folded.split(separator: "\r\n").allSatisfy { $0.utf8.count <= 78 })
        #expect(folded.replacing("\r\n ", with: " ") == text)
    }

    @Test(arguments: ["a\r\nBcc: eve@example.org", "a\nb", "a\rb", "a\0b", "a\u{85}b", "a\u{2028}b"])
    func `nothing of a text begins another line of the header`(text: String) {
        for written in [MailText.unstructured(text, behind: 9), MailText.phrase(text, behind: 6)] {
            #expect(!written.utf8.contains(UInt8(ascii: "\n")) && !written.utf8.contains(UInt8(ascii: "\r")))
            #expect(written.hasPrefix("=?UTF-8?B?"))
        }
    }

    @Test func `names in front of addresses are quoted`() {
        #expect(MailAuthor("Roost <chat@example.org>")?.header == "\"Roost\" <chat@example.org>")
        #expect(MailAuthor("A \"b\" \\ <chat@example.org>")?.header == #""A \"b\" \\" <chat@example.org>"#)
        #expect(MailAuthor("Käuze <chat@example.org>")?.header == "=?UTF-8?B?S8OkdXpl?= <chat@example.org>")
        #expect(MailAuthor("chat@example.org")?.header == "<chat@example.org>")
        for text in ["", "Roost", "Roost <>", "<a b@example.org>", "a@example.org\r\nBcc: b@example.org"] {
            #expect(MailAuthor(text) == nil, "\(text)")
        }
    }

    @Test func `quoted-printable is ASCII in short lines, ended by CRLF`() {
        #expect(MailText.quotedPrintable("a = b\né \n.x\t") == "a =3D b\r\n=C3=A9=20\r\n.x=09\r\n")
        #expect(MailText.quotedPrintable("a\r\nb") == "a\r\nb\r\n")
        let exact = String(repeating: "x", count: 76)
        #expect(MailText.quotedPrintable(exact) == exact + "\r\n")
        let long = MailText.quotedPrintable(String(repeating: "é", count: 100) + String(repeating: "y", count: 200))
        let lines = long.split(separator: "\r\n")
        #expect(lines.allSatisfy { $0.utf8.count <= 76 })
        #expect(
            lines.map { $0.hasSuffix("=") ? $0.dropLast() : $0 }.joined()
                == String(repeating: "=C3=A9", count: 100) + String(repeating: "y", count: 200))
    }
}
