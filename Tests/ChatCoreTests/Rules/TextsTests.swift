import Testing

@testable import ChatCore

/// What people may write into fields, and how it is kept.
@Suite struct TextsTests {
    private static let limits = Limits()

    /// Nil for what is refused.
    private static func kept(_ text: () throws -> String) -> String? { try? text() }

    @Test(
        arguments: [
            ("Ann", "Ann"), ("  Ann Lee \n", "Ann Lee"), ("Ånn  Lée", "Ånn  Lée"), ("安", "安"), ("👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"),
            (String(repeating: "x", count: 80), String(repeating: "x", count: 80)),
            (String(repeating: "é", count: 80), String(repeating: "é", count: 80)),
            ("", nil), (" \t\n ", nil), ("Ann\nLee", nil), ("Ann\u{0}", nil), ("Ann\u{7}Lee", nil),
            ("Ann\u{2028}Lee", nil), (String(repeating: "x", count: 81), nil),
            // What turns the direction of writing, and what nobody sees.
            ("Ann\u{202E}eel", nil), ("\u{2066}Ann", nil), ("\u{200B}", nil), ("Ann\u{FEFF}", nil),
            ("\u{3164}", nil), ("\u{115F}\u{1160}", nil), ("\u{2800} \u{2800}", nil), ("\u{FE0F}", nil), ("⠃", "⠃"),
            // One character can be of any number of bytes.
            ("e" + String(repeating: "\u{301}", count: 400), nil),
        ] as [(String, String?)])
    func `a name is one line that people can see`(text: String, kept: String?) {
        #expect(Self.kept { try Texts.displayName(text, Self.limits) } == kept)
        #expect(Self.kept { try Texts.workspaceName(text, Self.limits) } == kept)
        #expect(Texts.line(text, upTo: 80) == kept)
    }

    @Test(
        arguments: [
            ("", ""), ("  \n", ""), (" Winds ", "Winds"), (String(repeating: "x", count: 10), "xxxxxxxxxx"),
            (String(repeating: "x", count: 11), nil), ("a\nb", nil),
        ] as [(String, String?)])
    func `a note is one line, or nothing`(text: String, kept: String?) {
        #expect(Self.kept { try Texts.note(text, upTo: 10, field: "topic") } == kept)
    }

    @Test(
        arguments: [
            ("ann", "ann"), ("Ann", "ann"), ("an", "an"), ("7up", "7up"), ("a.b-c_d", "a.b-c_d"),
            (String(repeating: "x", count: 32), String(repeating: "x", count: 32)),
            ("", nil), ("a", nil), (String(repeating: "x", count: 33), nil), (".ann", nil), ("-ann", nil),
            ("_ann", nil), ("ann lee", nil), (" ann", nil), ("ann\n", nil), ("ånn", nil), ("ann@x", nil),
            ("ann\u{0}", nil), ("channel", nil), ("Here", nil), ("everyone", nil), ("ALL", nil), ("me", nil),
            // The Kelvin sign is a "k" in lower case.
            ("\u{212A}im", "kim"),
        ] as [(String, String?)])
    func `a username is of letters from a to z, digits and three signs`(text: String, kept: String?) {
        #expect(Self.kept { try Texts.username(text, Self.limits) } == kept)
    }

