/// Reading numbers and fields byte by byte: `Character` would glue a combining mark to the separator before it.
///
/// What looks at each byte is for `Substring` alone and has the bytes in one piece. A description has some thousand
/// fields, and a view's generic accessors cost more than what is done with a byte.
extension FixedWidthInteger {
    /// Decimal digits alone; the standard parser would take a sign too.
    @inline(__always) init?(sdpDigits text: some StringProtocol) {
        guard let number = Substring(text).sdpNumber, let value = Self(exactly: number) else { return nil }
        self = value
    }
}

extension Substring {
    /// The bytes, where they lie.
    @inline(__always) fileprivate func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        // Only strings of Foundation's on Apple's systems lie elsewhere.
        utf8.withContiguousStorageIfAvailable(body) ?? Array(utf8).withUnsafeBufferPointer(body)
    }

    fileprivate var sdpNumber: UInt64? {
        withBytes { bytes in
            guard !bytes.isEmpty else { return nil }
            var number: UInt64 = 0
            for byte in bytes {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                let (tens, hasOverflown) = number.multipliedReportingOverflow(by: 10)
                guard !hasOverflown else { return nil }
                let (sum, isTooMuch) = tens.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
                guard !isTooMuch else { return nil }
                number = sum
            }
            return number
        }
    }

    /// What two hexadecimal digits say, and nothing else.
    var sdpHexByte: UInt8? {
        withBytes { bytes in
            guard bytes.count == 2, let high = Self.digit(bytes[0]), let low = Self.digit(bytes[1]) else { return nil }
            return high << 4 | low
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    fileprivate func parts(between separator: UInt8, keepsEmpty: Bool) -> [Substring] {
        let places = withBytes { bytes in
            var places: [Range<Int>] = []
            var start = 0
            for (place, byte) in bytes.enumerated() where byte == separator {
                if place > start || keepsEmpty { places.append(start..<place) }
                start = place + 1
            }
            if bytes.count > start || keepsEmpty { places.append(start..<bytes.count) }
            return places
        }
        return places.map { utf8.part($0) }
    }

    fileprivate func place(of byte: UInt8) -> Int? { withBytes { $0.firstIndex(of: byte) } }

    fileprivate func allBytes(_ isGood: (UInt8) -> Bool) -> Bool { withBytes { $0.allSatisfy(isGood) } }

    /// RFC 8866 §9, `byte-string`: NUL, CR and LF are in no line.
    var isSDPByteString: Bool { allBytes { $0 != 0 && $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") } }

    fileprivate var hasTokenCharactersAlone: Bool {
        allBytes { byte in
            switch byte {
            case 0x21, 0x23...0x27, 0x2a...0x2b, 0x2d...0x2e, 0x30...0x39, 0x41...0x5a, 0x5e...0x7e: true
            default: false
            }
        }
    }
}

extension ArraySlice<Substring> {
    /// The fields with one space between them. Nearly always there is one.
    var sdpText: String { count == 1 ? String(self[startIndex]) : joined(separator: " ") }
}

extension Substring.UTF8View {
    fileprivate func part(_ places: Range<Int>) -> Substring {
        let start = index(startIndex, offsetBy: places.lowerBound)
        return Substring(self[start..<index(start, offsetBy: places.count)])
    }
}

extension StringProtocol {
    /// The lines, without their ends: CR LF (RFC 8866 §5) or LF alone. White space and control characters behind the
    /// last one, which browsers accept, are left out.
    package var sdpLines: [Substring] {
        var text = Substring(self).utf8
        while let last = text.last, last <= 0x20 { text = text.dropLast() }
        guard !text.isEmpty else { return [] }
        return Substring(text).parts(between: UInt8(ascii: "\n"), keepsEmpty: true).map { line in
            line.utf8.last == UInt8(ascii: "\r") ? Substring(line.utf8.dropLast()) : line
        }
    }

    /// Whether all of it is seen: no space, no control character, ASCII alone.
    var isSDPVisible: Bool { Substring(self).allBytes { (0x21...0x7e).contains($0) } }

    /// The parts between single or repeated spaces.
    var sdpFields: [Substring] { sdpParts(" ") }

    /// The parts between separators; empty ones are left out.
    func sdpParts(_ separator: Unicode.Scalar) -> [Substring] {
        Substring(self).parts(between: UInt8(ascii: separator), keepsEmpty: false)
    }

    /// What is before and after the first separator; nil without one.
    package func sdpCut(_ separator: Unicode.Scalar) -> (head: Substring, tail: Substring)? {
        let text = Substring(self)
        guard let place = text.place(of: UInt8(ascii: separator)) else { return nil }
        return (text.utf8.part(0..<place), text.utf8.part(place + 1..<text.utf8.count))
    }

    /// RFC 8866 §9, `token-char`.
    package var isSDPToken: Bool { !isEmpty && Substring(self).hasTokenCharactersAlone }
}
