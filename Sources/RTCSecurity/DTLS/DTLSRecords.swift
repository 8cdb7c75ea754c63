import RTCWire

/// A look at a datagram before OpenSSL sees it.
///
/// OpenSSL drops what does not authenticate once keys exist, but before that some malformed plaintext ends a
/// handshake. Whoever can send us a datagram would so be able to stop a call with noise. Only datagrams whose
/// records are formed as RFC 6347 §4.1 and §4.2.2 say go on; a forger who speaks DTLS on the path can still
/// interfere until the peer is authenticated, as the protocol allows.
enum DTLSRecords {
    /// RFC 6347 §4.1: type, version, epoch, sequence number, length.
    static let headerLength = 13

    private enum ContentType: UInt8 {
        case changeCipherSpec = 20
        case alert = 21
        case handshake = 22
        case applicationData = 23
    }

    static func arePlausible(in datagram: RawSpan) -> Bool {
        var reader = ByteReader(datagram)
        guard reader.remaining > 0 else { return false }
        while reader.remaining > 0 {
            guard let type = reader.readUInt8().flatMap(ContentType.init(rawValue:)),
                let version = reader.readUInt16(), version >> 8 == 0xfe,
                let epoch = reader.readUInt16(), reader.skip(6),
                let length = reader.readUInt16(), let body = reader.readSpan(Int(length))
            else { return false }
            // Later epochs are encrypted; their bodies are for OpenSSL to judge.
            guard epoch != 0 || isPlausible(body, of: type) else { return false }
        }
        return true
    }

    private static func isPlausible(_ body: borrowing RawSpan, of type: ContentType) -> Bool {
        switch type {
        case .changeCipherSpec:
            return body.byteCount == 1 && body.byte(at: 0) == 1
        case .alert:
            guard let level = body.byte(at: 0) else { return false }
            return body.byteCount == 2 && (level == 1 || level == 2)
        case .handshake:
            return areHandshakeFragments(copy body)
        case .applicationData:
            // RFC 6347 §4.1: never without keys.
            return false
        }
    }

    /// RFC 6347 §4.2.2: type, length, message sequence, fragment offset and length, one or more in a record.
    private static func areHandshakeFragments(_ body: RawSpan) -> Bool {
        var reader = ByteReader(body)
        guard reader.remaining > 0 else { return false }
        while reader.remaining > 0 {
            guard let type = reader.readUInt8(), isHandshakeType(type), let length = reader.readUInt24(),
                reader.skip(2), let offset = reader.readUInt24(), let count = reader.readUInt24(),
                length <= largestMessage, offset + count <= length, reader.skip(Int(count))
            else { return false }
        }
        return true
    }

    /// More than any message of a handshake with one self-signed certificate needs.
    private static let largestMessage: UInt32 = 1 << 16

    /// The types of RFC 5246 §7.4, RFC 6347 §4.3.2 and RFC 5077 that belong to DTLS 1.2.
    private static func isHandshakeType(_ type: UInt8) -> Bool {
        switch type {
        case 0...4, 11...16, 20...23: true
        default: false
        }
    }
}