    @Test(
        arguments: [
            ("general", "general"), ("General", "general"), ("équipe-2_b", "équipe-2_b"), ("雑談", "雑談"), ("1", "1"),
            (String(repeating: "x", count: 80), String(repeating: "x", count: 80)),
            ("", nil), (String(repeating: "x", count: 81), nil), ("two words", nil), (" a", nil), ("a.b", nil),
            ("#a", nil), ("a/b", nil), ("🎉", nil), ("a\u{0}", nil), ("a\n", nil),
            ("हिन्दी", "हिन्दी"), ("ไทย", "ไทย"), ("²", "²"), ("q\u{301}", "q\u{301}"),
            // What shows nothing, by which two names look alike.
            ("general\u{200D}", nil), ("gener\u{200C}al", nil), ("general\u{FE0F}", nil), ("a\u{34F}", nil),
            ("general\u{E0067}", nil), ("\u{3164}", nil), ("\u{115F}", nil), ("\u{2800}", nil), ("1\u{20E3}", nil),
            ("\u{301}a", nil), ("-\u{301}", nil), ("\u{200C}\u{645}", nil), ("\u{645}\u{200C}", nil),
            // Persian and Sinhala write words with joiners.
            ("\u{645}\u{6CC}\u{200C}\u{62E}", "\u{645}\u{6CC}\u{200C}\u{62E}"),
            ("\u{DC1}\u{DCA}\u{200D}\u{DBB}\u{DD3}", "\u{DC1}\u{DCA}\u{200D}\u{DBB}\u{DD3}"),
            // With a short vowel before it; in Bengali before the virama; at the end, as Malayalam was written.
            ("\u{637}\u{651}\u{200C}\u{646}", "\u{637}\u{651}\u{200C}\u{646}"),
            ("\u{9B0}\u{200D}\u{9CD}\u{9AF}", "\u{9B0}\u{200D}\u{9CD}\u{9AF}"),
            ("\u{D28}\u{D4D}\u{200D}", "\u{D28}\u{D4D}\u{200D}"),
            // Where nothing is joined or parted by them they show nothing.
            ("\u{639}\u{200D}\u{627}", nil), ("\u{62F}\u{200C}\u{645}", nil), ("\u{91C}\u{200C}\u{932}", nil),
            ("\u{91C}\u{200D}\u{932}", nil),
        ] as [(String, String?)])
    func `a channel's name is of letters and digits of any script`(text: String, kept: String?) {
        #expect(Self.kept { try Texts.channelName(text, Self.limits) } == kept)
    }

