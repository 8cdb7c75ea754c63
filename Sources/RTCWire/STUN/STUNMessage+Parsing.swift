/// Why bytes are not a STUN message that may be acted on.
public enum STUNError: Error, Hashable, Sendable {
    /// Shorter than its header, or than the header's length says; or longer; or no multiple of four.
    case wrongLength
    /// The first two bits are not zero or the magic cookie is missing (RFC 8489 §5): another protocol.
    case notSTUN
    /// An attribute runs past the end, or its value has an impossible form.
    case malformedAttribute(type: UInt16)
    /// More attributes than `STUNMessage.maximumAttributes`.
    case tooManyAttributes
    /// FINGERPRINT is not the last attribute or does not match.
    case wrongFingerprint
}

extension STUNMessage {
    /// Whether a datagram could be STUN by its first bytes alone (RFC 8489 §5): cheap, for demultiplexing. Of the
    /// types that RFC 8489 allows only those are left that begin with 0 to 3, as RFC 7983 §7 shares out the bytes.
    public static func looksLikeSTUN(_ datagram: RawSpan) -> Bool {
        guard datagram.byteCount >= headerSize, let first = datagram.byte(at: 0) else { return false }
        return first < 4 && datagram.uint32(at: 4) == magicCookie
    }

    /// Parses one whole datagram. A FINGERPRINT, when there is one, must be right. Integrity is not checked here,
    /// since the key depends on the user name: see `isAuthentic(in:key:)`.
    ///
    /// - Parameter keepingMalformed: an attribute whose value has an impossible form is no error, but noted in
    ///   `malformedAttributes`, for whoever has to say what is wrong. One that runs past the end is an error all the
    ///   same, and so is integrity of an impossible length.
    public init(parsing datagram: RawSpan, keepingMalformed: Bool = false) throws(STUNError) {
        guard Self.looksLikeSTUN(datagram) else { throw .notSTUN }
        var reader = ByteReader(datagram)
        guard let type = reader.readUInt16(), let length = reader.readUInt16(), reader.skip(4),
            let high = reader.readUInt32(), let low = reader.readUInt64()
        else { throw .wrongLength }
        // RFC 8489 §5: the length counts what follows the header, and padding keeps it a multiple of four.
        guard length % 4 == 0, Int(length) == reader.remaining else { throw .wrongLength }

        self.init(
            Self.kind(ofType: type), Self.method(ofType: type),
            transactionID: STUNTransactionID(high: high, low: low))
        var count = 0
        while reader.remaining > 0 {
            let start = reader.offset
            count += 1
            guard count <= Self.maximumAttributes else { throw .tooManyAttributes }
            guard let type = reader.readUInt16(), let length = reader.readUInt16() else { throw .wrongLength }
            guard let value = reader.readSpan(Int(length)), reader.skip((4 - Int(length) % 4) % 4) else {
                throw .malformedAttribute(type: type)
            }
            switch type {
            case STUNAttributeType.fingerprint:
                // §14.7: the last attribute, over everything before it.
                guard reader.remaining == 0, value.byteCount == 4,
                    value.uint32(at: 0) == Self.fingerprint(datagram, start)
                else { throw .wrongFingerprint }
                hasFingerprint = true
            case STUNAttributeType.messageIntegrity:
                guard value.byteCount == SHA1.digestSize else { throw .malformedAttribute(type: type) }
                if integrityOffset == nil { integrityOffset = start }
            case STUNAttributeType.messageIntegritySHA256:
                // §14.6: it may be truncated to 16 bytes, by no more.
                guard (16...SHA256.digestSize).contains(value.byteCount), value.byteCount % 4 == 0 else {
                    throw .malformedAttribute(type: type)
                }
                if sha256Integrity == nil { sha256Integrity = start..<reader.offset }
            default:
                // §14.5, §14.6: what follows either integrity is unprotected; ignore it.
                guard integrityOffset == nil, sha256Integrity == nil else { continue }
                do throws(STUNError) {
                    attributes.append(try STUNAttribute(type: type, value: value, transactionID: transactionID))
                } catch {
                    guard keepingMalformed else { throw error }
                    malformedAttributes.append(type)
                }
            }
        }
    }

