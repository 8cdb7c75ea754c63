import ChatModel
import Testing

@testable import ChatServer

struct SMTPTests {
    private static func letter(
        to: String = "ada@example.org", subject: String = "Hello", text: String = "Hello."
    ) throws -> SMTPLetter {
        let author = try #require(MailAuthor("Roost <chat@example.org>"))
        return try #require(
            SMTPLetter(
                Mail(to: to, subject: subject, text: text, link: nil), from: author, identifier: "id",
                at: Timestamp(milliseconds: 1_795_452_007_250)))
    }

    private static func reply(_ code: Int, _ lines: String...) -> SMTPReply { SMTPReply(code: code, lines: lines) }

    private static func said(_ actions: [SMTPDialogue.Action]) -> [String] {
        actions.map {
            switch $0 {
            case .send(let bytes): String(decoding: bytes, as: UTF8.self)
            case .startTLS: "(TLS)"
            case .delivered: "(delivered)"
            case .failed(let fault): "(\(fault.isTemporary ? "later" : "never"))"
            case .close: "(close)"
            }
        }
    }

    private static func dialogue(_ url: String, _ letter: SMTPLetter? = nil) throws -> SMTPDialogue {
        SMTPDialogue(try letter ?? self.letter(), to: try #require(SMTPServer(url: url)), from: "[127.0.0.1]")
    }

    @Test func `a letter is handed in`() throws {
        var dialogue = try Self.dialogue("smtp://localhost")
        #expect(Self.said(dialogue.replyReceived(Self.reply(220, "here"))) == ["EHLO [127.0.0.1]\r\n"])
        let letter = try Self.letter()
        #expect(
            Self.said(dialogue.replyReceived(Self.reply(250, "here", "SIZE 10000", "8BITMIME")))
                == ["MAIL FROM:<chat@example.org> SIZE=\(letter.content.count)\r\n"])
        #expect(Self.said(dialogue.replyReceived(Self.reply(250))) == ["RCPT TO:<ada@example.org>\r\n"])
        #expect(Self.said(dialogue.replyReceived(Self.reply(251))) == ["DATA\r\n"])
        #expect(dialogue.replyReceived(Self.reply(354)) == [.send(letter.stuffed)])
        #expect(Self.said(dialogue.replyReceived(Self.reply(250))) == ["(delivered)", "QUIT\r\n"])
        #expect(dialogue.replyReceived(Self.reply(221)) == [.close])
    }

    @Test func `nothing is said in the clear but to ask for TLS, and everything is asked anew after it`() throws {
        var dialogue = try Self.dialogue("smtp://ann:se%20cret@mail.example.org")
        _ = dialogue.replyReceived(Self.reply(220))
        #expect(
            Self.said(dialogue.replyReceived(Self.reply(250, "here", "AUTH LOGIN", "STARTTLS"))) == ["STARTTLS\r\n"])
        #expect(dialogue.replyReceived(Self.reply(220)) == [.startTLS])
        #expect(Self.said(dialogue.tlsStarted()) == ["EHLO [127.0.0.1]\r\n"])
        #expect(
            Self.said(dialogue.replyReceived(Self.reply(250, "here", "auth login plain")))
                == ["AUTH PLAIN AGFubgBzZSBjcmV0\r\n"])
        #expect(Self.said(dialogue.replyReceived(Self.reply(235))) == ["MAIL FROM:<chat@example.org>\r\n"])
    }

    @Test func `who offers no TLS gets no password and no letter`() throws {
        var dialogue = try Self.dialogue("smtp://ann:secret@mail.example.org")
        _ = dialogue.replyReceived(Self.reply(220))
        #expect(Self.said(dialogue.replyReceived(Self.reply(250, "here", "AUTH PLAIN"))) == ["(later)", "QUIT\r\n"])
    }

    @Test func `the older way to log in`() throws {
        var dialogue = try Self.dialogue("smtps://ann:secret@mail.example.org")
        _ = dialogue.replyReceived(Self.reply(220))
        #expect(Self.said(dialogue.replyReceived(Self.reply(250, "here", "AUTH LOGIN"))) == ["AUTH LOGIN\r\n"])
        #expect(Self.said(dialogue.replyReceived(Self.reply(334, "VXNlcm5hbWU6"))) == ["YW5u\r\n"])
        #expect(Self.said(dialogue.replyReceived(Self.reply(334, "UGFzc3dvcmQ6"))) == ["c2VjcmV0\r\n"])
        // Somebody mends the password: it is no fault of the letter's.
        #expect(Self.said(dialogue.replyReceived(Self.reply(535))) == ["(later)", "QUIT\r\n"])
    }

    @Test(arguments: [(450, "(later)"), (550, "(never)")])
    func `what a server does not take now it may take later, and what it refuses it refuses`(
        code: Int, outcome: String
    ) throws {
        var dialogue = try Self.dialogue("smtp://localhost")
        for code in [220, 250, 250] { _ = dialogue.replyReceived(Self.reply(code)) }
        #expect(Self.said(dialogue.replyReceived(Self.reply(code))) == [outcome, "QUIT\r\n"])
    }

    @Test func `limits and addresses of other scripts are asked for`() throws {
        var small = try Self.dialogue("smtp://localhost")
        _ = small.replyReceived(Self.reply(220))
        #expect(Self.said(small.replyReceived(Self.reply(250, "here", "SIZE 20"))) == ["(never)", "QUIT\r\n"])
        let letter = try Self.letter(to: "käuzchen@example.org")
        for (offer, answer) in [
            ("8BITMIME", ["(never)", "QUIT\r\n"]),
            ("SMTPUTF8", ["MAIL FROM:<chat@example.org> BODY=8BITMIME SMTPUTF8\r\n"]),
        ] {
            var dialogue = try Self.dialogue("smtp://localhost", letter)
            _ = dialogue.replyReceived(Self.reply(220))
            #expect(Self.said(dialogue.replyReceived(Self.reply(250, "here", offer))) == answer)
        }
    }

    @Test func `a letter has the header that it is to have, and a line with a full stop is no end`() throws {
        let letter = try Self.letter(subject: "Grüße\r\nBcc: eve@example.org", text: "one\n.\n..two")
        let text = String(decoding: letter.content, as: UTF8.self)
        let head = text.prefix(upTo: try #require(text.firstRange(of: "\r\n\r\n")).lowerBound)
        let names = head.split(separator: "\r\n").filter { !$0.hasPrefix(" ") }.map { $0.prefix { $0 != ":" } }
        #expect(
            names == [
                "Date", "From", "To", "Message-ID", "Subject", "Auto-Submitted", "MIME-Version", "Content-Type",
                "Content-Transfer-Encoding",
            ])
        #expect(head.contains("Message-ID: <id@example.org>"))
        let stuffed = String(decoding: letter.stuffed, as: UTF8.self)
        #expect(stuffed.hasSuffix("\r\n\r\none\r\n..\r\n...two\r\n.\r\n"))
        let author = try #require(MailAuthor("chat@example.org"))
        let injected = Mail(to: "a@example.org>\r\nRCPT TO:<b@example.org", subject: "", text: "", link: nil)
        #expect(SMTPLetter(injected, from: author, identifier: "id", at: Timestamp(milliseconds: 0)) == nil)
    }

    @Test func `replies are read however they are cut`() throws {
        let text = Array("250-one\r\n250-SIZE 5\r\n250 three\r\n421\r\n".utf8)
        for cut in 0...text.count {
            var reader = SMTPReplyReader()
            var replies: [SMTPReply] = []
            for part in [text[..<cut], text[cut...]] {
                reader.append(part)
                while let reply = try reader.next() { replies.append(reply) }
            }
            #expect(replies == [Self.reply(250, "one", "SIZE 5", "three"), Self.reply(421, "")])
            #expect(reader.isEmpty)
        }
    }

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n", "25\r\n", "999 x\r\n", "250_x\r\n", "\r\n"])
    func `what is no reply is refused`(text: String) {
        var reader = SMTPReplyReader()
        reader.append(text.utf8)
        #expect(throws: SMTPFault.malformedReply) { try reader.next() }
    }

    @Test func `a reply without end is refused`() {
        var reader = SMTPReplyReader()
        #expect(throws: SMTPFault.malformedReply) {
            for _ in 0..<1_000 {
                reader.append("250-more\r\n".utf8)
                _ = try reader.next()
            }
        }
        var line = SMTPReplyReader()
        line.append(Array(repeating: UInt8(ascii: "2"), count: 5_000))
        #expect(throws: SMTPFault.malformedReply) { try line.next() }
    }

    @Test func `URLs of servers`() throws {
        let full = try #require(SMTPServer(url: "smtps://ann%40example.org:p%2Fw@mail.example.org"))
        #expect(full.host == "mail.example.org" && full.port == 465 && full.security == .tls)
        #expect(full.user == "ann@example.org" && full.password == "p/w")
        #expect(SMTPServer(url: "smtps://ann@mail.example.org", password: "other")?.password == "other")
        let plain = try #require(SMTPServer(url: "smtp://mail.example.org"))
        #expect(plain.port == 587 && plain.security == .startTLS && plain.user == nil && plain.password == nil)
        #expect(SMTPServer(url: "smtp://[::1]:25")?.security == SMTPServer.Security.none)
        #expect(SMTPServer(url: "smtp://[::1]:25")?.certificateName == nil)
        #expect(SMTPServer(url: "smtp://localhost?tls=always")?.security == .startTLS)
        #expect(SMTPServer(url: "smtp://mail.example.org?tls=never")?.security == SMTPServer.Security.none)
        for url in [
            "", "mail.example.org", "http://mail.example.org", "smtp://", "smtp://host/path", "smtps://host?tls=never",
            "smtp://host?tls=maybe", "smtp://host?other=1", "smtp://host:0", "smtp://host:70000",
        ] {
            #expect(SMTPServer(url: url) == nil, "\(url)")
        }
    }
}
