internal import LiveKitProtocol

/// Makes the content of a stream of its chunks: unpacks it, counts it against what was announced, and cuts text between
/// characters.
package struct StreamDecoder {
    /// So much is unpacked at a time; bytes.
    private static let pieceLength = 64 << 10

    private let totalLength: Int?
    private let isText: Bool
    /// Of content that is packed.
    private let inflater: Inflater?
    /// Of content that is not.
    private var waiting: [UInt8] = []
    /// The beginning of a character whose end has not come.
    private var unfinished: [UInt8] = []
    /// Bytes of content, unpacked.
    private var length = 0

    /// - Throws: `undecodable` when there is no memory to unpack it.
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

    /// The next piece; nil when more has to come. Of text it is whole characters.
    package mutating func next() throws(StreamError) -> [UInt8]? {
        while true {
            let piece = try nextBytes()
            guard !piece.isEmpty else { return nil }
            length += piece.count
            // 0 stands for a length that is not known, as in LiveKit's SDKs.
            if let totalLength, totalLength > 0, length > totalLength { throw .lengthExceeded }
            guard isText else { return piece }
            let text = try wholeCharacters(piece)
            if !text.isEmpty { return text }
        }
    }

    /// No more comes, and all that came has been taken.
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
