import Testing

@testable import ChatCore

struct FileTextsTests {
    @Test(arguments: [
        ("plan.txt", "plan.txt"), (" plan.txt\n", "plan.txt"), ("e\u{301}.txt", "\u{e9}.txt"),
        ("../../etc/passwd", "....etcpasswd"), ("a\\b:c", "ab:c"), ("a\u{0}b\u{1b}", "ab"),
        ("photo\u{202E}gpj.exe", "photogpj.exe"), ("\u{2066}a\u{2069}", "a"), ("\u{FEFF}a\u{200B}", "a"),
        ("a\u{FF0F}b\u{2215}c", "abc"), (".profile", ".profile"), ("👨‍👩‍👧.png", "👨‍👩‍👧.png"),
    ])
    func `a name keeps what is seen, and nothing that parts paths or turns the writing`(
        name: String, kept: String
    ) throws {
        #expect(try Texts.fileName(name).unicodeScalars.elementsEqual(kept.unicodeScalars))
    }

    @Test(arguments: ["", " ", ".", "..", "/", "\u{202E}", "\u{0}", String(repeating: "a", count: 5_000)])
    func `a name of nothing is none`(name: String) {
        #expect(throws: ChatError.self) { try Texts.fileName(name) }
    }

    @Test func `a long name keeps its ending`() throws {
        let name = try Texts.fileName(String(repeating: "ü", count: 200) + ".jpeg")
        #expect(name.utf8.count <= 255 && name.utf8.count > 252 && name.hasSuffix("ü.jpeg"))
        #expect(try Texts.fileName("a" + String(repeating: "\u{308}", count: 300) + ".png") == "file.png")
    }

    @Test(arguments: [
        (nil, "application/octet-stream"), ("", "application/octet-stream"), ("Text/HTML; charset=utf-8", "text/html"),
        ("image/svg+xml", "image/svg+xml"),
    ])
    func `a media type is kept without its parameters`(text: String?, kept: String) throws {
        #expect(try Texts.mediaType(text) == kept)
    }

    @Test(arguments: ["text", "text/", "/html", "text/html/x", "text/ht ml", "text/html\r\nX-A: b", "té/x", "-a/b"])
    func `what is no media type is refused`(text: String) {
        #expect(throws: ChatError.self) { try Texts.mediaType(text) }
    }
}