    /// Whether `datagram`, from which this message was parsed, carries the MESSAGE-INTEGRITY of `key`
    /// (RFC 8489 §14.5). Takes the same time wherever the codes differ.
    public func isAuthentic(in datagram: RawSpan, key: HMACSHA1) -> Bool {
        guard let offset = integrityOffset, offset + 4 + SHA1.digestSize <= datagram.byteCount else { return false }
        // The code was made when the message ended with MESSAGE-INTEGRITY, so the header's length must say so.
        var header: [UInt8] = []
        header.append(contentsOf: datagram.extracting(0..<4))
        header.set(uint16: UInt16(truncatingIfNeeded: offset + 4 + SHA1.digestSize - Self.headerSize), at: 2)
        let expected = key.authenticate(prefix: header.span.bytes, message: datagram.extracting(4..<offset))
        return constantTimeEqual(
            expected.span.bytes, datagram.extracting(offset + 4..<offset + 4 + SHA1.digestSize))
    }

    /// As above, with whichever of the two integrity attributes the key is for.
    public func isAuthentic(in datagram: RawSpan, key: STUNIntegrityKey) -> Bool {
        switch key {
        case .sha1(let key):
            return isAuthentic(in: datagram, key: key)
        case .sha256(let key):
            guard let place = sha256Integrity, place.upperBound <= datagram.byteCount else { return false }
            var message = datagram.extracting(0..<place.lowerBound).withUnsafeBytes { [UInt8]($0) }
            message.set(uint16: UInt16(truncatingIfNeeded: place.upperBound - Self.headerSize), at: 2)
            // §14.6: a server may truncate the code; how far, it chooses, but not below half.
            let expected = Array(key.authenticate(message).prefix(place.count - 4))
            return constantTimeEqual(
                expected.span.bytes, datagram.extracting(place.lowerBound + 4..<place.upperBound))
        }
    }

    /// RFC 8489 §14.7: CRC-32 of what precedes the attribute, XORed with "STUN".
    static func fingerprint(_ datagram: RawSpan, _ end: Int) -> UInt32 {
        var crc = CRC32()
        crc.update(datagram.extracting(0..<end))
        return crc.value ^ 0x5354_554e
    }

    /// RFC 8489 §5, figure 3: the class bits C1 and C0 are bits 8 and 4 of the type.
    private static func kind(ofType type: UInt16) -> STUNClass {
        STUNClass(rawValue: UInt8(truncatingIfNeeded: type >> 7 & 2 | type >> 4 & 1)) ?? .request
    }

    /// The method's bits lie around the class bits.
    private static func method(ofType type: UInt16) -> STUNMethod {
        STUNMethod(rawValue: type & 0x000f | type >> 1 & 0x0070 | type >> 2 & 0x0f80)
    }
}

