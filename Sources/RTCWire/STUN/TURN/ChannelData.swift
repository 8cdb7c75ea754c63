/// The four bytes before data on a channel (RFC 8656 §12.4).
public struct ChannelDataHeader: Hashable, Sendable {
    /// Within `acceptedNumbers`.
    public var number: UInt16
    /// Bytes of data, without padding.
    public var length: UInt16

    public static let size = 4
    /// RFC 8656 §12: the numbers that a client binds.
    public static let numbers: ClosedRange<UInt16> = 0x4000...0x4fff
    /// RFC 5766 §11: the numbers that clients older than RFC 8656 bind, coturn's among them. Nothing else on a line to
    /// a TURN server begins like these.
    public static let acceptedNumbers: ClosedRange<UInt16> = 0x4000...0x7fff

    public init(number: UInt16, length: UInt16) {
        self.number = number
        self.length = length
    }

    /// Nil when the bytes do not begin with a channel's number. Whether the data is all there is another question.
    public init?(_ bytes: RawSpan) {
        guard let number = bytes.uint16(at: 0), Self.acceptedNumbers.contains(number), let length = bytes.uint16(at: 2)
        else {
            return nil
        }
        self.init(number: number, length: length)
    }

    /// The header's bytes, first one highest.
    public var word: UInt32 { UInt32(number) << 16 | UInt32(length) }

    /// What `length` bytes of data measure on a stream: there they are padded to a multiple of four (§12.5).
    public var paddedSize: Int { Self.size + (Int(length) + 3) & ~3 }
}
