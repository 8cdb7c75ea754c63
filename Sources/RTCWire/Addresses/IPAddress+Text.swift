extension IPAddress: CustomStringConvertible {
    /// Parses dotted IPv4 (RFC 6943 §3.1.1, strict: four decimal numbers without leading zeros) or IPv6
    /// (RFC 4291 §2.2); nil for anything else, a host name among it.
    public init?(_ text: some StringProtocol) {
        if text.utf8.contains(UInt8(ascii: ":")) {
            guard let value = Self.parseIPv6(text) else { return nil }
            self = value
        } else {
            guard let value = Self.parseIPv4(text) else { return nil }
            self = .v4(value)
        }
    }

    private static func parseIPv4(_ text: some StringProtocol) -> UInt32? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0") else { return nil }
            var number: UInt32 = 0
            for digit in part {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
                number = number * 10 + UInt32(digit - UInt8(ascii: "0"))
            }
            guard number < 256 else { return nil }
            value = value << 8 | number
        }
        return value
    }

    private static func parseIPv6(_ text: some StringProtocol) -> IPAddress? {
        guard text.utf8.count <= 45 else { return nil }
        let halves = String(text).components(separatedByDoubleColon: ())
        guard halves.count <= 2 else { return nil }
        guard let head = groups(halves[0]) else { return nil }
        var words = head
        if halves.count == 2 {
            guard let tail = groups(halves[1]), head.count + tail.count < 8 else { return nil }
            words += [UInt16](repeating: 0, count: 8 - head.count - tail.count) + tail
        }
        guard words.count == 8 else { return nil }
        let high = words[0..<4].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
        let low = words[4..<8].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
        return .v6(high, low)
    }

    /// The 16-bit groups of one side of `::`; an IPv4 tail counts as two.
    private static func groups(_ text: Substring) -> [UInt16]? {
        guard !text.isEmpty else { return [] }
        var words: [UInt16] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if index == parts.count - 1, part.contains(".") {
                guard let tail = parseIPv4(part) else { return nil }
                words += [UInt16(truncatingIfNeeded: tail >> 16), UInt16(truncatingIfNeeded: tail)]
            } else {
                guard (1...4).contains(part.utf8.count), part.first != "+", let word = UInt16(part, radix: 16) else {
                    return nil
                }
                words.append(word)
            }
        }
        return words
    }

    /// RFC 5952: lower case, the longest run of zero groups (two or more, the first of equals) as `::`.
    public var description: String {
        switch self {
        case .v4(let value):
            return "\(value >> 24).\(value >> 16 & 0xff).\(value >> 8 & 0xff).\(value & 0xff)"
        case .v6(let high, let low):
            let words = (0..<8).map { index in
                UInt16(truncatingIfNeeded: (index < 4 ? high : low) >> UInt64((3 - index % 4) * 16))
            }
            var best = 0..<0
            var start = 0
            while start < 8 {
                var end = start
                while end < 8, words[end] == 0 { end += 1 }
                if end - start > best.count, end - start >= 2 { best = start..<end }
                start = max(end, start + 1)
            }
            func text(_ slice: ArraySlice<UInt16>) -> String {
                slice.map { String($0, radix: 16) }.joined(separator: ":")
            }
            if best.isEmpty { return text(words[...]) }
            return text(words[..<best.lowerBound]) + "::" + text(words[best.upperBound...])
        }
    }
}

extension TransportAddress: CustomStringConvertible {
    public var description: String { ip.isIPv6 ? "[\(ip)]:\(port)" : "\(ip):\(port)" }
}

extension String {
    /// Splits at each `::`.
    fileprivate func components(separatedByDoubleColon: Void) -> [Substring] {
        var parts: [Substring] = []
        var start = startIndex
        var index = startIndex
        while index < endIndex {
            let next = self.index(after: index)
            if self[index] == ":", next < endIndex, self[next] == ":" {
                parts.append(self[start..<index])
                start = self.index(after: next)
                index = start
            } else {
                index = next
            }
        }
        parts.append(self[start...])
        return parts
    }
}
