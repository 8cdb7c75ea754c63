/// A named telephone event (RFC 4733 §2.3): as a rule a key of a telephone.
public struct TelephoneEvent: Sendable, Hashable {
    /// Bytes of a payload.
    public static let size = 4
    /// The longest that one packet can say, in ticks (RFC 4733 §2.3.5); longer ones go in segments (§2.5.1.3).
    public static let maximumDuration: UInt16 = 0xffff

    /// 0 to 15 are the keys (RFC 4733 §3.2).
    public var code: UInt8
    /// E: the event is over.
    public var isEnd: Bool
    /// In -dBm0: 0 is the loudest, 63 the softest.
    public var volume: UInt8
    /// Since the event (or its segment) began, in ticks of the RTP clock.
    public var duration: UInt16

    public init(code: UInt8, isEnd: Bool = false, volume: UInt8 = 10, duration: UInt16) {
        self.code = code
        self.isEnd = isEnd
        self.volume = min(volume, 63)
        self.duration = duration
    }

    /// Nil when the payload is cut off. RFC 4733 §2.3 lets more events follow in a payload only for other encodings;
    /// the first counts.
    public init?(_ payload: RawSpan) {
        guard let code = payload.byte(at: 0), let flags = payload.byte(at: 1), let duration = payload.uint16(at: 2)
        else { return nil }
        // The second bit is reserved and ignored (§2.3.3).
        self.init(code: code, isEnd: flags & 0x80 != 0, volume: flags & 0x3f, duration: duration)
    }

    /// Appends the payload.
    public func write(into payload: inout [UInt8]) {
        payload.append(code)
        payload.append((isEnd ? 0x80 : 0) | volume)
        payload.append(uint16: duration)
    }

    /// The event of a key: digits, `*`, `#` and `A` to `D`, of either case; nil for other characters.
    public static func code(ofKey key: Character) -> UInt8? {
        let upper = key.uppercased()
        guard let index = keys.firstIndex(where: { String($0) == upper }) else { return nil }
        return UInt8(keys.distance(from: keys.startIndex, to: index))
    }

    /// The key of an event; nil for events that are none.
    public static func key(ofCode code: UInt8) -> Character? {
        guard code < 16 else { return nil }
        return keys[keys.index(keys.startIndex, offsetBy: Int(code))]
    }

    private static let keys = "0123456789*#ABCD"
}
