import RedisClient

/// Random numbers that are the same in every run (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

extension RedisValue {
    static func random(depth: Int, using random: inout SplitMix) -> RedisValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: .simple(text(using: &random))
        case 1: .error("ERR " + text(using: &random))
        case 2: .integer(Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0...63, using: &random))
        case 3: .null
        case 4, 5:
            .bulk((0..<Int.random(in: 0...300, using: &random)).map { _ in .random(in: 0...255, using: &random) })
        default:
            .array((0..<Int.random(in: 0...6, using: &random)).map { _ in .random(depth: depth - 1, using: &random) })
        }
    }

    private static func text(using random: inout SplitMix) -> String {
        String(
            (0..<Int.random(in: 0...20, using: &random)).map { _ in
                "abc äß☃🎈0\t"["abc äß☃🎈0\t".indices.randomElement(using: &random) ?? "".startIndex]
            })
    }

    /// As a server writes it.
    func encode(to bytes: inout [UInt8]) {
        switch self {
        case .simple(let text): bytes += Array("+\(text)\r\n".utf8)
        case .error(let text): bytes += Array("-\(text)\r\n".utf8)
        case .integer(let number): bytes += Array(":\(number)\r\n".utf8)
        case .null: bytes += Array("$-1\r\n".utf8)
        case .bulk(let content): bytes += Array("$\(content.count)\r\n".utf8) + content + Array("\r\n".utf8)
        case .array(let elements):
            bytes += Array("*\(elements.count)\r\n".utf8)
            for element in elements { element.encode(to: &bytes) }
        }
    }
}
