import Testing

@testable import ChatCore

@Suite struct MentionParserTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let text: String
        let usernames: [String]

        init(_ text: String, _ usernames: String...) {
            self.text = text
            self.usernames = usernames
        }

        var testDescription: String { text }
    }

    @Test(
        arguments: [
            Row(""), Row("hello"), Row("@"), Row("@ ann"), Row("@@"), Row("@."), Row("@-"),
            Row("@ann", "ann"), Row("hello @ann", "ann"), Row("@ann hello", "ann"), Row("hello\n@ann\n", "ann"),
            Row("hello\r\n@ann\r\n", "ann"), Row("hello\r@ann", "ann"), Row("\t@ann", "ann"),
            Row("(@ann)", "ann"), Row("**@ann**", "ann"), Row("\"@ann\"", "ann"), Row("> @ann:", "ann"),
            Row("@ann, @ben", "ann", "ben"), Row("@ann/@ben", "ann", "ben"), Row("@@ann", "ann"),
            // Each once, in the order in which they stand.
            Row("@ben @ann @ben @ann", "ben", "ann"),
            // Names have no capitals.
            Row("@Ann @ANN", "ann"),
            // A name's own signs, and those that end the sentence.
            Row("@ann.lee-2_x", "ann.lee-2_x"), Row("@ann.", "ann"), Row("@ann...", "ann"), Row("@ann-", "ann"),
            Row("@ann?! @2fast", "ann", "2fast"), Row("@ann's", "ann"), Row("@ann\u{10}", "ann"),
            // Addresses name nobody.
            Row("ann@example.org"), Row("ann.lee@example.org"), Row("a_@example.org"), Row("é@example.org"),
            Row("mailto:ANN@example.org"), Row("@ann@example.org", "ann"), Row("bob@ann.org"), Row("a.b@ann"),
            Row("a-@ann"), Row("a.-@ann"), Row("a+@ann"), Row("é_@ann"),
            // The same signs without a letter in front of them are of no address, nor is a full stop at its end.
            Row("-@ann", "ann"), Row("- -@ann", "ann"), Row("_@ann", "ann"), Row("+@ann", "ann"), Row("(_@ann)", "ann"),
            Row("wait...@ann", "ann"), Row("wait.@ann", "ann"), Row("wait...-@ann", "ann"), Row("...@ann", "ann"),
        ])
    func `it finds the names behind an @`(row: Row) {
        let mentions = MentionParser(row.text)
        #expect(mentions.usernames == row.usernames)
        #expect(!mentions.isChannel && !mentions.isHere)
    }

    @Test(
        arguments: [
            ("@ann", []), ("@ann.", []), ("_@ann_", ["ann"]), ("__@ann__", ["ann_", "ann"]), ("@ann.Thanks", ["ann"]),
            ("@ann.lee.Thanks", ["ann.lee", "ann"]), ("@ann_.Thanks_", ["ann_.thanks", "ann_", "ann"]),
            ("@ann...and", ["ann"]), ("@ann-.and", []), ("@.ann_", [".ann"]), ("@_", []),
            ("@a.b.c.d.e.f.g", ["a.b.c", "a.b", "a"]),
        ] as [(String, [String])])
    func `a name may be for a shorter one, where nobody has it`(text: String, names: [String]) {
        let mentions = MentionParser(text)
        #expect(mentions.usernames.count == 1)
        #expect(mentions.usernames.first.map { mentions.shorterNames[$0] ?? [] } == names)
    }

    @Test(
        arguments: [
            Row("`@ann`"), Row("`@ann` @ben", "ben"), Row("``@ann``"), Row("`` ` @ann ``"), Row("`a` @ann `b`", "ann"),
            Row("```\n@ann\n```"), Row("```swift\n@main\nstruct A {}\n```\n@ben", "ben"),
            Row("```\n``@ann`` `@ben`\n```"),
            // Backticks that nothing ends are only backticks.
            Row("`@ann", "ann"), Row("``@ann`", "ann"), Row("`@ann``", "ann"), Row("it's ` @ann", "ann"),
            Row("` @ann `` @ben `"), Row("``` @ann `` @ben `", "ann", "ben"),
        ])
    func `code names nobody`(row: Row) {
        #expect(MentionParser(row.text).usernames == row.usernames)
    }

    @Test(
        arguments: [
            ("@channel", true, false), ("@everyone", true, false), ("@all", true, false), ("@here", false, true),
            ("@Channel and @HERE.", true, true), ("@channels @hereby @allen @all.x", false, false),
            ("_@channel_ __@here__", true, true), ("@channel_ @here_", false, false), ("now!_@all_", true, false),
            ("`@channel` `@here`", false, false), ("me@here", false, false), ("channel here", false, false),
        ])
    func `it finds who means everybody`(text: String, isChannel: Bool, isHere: Bool) {
        let mentions = MentionParser(text)
        #expect((mentions.isChannel, mentions.isHere) == (isChannel, isHere))
        #expect(mentions.usernames.allSatisfy { !["channel", "everyone", "all", "here"].contains($0) })
    }

    @Test func `it reads a hundred names and no more`() {
        let text = (0..<300).map { "@u\($0)" }.joined(separator: " ") + " @here"
        let mentions = MentionParser(text)
        #expect(mentions.usernames == (0..<100).map { "u\($0)" })
        #expect(mentions.isHere)
    }

    @Test(arguments: [
        "ann", "an", "a.b", "a-b", "a_b", "ann_", "9a", "ann.", "ann-", String(repeating: "x", count: 32),
    ])
    func `whoever may have a name can be named`(name: String) throws {
        guard let taken = try? Texts.username(name, Limits()) else { return }
        #expect(MentionParser("Ask @\(taken), please").usernames == [taken])
    }

    @Test func `a long text of backticks of all lengths is read in no time`() {
        let text = (1...150).map { String(repeating: "`", count: $0) }.joined(separator: " ") + " @ann"
        #expect(MentionParser(text).usernames == ["ann"])
    }
}
