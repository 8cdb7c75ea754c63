/// The low 24 bits of the time a packet left, 6 bits of seconds and 18 of fraction: wraps every 64 seconds.
public struct AbsoluteSendTime: Sendable, Hashable {
    public var value: UInt32

    public init(value: UInt32) { self.value = value & 0xff_ffff }

    /// NTP's fraction has 32 bits, this one 18: the difference is shifted out.
    public init(_ time: NTPTimestamp) {
        self.init(value: UInt32(truncatingIfNeeded: time.value >> 14))
    }

    /// Bytes of data in the extension.
    public static let size = 3
}

/// The level of the sound in a packet (RFC 6464 §3).
public struct AudioLevel: Sendable, Hashable {
    /// The sender believes that there is speech.
    public var isVoice: Bool
    /// In -dBov: 0 is the loudest, 127 silence.
    public var level: UInt8

    public init(isVoice: Bool, level: UInt8) {
        self.isVoice = isVoice
        self.level = min(level, 127)
    }

    /// The extension's byte.
    public var byte: UInt8 { (isVoice ? 0x80 : 0) | level }

    public init(byte: UInt8) { self.init(isVoice: byte & 0x80 != 0, level: byte & 0x7f) }
}

extension RTPHeader {
    /// The text of an SDES extension such as MID (RFC 7941 §4.1); nil when absent, empty or not ASCII.
    public func text(_ id: UInt8?, in packet: RawSpan) -> String? {
        guard let range = extensionElement(id, in: packet), !range.isEmpty else { return nil }
        var text = ""
        for offset in range {
            guard let byte = packet.byte(at: offset), (0x21...0x7e).contains(byte) else { return nil }
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return text
    }

    /// The transport-wide sequence number; nil when absent.
    public func transportSequence(_ id: UInt8?, in packet: RawSpan) -> UInt16? {
        guard let range = extensionElement(id, in: packet), range.count >= 2 else { return nil }
        return packet.uint16(at: range.lowerBound)
    }

    /// When the packet left; nil when absent.
    public func absoluteSendTime(_ id: UInt8?, in packet: RawSpan) -> AbsoluteSendTime? {
        guard let range = extensionElement(id, in: packet), range.count == AbsoluteSendTime.size else { return nil }
        var reader = ByteReader(packet.extracting(range))
        return reader.readUInt24().map(AbsoluteSendTime.init(value:))
    }

    /// The level of the sound; nil when absent.
    public func audioLevel(_ id: UInt8?, in packet: RawSpan) -> AudioLevel? {
        guard let range = extensionElement(id, in: packet), range.count >= 1 else { return nil }
        return packet.byte(at: range.lowerBound).map(AudioLevel.init(byte:))
    }
}
