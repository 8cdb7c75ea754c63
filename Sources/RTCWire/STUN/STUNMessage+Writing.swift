extension STUNMessage {
    /// The datagram: header, attributes, then MESSAGE-INTEGRITY when there is a key, then FINGERPRINT if wanted.
    /// ICE wants both on everything (RFC 8445 §7.2.2, §7.2.4), except that errors about authentication carry no
    /// integrity.
    public func encoded(key: HMACSHA1? = nil, fingerprint: Bool = true) -> [UInt8] {
        encoded(signedWith: key.map { .sha1($0) }, fingerprint: fingerprint)
    }

    /// As above, with whichever of the two integrity attributes the key is for.
    public func encoded(signedWith key: STUNIntegrityKey?, fingerprint: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(160)
        bytes.append(uint16: type)
        bytes.append(uint16: 0)
        bytes.append(uint32: Self.magicCookie)
        bytes.append(uint32: transactionID.high)
        bytes.append(uint64: transactionID.low)
        for attribute in attributes { attribute.append(to: &bytes, transactionID: transactionID) }
        // RFC 8489 §14.5, §14.6: the length already counts the attribute while the code is made.
        switch key {
        case .sha1(let key):
            Self.setLength(of: &bytes, adding: 4 + SHA1.digestSize)
            let code = key.authenticate(bytes.span.bytes)
            bytes.append(attribute: STUNAttributeType.messageIntegrity, code)
        case .sha256(let key):
            Self.setLength(of: &bytes, adding: 4 + SHA256.digestSize)
            let code = key.authenticate(bytes)
            bytes.append(attribute: STUNAttributeType.messageIntegritySHA256, code)
        case nil: break
        }
        if fingerprint {
            // §14.7: likewise.
            Self.setLength(of: &bytes, adding: 8)
            let check = Self.fingerprint(bytes.span.bytes, bytes.count)
            bytes.append(attribute: STUNAttributeType.fingerprint, uint32: check)
        }
        Self.setLength(of: &bytes, adding: 0)
        return bytes
    }

    /// RFC 8489 §5, figure 3.
    private var type: UInt16 {
        let method = method.rawValue
        let kind = UInt16(kind.rawValue)
        return method & 0x000f | (method & 0x0070) << 1 | (method & 0x0f80) << 2 | (kind & 1) << 4 | (kind & 2) << 7
    }

    private static func setLength(of bytes: inout [UInt8], adding more: Int) {
        bytes.set(uint16: UInt16(truncatingIfNeeded: bytes.count - headerSize + more), at: 2)
    }
}

extension STUNAttribute {
    fileprivate func append(to bytes: inout [UInt8], transactionID: STUNTransactionID) {
        switch self {
        case .mappedAddress(let address):
            bytes.append(attribute: STUNAttributeType.mappedAddress, address.stunValue)
        case .xorMappedAddress(let address):
            bytes.append(
                attribute: STUNAttributeType.xorMappedAddress, address.xored(with: transactionID).stunValue)
        case .username(let text):
            bytes.append(attribute: STUNAttributeType.username, Array(text.utf8))
        case .errorCode(let error):
            bytes.append(attribute: STUNAttributeType.errorCode, error.stunValue)
        case .unknownAttributes(let types):
            var value: [UInt8] = []
            for type in types { value.append(uint16: type) }
            bytes.append(attribute: STUNAttributeType.unknownAttributes, value)
        case .realm(let text):
            bytes.append(attribute: STUNAttributeType.realm, Array(text.utf8))
        case .nonce(let value):
            bytes.append(attribute: STUNAttributeType.nonce, value)
        case .userHash(let hash):
            bytes.append(attribute: STUNAttributeType.userHash, hash)
        case .passwordAlgorithm(let number):
            bytes.append(attribute: STUNAttributeType.passwordAlgorithm, uint32: UInt32(number) << 16)
        case .passwordAlgorithms(let numbers):
            var value: [UInt8] = []
            for number in numbers { value.append(uint32: UInt32(number) << 16) }
            bytes.append(attribute: STUNAttributeType.passwordAlgorithms, value)
        case .alternateServer(let address):
            bytes.append(attribute: STUNAttributeType.alternateServer, address.stunValue)
        case .alternateDomain(let name):
            bytes.append(attribute: STUNAttributeType.alternateDomain, Array(name.utf8))
        case .turn(let attribute):
            attribute.append(to: &bytes, transactionID: transactionID)
        case .software(let text):
            bytes.append(attribute: STUNAttributeType.software, Array(text.utf8))
        case .priority(let value):
            bytes.append(attribute: STUNAttributeType.priority, uint32: value)
        case .useCandidate:
            bytes.append(attribute: STUNAttributeType.useCandidate, [])
        case .iceControlled(let tieBreaker):
            bytes.append(attribute: STUNAttributeType.iceControlled, uint64: tieBreaker)
        case .iceControlling(let tieBreaker):
            bytes.append(attribute: STUNAttributeType.iceControlling, uint64: tieBreaker)
        case .other(let type, let value):
            bytes.append(attribute: type, value)
        }
    }
}

extension STUNErrorCode {
    /// RFC 8489 §14.8.
    var stunValue: [UInt8] {
        [0, 0, UInt8(truncatingIfNeeded: code / 100), UInt8(code % 100)] + Array(reason.utf8)
    }
}

extension TransportAddress {
    /// RFC 8489 §14.1.
    var stunValue: [UInt8] {
        var value: [UInt8] = [0, ip.isIPv6 ? 0x02 : 0x01]
        value.append(uint16: port)
        switch ip {
        case .v4(let address):
            value.append(uint32: address)
        case .v6(let high, let low):
            value.append(uint64: high)
            value.append(uint64: low)
        }
        return value
    }
}

extension Array where Element == UInt8 {
    /// RFC 8489 §14: type, length without padding, value, zeros to a multiple of four.
    mutating func append(attribute type: UInt16, _ value: [UInt8]) {
        append(uint16: type)
        append(uint16: UInt16(truncatingIfNeeded: value.count))
        append(contentsOf: value)
        append(contentsOf: repeatElement(0, count: (4 - value.count % 4) % 4))
    }

    mutating func append(attribute type: UInt16, uint32 value: UInt32) {
        append(uint16: type)
        append(uint16: 4)
        append(uint32: value)
    }

    mutating func append(attribute type: UInt16, uint64 value: UInt64) {
        append(uint16: type)
        append(uint16: 8)
        append(uint64: value)
    }
}
