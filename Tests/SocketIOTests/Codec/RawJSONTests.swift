import Testing

@testable import SocketIO

struct RawJSONTests {
    @Test(arguments: [
        "null", "true", "-0", "1.50", "1E+9", "12345678901234567890", #""""#, #""ї😀\ud83d\u0000\/""#, "[]", "{}",
        #"{"b":1,"a":[{"x":null}],"b":2}"#, "[1 ,\t2]",
    ])
    func `keeps text byte for byte`(text: String) {
        #expect(RawJSON(text)?.text == text)
        #expect(RawJSON(" \n" + text + "\r")?.text == text)
    }

    @Test(arguments: [
        "", " ", "01", "+1", ".5", "1.", "1e", "tru", "truex", "\"", #""\x""#, #""\u12g4""#, "\"\u{1}\"", "[1,]",
        "[,1]", #"{"a"}"#, "{a:1}", #"{"a":1,}"#, "1 2", "[1", "NaN", "'a'",
    ])
    func `refuses what is no JSON`(text: String) {
        #expect(RawJSON(text) == nil)
    }

    @Test(
        arguments: [
            [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82], [0x80], [0xf4, 0x90, 0x80, 0x80],
        ] as [[UInt8]])
    func `refuses strings that are not UTF-8`(bytes: [UInt8]) {
        #expect(RawJSON([0x22] + bytes + [0x22]) == nil)
    }

    @Test func `refuses nesting that would overrun a parser`() {
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(RawJSON(deep) == nil)
        let fine = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        #expect(RawJSON(fine) != nil)
    }

    @Test func `shows strings, numbers, members and elements`() throws {
        let json = try #require(RawJSON(#"{"s":"a\n\"\u0457\ud83d\ude00","n":1.0,"i":-7,"a":[1,[2]],"i":8,"t":true}"#))
        #expect(json["s"]?.string == "a\n\"ї😀")
        #expect(json["n"]?.double == 1 && json["n"]?.int == nil)
        #expect(json["i"]?.int == 8)
        #expect(json["a"]?.elements?.map(\.text) == ["1", "[2]"])
        #expect(json["t"]?.bool == true)
        #expect(json["missing"] == nil && json["s"]?["x"] == nil)
    }

    @Test func `writes strings with their escapes`() {
        #expect(RawJSON(string: "\"\\\n\u{1}ї").text == #""\"\\\n\u0001ї""#)
    }

    @Test func `is read and written as Codable`() throws {
        struct Point: Codable, Equatable { var x: Int }
        #expect(try RawJSON(encoding: Point(x: 1)).text == #"{"x":1}"#)
        #expect(try #require(RawJSON(#"{"x":1,"y":2}"#)).decode(Point.self) == Point(x: 1))
    }
}
