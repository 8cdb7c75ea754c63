import RedisClient
import Testing

struct RedisDecoderTests {
    /// What comes of `text` in pieces of so many bytes.
    private func decode(
        _ bytes: [UInt8], pieces: Int, limits: RedisDecoder.Limits = .init()
    ) throws(RedisFault) -> [RedisValue] {
        var decoder = RedisDecoder(limits: limits)
        var values: [RedisValue] = []
        var start = 0
        while start < bytes.count {
            let end = min(start + pieces, bytes.count)
            let piece = Array(bytes[start..<end])
            try decoder.receive(piece.span.bytes) { values.append($0) }
            start = end
        }
        return values
    }

    private func decode(_ text: String, limits: RedisDecoder.Limits = .init()) throws(RedisFault) -> [RedisValue] {
        try decode(Array(text.utf8), pieces: max(1, text.utf8.count), limits: limits)
    }

    private static func bulk(_ text: String) -> RedisValue { .bulk(Array(text.utf8)) }

    @Test(arguments: [
        ("+OK\r\n", [RedisValue.simple("OK")]),
        ("+\r\n", [.simple("")]),
        ("-ERR unknown command 'asdf'\r\n", [.error("ERR unknown command 'asdf'")]),
        (":0\r\n:+7\r\n:-1\r\n", [.integer(0), .integer(7), .integer(-1)]),
        (":9223372036854775807\r\n:-9223372036854775808\r\n", [.integer(.max), .integer(.min)]),
        ("$5\r\nhello\r\n", [bulk("hello")]),
        ("$0\r\n\r\n", [.bulk([])]),
        ("$4\r\n\r\n\r\n\r\n", [bulk("\r\n\r\n")]),
        ("$-1\r\n*-1\r\n", [.null, .null]),
        ("*0\r\n", [.array([])]),
        ("*2\r\n$5\r\nhello\r\n$5\r\nworld\r\n", [.array([bulk("hello"), bulk("world")])]),
        (
            "*2\r\n*3\r\n:1\r\n:2\r\n:3\r\n*2\r\n+Hello\r\n-World\r\n",
            [.array([.array([.integer(1), .integer(2), .integer(3)]), .array([.simple("Hello"), .error("World")])])]
        ),
        ("*3\r\n$5\r\nhello\r\n$-1\r\n*0\r\n", [.array([bulk("hello"), .null, .array([])])]),
    ])
    func `reads the specification's examples, wherever they are cut`(text: String, expected: [RedisValue]) throws {
        let bytes = Array(text.utf8)
        for pieces in 1...bytes.count { #expect(try decode(bytes, pieces: pieces) == expected) }
        for cut in 0...bytes.count {
            var decoder = RedisDecoder()
            var values: [RedisValue] = []
            for piece in [Array(bytes[..<cut]), Array(bytes[cut...])] {
                try decoder.receive(piece.span.bytes) { values.append($0) }
            }
            #expect(values == expected)
        }
    }

    @Test func `random values come back as they went, in random pieces`() throws {
        var random = SplitMix(state: 7)
        for _ in 0..<500 {
            let values = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                RedisValue.random(depth: 4, using: &random)
            }
            let bytes = values.reduce(into: []) { $1.encode(to: &$0) }
            let pieces = Int.random(in: 1...40, using: &random)
            #expect(try decode(bytes, pieces: pieces) == values)
        }
    }

