internal import LiveKitProtocol

/// Makes the content of a stream from its chunks: decompresses it, compares its length with what was announced, and
/// cuts text between characters.
package struct StreamDecoder {
    /// How many bytes are decompressed at a time.
    private static let pieceLength = 64 << 10

    private let totalLength: Int?
    private let isText: Bool
    /// For compressed content; nil otherwise.
    private let inflater: Inflater?
    /// Content that was fed and not taken, where it is not compressed.
    private var waiting: [UInt8] = []
    /// The first bytes of a character whose last ones have not come.
    private var unfinished: [UInt8] = []
    /// How many bytes have come out so far, after decompression.
    private var length = 0

    /// - Throws: `undecodable` when there is no memory to decompress it.
    package init(totalLength: Int?, isPacked: Bool, isText: Bool) throws(StreamError) {
        self.totalLength = totalLength
        self.isText = isText
        guard isPacked else {
            inflater = nil
            return
        }
        guard let inflater = Inflater() else { throw .undecodable }
        self.inflater = inflater
    }

    package mutating func feed(_ chunk: [UInt8]) {
        if let inflater { inflater.feed(chunk) } else { waiting += chunk }
    }

    /// The next piece of content; nil until more is fed. A piece of text has whole characters.
    package mutating func next() throws(StreamError) -> [UInt8]? {
        while true {
            let piece = try nextBytes()
            guard !piece.isEmpty else { return nil }
            length += piece.count
            // LiveKit's SDKs announce 0 for a length that is not known.
            if let totalLength, totalLength > 0, length > totalLength { throw .lengthExceeded }
            guard isText else { return piece }
            let text = try wholeCharacters(piece)
            if !text.isEmpty { return text }
        }
    }

    /// The stream has ended, and everything was taken.
    ///
    /// - Throws: `incomplete` when something is missing.
    package func finish() throws(StreamError) {
        guard inflater?.isAtEnd ?? true, unfinished.isEmpty else { throw .incomplete }
        if let totalLength, length < totalLength { throw .incomplete }
    }

    private mutating func nextBytes() throws(StreamError) -> [UInt8] {
        guard let inflater else {
            defer { waiting = [] }
            return waiting
        }
        do throws(Inflater.Damaged) {
            return try inflater.next(atMost: Self.pieceLength)
        } catch {
            throw .undecodable
        }
    }

    private mutating func wholeCharacters(_ piece: [UInt8]) throws(StreamError) -> [UInt8] {
        let bytes = unfinished + piece
        let end = bytes.count - Self.unfinishedLength(bytes[...])
        unfinished = Array(bytes[end...])
        guard String(validating: bytes[..<end], as: UTF8.self) != nil else { throw .undecodable }
        return end == bytes.count ? bytes : Array(bytes[..<end])
    }

    /// How many bytes at the end begin a character without ending it (RFC 3629 §4).
    static func unfinishedLength(_ bytes: ArraySlice<UInt8>) -> Int {
        for (back, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0b1100_0000 != 0b1000_0000 {
            let needed =
                switch byte {
                case 0xc2...0xdf: 2
                case 0xe0...0xef: 3
                case 0xf0...0xf4: 4
                default: 1
                }
            return back + 1 < needed ? back + 1 : 0
        }
        return 0
    }
}