extension STUNAttribute {
    fileprivate init(type: UInt16, value: RawSpan, transactionID: STUNTransactionID) throws(STUNError) {
        var reader = ByteReader(value)
        let parsed: STUNAttribute?
        switch type {
        case STUNAttributeType.mappedAddress:
            parsed = TransportAddress(stunValue: value).map { .mappedAddress($0) }
        case STUNAttributeType.xorMappedAddress:
            parsed = TransportAddress(stunValue: value).map { .xorMappedAddress($0.xored(with: transactionID)) }
        case STUNAttributeType.username:
            // §14.3: fewer than 509 bytes of UTF-8.
            parsed = value.byteCount < 509 ? String(utf8: value).map { .username($0) } : nil
        case STUNAttributeType.realm:
            parsed = value.byteCount <= 763 ? String(utf8: value).map { .realm($0) } : nil
        case STUNAttributeType.nonce:
            parsed = value.byteCount <= 763 ? .nonce(value.withUnsafeBytes { [UInt8]($0) }) : nil
        case STUNAttributeType.software:
            // Only for people: never a reason to refuse a message.
            parsed = .software(value.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
        case STUNAttributeType.userHash:
            parsed = value.byteCount == SHA256.digestSize ? .userHash(value.withUnsafeBytes { [UInt8]($0) }) : nil
        case STUNAttributeType.passwordAlgorithm:
            parsed = Self.passwordAlgorithms(value).flatMap { $0.count == 1 ? .passwordAlgorithm($0[0]) : nil }
        case STUNAttributeType.passwordAlgorithms:
            parsed = Self.passwordAlgorithms(value).map { .passwordAlgorithms($0) }
        case STUNAttributeType.alternateServer:
            parsed = TransportAddress(stunValue: value).map { .alternateServer($0) }
        case STUNAttributeType.alternateDomain:
            parsed = value.byteCount <= 255 ? String(utf8: value).map { .alternateDomain($0) } : nil
        case STUNAttributeType.errorCode:
            parsed = STUNErrorCode(stunValue: value).map { .errorCode($0) }
        case STUNAttributeType.unknownAttributes:
            var types: [UInt16] = []
            while let type = reader.readUInt16() { types.append(type) }
            parsed = reader.remaining == 0 ? .unknownAttributes(types) : nil
        case STUNAttributeType.priority:
            parsed = value.byteCount == 4 ? reader.readUInt32().map { .priority($0) } : nil
        case STUNAttributeType.useCandidate:
            parsed = value.byteCount == 0 ? .useCandidate : nil
        case STUNAttributeType.iceControlled:
            parsed = value.byteCount == 8 ? reader.readUInt64().map { .iceControlled(tieBreaker: $0) } : nil
        case STUNAttributeType.iceControlling:
            parsed = value.byteCount == 8 ? reader.readUInt64().map { .iceControlling(tieBreaker: $0) } : nil
        default:
            if let attribute = try TURNAttribute(type: type, value: value, transactionID: transactionID) {
                parsed = .turn(attribute)
            } else {
                parsed = .other(type: type, value: value.withUnsafeBytes { [UInt8]($0) })
            }
        }
        guard let parsed else { throw .malformedAttribute(type: type) }
        self = parsed
    }

    /// §14.11, §14.12: numbers, each with the length of its parameters. The two that are defined have none.
    private static func passwordAlgorithms(_ value: RawSpan) -> [UInt16]? {
        var reader = ByteReader(value)
        var numbers: [UInt16] = []
        while reader.remaining > 0 {
            guard let number = reader.readUInt16(), let length = reader.readUInt16(),
                reader.skip((Int(length) + 3) & ~3)
            else { return nil }
            // One with parameters is none that we have, and could not be written back.
            if length == 0 { numbers.append(number) }
        }
        return numbers
    }
}

extension TransportAddress {
    /// RFC 8489 §14.1: a zero byte, the family, the port, the address.
    init?(stunValue: RawSpan) {
        var reader = ByteReader(stunValue)
        guard reader.skip(1), let family = reader.readUInt8(), let port = reader.readUInt16() else { return nil }
        switch (family, reader.remaining) {
        case (0x01, 4):
            guard let value = reader.readUInt32() else { return nil }
            self.init(.v4(value), port: port)
        case (0x02, 16):
            guard let high = reader.readUInt64(), let low = reader.readUInt64() else { return nil }
            self.init(.v6(high, low), port: port)
        default:
            return nil
        }
    }

    /// RFC 8489 §14.2: the port against the cookie's first half, the address against the cookie and, for IPv6,
    /// the transaction. Its own inverse.
    func xored(with transactionID: STUNTransactionID) -> TransportAddress {
        let cookie = STUNMessage.magicCookie
        let port = port ^ UInt16(truncatingIfNeeded: cookie >> 16)
        switch ip {
        case .v4(let value):
            return TransportAddress(.v4(value ^ cookie), port: port)
        case .v6(let high, let low):
            let mask = UInt64(cookie) << 32 | UInt64(transactionID.high)
            return TransportAddress(.v6(high ^ mask, low ^ transactionID.low), port: port)
        }
    }
}

extension STUNErrorCode {
    /// RFC 8489 §14.8: 21 reserved bits, the hundreds in three bits, the rest in a byte, the reason.
    init?(stunValue: RawSpan) {
        var reader = ByteReader(stunValue)
        guard reader.skip(2), let hundreds = reader.readUInt8(), let rest = reader.readUInt8(),
            (3...6).contains(hundreds & 7), rest < 100, let reason = reader.readSpan(reader.remaining)
        else { return nil }
        self.init(
            UInt16(hundreds & 7) * 100 + UInt16(rest),
            reason: reason.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
    }
}

extension String {
    /// Nil when the bytes are not UTF-8.
    fileprivate init?(utf8 bytes: RawSpan) {
        guard let text = bytes.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }) else { return nil }
        self = text
    }
}
