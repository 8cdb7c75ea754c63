/// Reads the replies of a Redis server from the bytes of a connection, however they are cut (RESP2; sections are those
/// of redis.io, "Redis serialization protocol specification"). Every byte is looked at once.
///
/// What a reply announces costs no memory: only what has come is held, and never more than `Limits` say.
package struct RedisDecoder: Sendable {
    package struct Limits: Sendable {
        /// Bytes of a line: of a simple string, an error, a number.
        package var line = 65_536
        /// Bytes of all strings of a reply together. Redis itself takes 512 MiB in one.
        package var content = 64 << 20
        /// Elements of all arrays of a reply together.
        package var elements = 1_000_000
        /// Arrays within each other.
        package var depth = 8

        package init() {}
    }

    private enum Step {
        case kind
        case line(UInt8)
        /// CR of the line has come.
        case lineFeed(UInt8)
        case bulk(missing: Int)
        case bulkReturn
        case bulkLineFeed
        /// A fault came: the rest is nobody's business.
        case over
    }

    /// An array whose elements are still coming.
    private struct OpenArray {
        var elements: [RedisValue] = []
        var missing: Int
    }

    private let limits: Limits
    private var step = Step.kind
    private var line: [UInt8] = []
    private var bulk: [UInt8] = []
    private var open: [OpenArray] = []
    /// What the reply that is being read has announced.
    private var content = 0
    private var elements = 0

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// Takes the next bytes and hands over each reply that they complete. After a fault nothing more is read.
    ///
    /// - Throws: `RedisFault.badReply`.
    package mutating func receive(_ bytes: RawSpan, _ deliver: (RedisValue) -> Void) throws(RedisFault) {
        do throws(RedisFault) {
            try read(bytes, deliver)
        } catch {
            (step, line, bulk, open) = (.over, [], [], [])
            throw error
        }
    }

    private mutating func read(_ bytes: RawSpan, _ deliver: (RedisValue) -> Void) throws(RedisFault) {
        var position = 0
        while position < bytes.byteCount {
            switch step {
            case .bulk(let missing):
                let count = min(bytes.byteCount - position, missing)
                bytes.extracting(position..<position + count).withUnsafeBytes { bulk.append(contentsOf: $0) }
                position += count
                step = count == missing ? .bulkReturn : .bulk(missing: missing - count)
                continue
            case .line(let kind):
                position = try readLine(bytes, from: position, kind)
                continue
            case .over: return
            case .kind, .lineFeed, .bulkReturn, .bulkLineFeed: break
            }
            let byte = bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self)
            position += 1
            switch step {
            case .kind: step = .line(byte)
            // "RESP protocol description": CRLF ends every part.
            case .lineFeed(let kind):
                guard byte == Self.lineFeed else { throw .badReply("a line ends without a line feed") }
                try lineEnded(kind, deliver)
            case .bulkReturn:
                guard byte == Self.carriageReturn else { throw .badReply("a bulk string is longer than announced") }
                step = .bulkLineFeed
            case .bulkLineFeed:
                guard byte == Self.lineFeed else { throw .badReply("a bulk string ends without a line feed") }
                let whole = bulk
                bulk = []
                completed(.bulk(whole), deliver)
            case .line, .bulk, .over: break
            }
        }
    }

    // MARK: Lines

    private static let carriageReturn = UInt8(ascii: "\r")
    private static let lineFeed = UInt8(ascii: "\n")

    /// Takes what there is of a line; returns where it went on to.
    private mutating func readLine(_ bytes: RawSpan, from start: Int, _ kind: UInt8) throws(RedisFault) -> Int {
        // "RESP protocol description": the first byte is the type. Those of RESP3 come only after HELLO 3.
        guard Self.kinds.contains(kind) else { throw .badReply("a type that RESP2 does not have") }
        var end = start
        // "Simple strings": no CR or LF within.
        scan: while end < bytes.byteCount {
            switch bytes.unsafeLoad(fromByteOffset: end, as: UInt8.self) {
            case Self.carriageReturn: break scan
            case Self.lineFeed: throw .badReply("a line feed without a carriage return")
            default: end += 1
            }
            guard line.count + end - start <= limits.line else { throw .badReply("a line is too long") }
        }
        bytes.extracting(start..<end).withUnsafeBytes { line.append(contentsOf: $0) }
        guard end < bytes.byteCount else { return end }
        step = .lineFeed(kind)
        return end + 1
    }

    private static let kinds = "+-:$*".utf8.map { $0 }

    private mutating func lineEnded(_ kind: UInt8, _ deliver: (RedisValue) -> Void) throws(RedisFault) {
        defer { line.removeAll(keepingCapacity: true) }
        switch kind {
        case UInt8(ascii: "+"): completed(.simple(try text()), deliver)
        case UInt8(ascii: "-"): completed(.error(try text()), deliver)
        case UInt8(ascii: ":"): completed(.integer(try number()), deliver)
        case UInt8(ascii: "$"): try bulkBegins(deliver)
        default: try arrayBegins(deliver)
        }
    }

    private mutating func text() throws(RedisFault) -> String {
        guard line.count <= limits.content - content else { throw .badReply("a reply is too large") }
        content += line.count
        return String(decoding: line, as: UTF8.self)
    }

    /// "Integers": an optional sign, decimal digits, of 64 bits.
    private func number() throws(RedisFault) -> Int64 {
        var digits = line[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative || digits.first == UInt8(ascii: "+") { digits = digits.dropFirst() }
        guard !digits.isEmpty else { throw .badReply("a number without digits") }
        var value: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { throw .badReply("no number") }
            // Downwards, for there is one more number below zero than above.
            let (tens, isTooMuch) = value.multipliedReportingOverflow(by: 10)
            let (sum, isTooMuchNow) = tens.subtractingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            guard !isTooMuch, !isTooMuchNow else { throw .badReply("a number of more than 64 bits") }
            value = sum
        }
        guard !isNegative else { return value }
        guard value != .min else { throw .badReply("a number of more than 64 bits") }
        return -value
    }

    /// A length of a bulk string or an array; nil for −1, "Null bulk strings" and "Null arrays".
    private func length(upTo limit: Int) throws(RedisFault) -> Int? {
        let length = try number()
        guard length != -1 else { return nil }
        guard length >= 0 else { throw .badReply("a length below zero") }
        guard length <= limit else { throw .badReply("a reply is too large") }
        return Int(length)
    }

    // MARK: Bulk strings and arrays

    /// "Bulk strings": the length in bytes, CRLF, the bytes, CRLF.
    private mutating func bulkBegins(_ deliver: (RedisValue) -> Void) throws(RedisFault) {
        guard let length = try length(upTo: limits.content - content) else { return completed(.null, deliver) }
        content += length
        bulk.reserveCapacity(min(length, 65_536))
        step = length == 0 ? .bulkReturn : .bulk(missing: length)
    }

    /// "Arrays": the number of elements, CRLF, the elements, each of any type.
    private mutating func arrayBegins(_ deliver: (RedisValue) -> Void) throws(RedisFault) {
        guard let count = try length(upTo: limits.elements - elements) else { return completed(.null, deliver) }
        guard open.count < limits.depth else { throw .badReply("too many arrays within each other") }
        guard count > 0 else { return completed(.array([]), deliver) }
        elements += count
        open.append(OpenArray(missing: count))
        step = .kind
    }

    /// A value is there as a whole, and with it perhaps the arrays around it.
    private mutating func completed(_ value: RedisValue, _ deliver: (RedisValue) -> Void) {
        step = .kind
        var value = value
        while let last = open.indices.last {
            open[last].elements.append(value)
            open[last].missing -= 1
            guard open[last].missing == 0 else { return }
            value = .array(open.removeLast().elements)
        }
        (content, elements) = (0, 0)
        deliver(value)
    }
}