    @Test(arguments: [
        "OK\r\n", "_\r\n", "#t\r\n", "%1\r\n+a\r\n+b\r\n", ">1\r\n+a\r\n", "\r\n", "+a\rb\r\n", "+a\nb\r\n", ":\r\n",
        ":-\r\n", ": 1\r\n", ":1x\r\n", ":9223372036854775808\r\n", ":-9223372036854775809\r\n",
        ":99999999999999999999\r\n", "$-2\r\n", "$x\r\n", "$1\r\nab\r\n", "$1\r\na\n", "$2\r\na\r\n\r\n", "*-2\r\n",
        "*1\r\n?\r\n", "*1\r\n+a\rb",
    ])
    func `refuses what RESP2 does not have, and reads nothing more`(text: String) {
        var decoder = RedisDecoder()
        var values: [RedisValue] = []
        #expect {
            try decoder.receive(Array(text.utf8).span.bytes) { values.append($0) }
        } throws: { error in
            guard case RedisFault.badReply = error else { return false }
            return true
        }
        #expect(throws: Never.self) { try decoder.receive(Array("+OK\r\n".utf8).span.bytes) { values.append($0) } }
        #expect(values.isEmpty)
    }

    private static let small: RedisDecoder.Limits = {
        var limits = RedisDecoder.Limits()
        (limits.line, limits.content, limits.elements, limits.depth) = (10, 20, 4, 2)
        return limits
    }()

    @Test(arguments: [
        "+0123456789\r\n", "$20\r\n01234567890123456789\r\n", "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "*1\r\n*1\r\n:1\r\n",
        "*2\r\n$10\r\n0123456789\r\n+0123456789\r\n", "*1\r\n*3\r\n:1\r\n:2\r\n:3\r\n",
        // Each reply counts for itself.
        "$20\r\n01234567890123456789\r\n$20\r\n01234567890123456789\r\n", "*3\r\n:1\r\n:2\r\n:3\r\n*2\r\n:1\r\n:2\r\n",
    ])
    func `takes what is just within the limits`(text: String) throws {
        #expect(try !decode(text, limits: Self.small).isEmpty)
    }

    @Test(arguments: [
        "+0123456789a", "$21\r\n", "*5\r\n", "*1\r\n*1\r\n*1\r\n", "*2\r\n$10\r\n0123456789\r\n$11\r\n",
        "*3\r\n+0123456789\r\n+0123456789\r\n+a\r\n", "*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n",
    ])
    func `refuses what goes beyond them, as soon as it is announced`(text: String) {
        #expect {
            try decode(text, limits: Self.small)
        } throws: { error in
            guard case RedisFault.badReply = error else { return false }
            return true
        }
    }

    @Test(arguments: [
        "$67108865\r\n", "*1000001\r\n", String(repeating: "*1\r\n", count: 9),
        "+" + String(repeating: "a", count: 65_537),
    ])
    func `the limits are those that the documents name`(text: String) {
        #expect(throws: RedisFault.self) { try decode(text) }
    }

    @Test func `a large value in small pieces costs as much as in one`() throws {
        let content = [UInt8](repeating: 42, count: 4_000_000)
        var bytes: [UInt8] = []
        RedisValue.array([.bulk(content), .bulk(content)]).encode(to: &bytes)
        let clock = ContinuousClock()
        let start = clock.now
        #expect(try decode(bytes, pieces: 100) == [.array([.bulk(content), .bulk(content)])])
        let duration = clock.now - start
        // Quadratic, it would be 80,000 pieces times megabytes: minutes.
        #expect(duration < .seconds(10))
    }

    @Test func `what is announced costs no memory`() throws {
        // A million of these would be 64 GiB.
        for text in ["*1000000\r\n", "$67108864\r\n"] {
            for _ in 0..<1_000 { #expect(try decode(text).isEmpty) }
        }
    }

    @Test func `writes commands as the specification does`() {
        var bytes: [UInt8] = []
        RedisEncoder.append(["LLEN", "mylist"], to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "*2\r\n$4\r\nLLEN\r\n$6\r\nmylist\r\n")
        bytes = []
        RedisEncoder.append(["PUBLISH", "ä\r\n"], payload: [0, 255, 13, 10], to: &bytes)
        #expect(bytes == Array("*3\r\n$7\r\nPUBLISH\r\n$4\r\nä\r\n\r\n$4\r\n".utf8) + [0, 255, 13, 10, 13, 10])
        #expect((try? decode(bytes, pieces: 3))?.count == 1)
    }
}