    @Test func `a channel's name is the same in both of Unicode's ways to write it`() throws {
        let (one, other) = ("caf\u{e9}", "cafe\u{301}")
        #expect(
            Array(try Texts.channelName(one, Self.limits).utf8) == Array(try Texts.channelName(other, Self.limits).utf8)
        )
    }

    @Test(
        arguments: [
            ("harbour", "harbour"), ("Harbour-2", "harbour-2"), ("42", "42"),
            ("a", nil), ("-a", nil), ("a_b", nil), ("a.b", nil), ("hafen straße", nil), ("", nil),
            (String(repeating: "x", count: 33), nil),
        ] as [(String, String?)])
    func `a workspace's address is of letters from a to z, digits and hyphens`(text: String, kept: String?) {
        #expect(Self.kept { try Texts.slug(text, Self.limits) } == kept)
    }

    @Test(
        arguments: [
            ("ann@example.org", "ann@example.org"), (" Ann.Lee+x@Example.ORG\n", "Ann.Lee+x@Example.ORG"),
            ("a@b.c", "a@b.c"), ("用户@例子.网络", "用户@例子.网络"),
            (String(repeating: "x", count: 64) + "@example.org", String(repeating: "x", count: 64) + "@example.org"),
            ("", nil), ("ann", nil), ("ann@", nil), ("@example.org", nil), ("ann@example", nil), ("a@b@c.d", nil),
            ("ann@.org", nil), ("ann@example.", nil), ("ann@a..b", nil), ("a..n@example.org", nil),
            ("ann lee@example.org", nil), ("ann@exa mple.org", nil), ("Ann <ann@example.org>", nil),
            ("ann@example.org,ben@example.org", nil), ("ann@example.org\r\nBcc: ben@example.org", nil),
            ("\"ann\"@example.org", nil), ("ann\u{0}@example.org", nil), ("ann\u{7F}@example.org", nil),
            // What commands a terminal, or turns the direction of writing.
            ("ann\u{9B}31m@example.org", nil), ("ann\u{202E}@example.org", nil), ("ann\u{2028}@example.org", nil),
            ("ann\u{2029}@example.org", nil), ("ann\u{AD}@example.org", nil),
            (String(repeating: "x", count: 65) + "@example.org", nil),
            ("ann@" + String(repeating: "x", count: 190) + ".org", nil),
        ] as [(String, String?)])
    func `an address has something on each side of one @`(text: String, kept: String?) {
        #expect(Self.kept { try Texts.email(text) } == kept)
    }

    @Test(
        arguments: [
            ("12345678", true), ("1234567", false), ("pässwörd", true), ("        ", true), ("", false),
            (String(repeating: "x", count: 256), true), (String(repeating: "x", count: 257), false),
            (String(repeating: "👩‍👩‍👧‍👦", count: 100), false),
        ])
    func `a password is long enough, and not without end`(text: String, isTaken: Bool) {
        let kept = Self.kept {
            try Texts.password(text, Self.limits)
            return text
        }
        #expect(kept == (isTaken ? text : nil))
    }

    @Test(
        arguments: [
            ("Hello", nil), ("  spaces stay \n", nil), ("a\nb\u{7}", nil), (String(repeating: "x", count: 12_000), nil),
            (String(repeating: "x", count: 12_001), "message_too_long"),
            (String(repeating: "👩‍👩‍👧‍👦", count: 2_000), "message_too_long"),
            ("", "invalid_content"), (" \n\t", "invalid_content"), ("a\u{0}b", "invalid_content"),
        ] as [(String, String?)])
    func `a message's words are kept as they were written`(text: String, refusal: String?) {
        do {
            let kept = try Texts.content(text, isEmptyAllowed: false, Self.limits)
            #expect(Array(kept.utf8) == Array(text.utf8) && refusal == nil)
        } catch {
            #expect(error.code == refusal && error.field == "content")
            #expect(error.kind == (refusal == "message_too_long" ? .tooLarge : .invalid))
        }
    }

    @Test func `a message of files needs no words`() throws {
        #expect(try Texts.content("", isEmptyAllowed: true, Self.limits) == "")
    }

    @Test(
        arguments: [
            "👍", "👍🏽", "❤️", "☺️", "☝🏽", "🏳️\u{200D}🌈", "👩‍👩‍👧‍👦", "🇩🇪", "1️⃣", "#️⃣", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", ":+1:", ":party-parrot_2:",
            ":" + String(repeating: "x", count: 64) + ":",
        ])
    func `a reaction is one emoji, or its name`(text: String) throws {
        #expect(try Texts.emoji(text) == text)
    }

    @Test(
        arguments: [
            "", "a", "1", "#", "👍👍", "👍 ", "ok", ":", "::", ":a", "a:", ":A:", ":a b:", ":é:", "é", "安", "\n",
            ":" + String(repeating: "x", count: 65) + ":", "👍" + String(repeating: "\u{301}", count: 40),
            // A digit under an accent is no emoji, though digits are parts of some.
            "1\u{301}",
            // The same marks in another order would be another reaction that looks the same.
            "👍\u{301}\u{323}", "👍\u{323}\u{301}", "👍\u{20E0}", "👍\u{20E3}",
            // Nor are there signs that show nothing: tags but for those of a flag, joiners that join nothing,
            // selectors.
            "👍\u{E0061}", "👍\u{E0061}\u{E007F}", "👍\u{E007F}", "🏴\u{E0061}", "🏴\u{E007F}",
            "🏴\u{E007F}\u{E007F}", "🏴\u{E0001}\u{E007F}", "👍\u{200D}", "👩\u{200D}\u{200D}👩", "👍\u{200C}",
            "👍\u{200D}🏽", "👍\u{FE0F}\u{FE0F}", "👍\u{FE00}", "👍\u{E0100}", "👍\u{200D}\u{FE0F}",
        ])
    func `anything else is no reaction`(text: String) {
        #expect(throws: ChatError.self) { try Texts.emoji(text) }
    }

    @Test(
        arguments: [
            ("❤", "❤\u{FE0F}"), ("❤\u{FE0E}", "❤\u{FE0F}"), ("❤\u{FE0F}", "❤\u{FE0F}"), ("☺", "☺\u{FE0F}"),
            ("👍\u{FE0F}", "👍"), ("👍\u{FE0E}", "👍"), ("👍🏽\u{FE0F}", "👍🏽"), ("☝\u{FE0F}🏽", "☝🏽"),
            ("1\u{20E3}", "1\u{FE0F}\u{20E3}"), ("©\u{FE0F}", "©\u{FE0F}"), ("🇩🇪\u{FE0F}", "🇩🇪"),
            ("🏳\u{200D}🌈", "🏳\u{FE0F}\u{200D}🌈"), ("👩\u{200D}❤\u{200D}👩", "👩\u{200D}❤\u{FE0F}\u{200D}👩"),
        ])
    func `a reaction has one form, however it is written`(text: String, form: String) throws {
        #expect(Array(try Texts.emoji(text).unicodeScalars) == Array(form.unicodeScalars))
        #expect(Array(try Texts.emoji(form).unicodeScalars) == Array(form.unicodeScalars))
    }

    @Test func `an emoji under marks that was taken before can be taken back`() throws {
        #expect(try Texts.emoji("👍\u{301}", isNew: false) == "👍\u{301}")
    }

    @Test func `a refusal names the field that it is about`() {
        #expect(
            throws: ChatError(
                .invalid, code: "invalid_topic", "This takes one line of at most 3 characters.", field: "topic")
        ) { try Texts.note("long", upTo: 3, field: "topic") }
    }
}
