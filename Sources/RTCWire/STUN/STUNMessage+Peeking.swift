/// What a server that many peers share one socket of has to see of a message before it knows whose it is.
extension STUNMessage {
    /// Whether a datagram is a binding request (RFC 8489 §5), by its first bytes.
    public static func isBindingRequest(_ datagram: RawSpan) -> Bool {
        datagram.byte(at: 0) == 0 && datagram.byte(at: 1) == 1 && looksLikeSTUN(datagram)
    }

    /// What a connectivity check's user name has before its colon: the receiver's fragment (RFC 8445 §7.2.2). Nothing
    /// else is looked at; whoever it is for parses the rest.
    public static func receiverFragment(ofCheck datagram: RawSpan) -> String? {
        var offset = headerSize
        while let type = datagram.uint16(at: offset), let length = datagram.uint16(at: offset + 2) {
            let value = offset + 4
            guard value + Int(length) <= datagram.byteCount else { return nil }
            if type == STUNAttributeType.username {
                return datagram.extracting(value..<value + Int(length)).withUnsafeBytes { name in
                    let fragment = name.prefix { $0 != UInt8(ascii: ":") }
                    // RFC 8445 §5.3: at most 256 characters.
                    guard fragment.count < name.count, fragment.count <= 256 else { return nil }
                    return String(decoding: fragment, as: UTF8.self)
                }
            }
            offset = value + (Int(length) + 3) / 4 * 4
        }
        return nil
    }

    /// Whether a datagram is a success response to a binding request, by its first bytes. Only who has shown the
    /// credential is sent one (RFC 8489 §9.1.3).
    public static func isBindingSuccess(_ datagram: [UInt8]) -> Bool {
        datagram.count >= headerSize && datagram[0] == 1 && datagram[1] == 1
    }
}
