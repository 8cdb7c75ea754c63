import RTCWire

/// A look at a datagram before OpenSSL sees it.
///
/// RFC 6347 §4.1.2.7: what is invalid is dropped and nothing ends by it. OpenSSL does so with what does not
/// authenticate, but some malformed plaintext ends a handshake, and so does, at any time, a protected record that is
/// too short for its cipher. Whoever can send us a datagram would so be able to stop a call with noise. Only records
/// that are formed as RFC 6347 §4.1 and §4.2.2 say go on; a forger who speaks DTLS on the path can still interfere
/// until the peer is authenticated, as the protocol allows.
enum DTLSRecords {
    /// RFC 6347 §4.1: type, version, epoch, sequence number, length.
    static let headerLength = 13
    /// What AES-GCM adds to a record (RFC 5288 §3): 8 bytes of nonce and 16 of tag. The longest that we negotiate.
    static let longestOverhead = 24

    private enum ContentType: UInt8 {
        case changeCipherSpec = 20
        case alert = 21
        case handshake = 22
        case applicationData = 23
    }

    /// The records of `datagram` that may go on, one after the other; empty when there are none.
    ///
    /// - Parameter overhead: what the cipher adds to a protected record; a shorter one is none.
    static func admissible(in datagram: RawSpan, overhead: Int = longestOverhead) -> [UInt8] {
        var admitted: [UInt8] = []
        var reader = ByteReader(datagram)
        while reader.remaining > 0 {
            let start = reader.offset
            guard let type = reader.readUInt8(), let version = reader.readUInt16(), let epoch = reader.readUInt16(),
                reader.skip(6), let length = reader.readUInt16(), let body = reader.readSpan(Int(length))
            else { break }  // Cut off: where another record would begin is not known.
            guard version >> 8 == 0xfe, let type = ContentType(rawValue: type),
                isAdmissible(body, of: type, epoch: epoch, overhead: overhead)
            else { continue }
            datagram.extracting(start..<reader.offset).withUnsafeBytes { admitted.append(contentsOf: $0) }
        }
        return admitted
    }

    private static func isAdmissible(_ body: RawSpan, of type: ContentType, epoch: UInt16, overhead: Int) -> Bool {
        switch epoch {
        case 0: isPlausible(body, of: type)
        // Protected: for OpenSSL to judge, except for one that it would take for an error of its own.
        case 1: body.byteCount >= overhead
        // Without renegotiation there are no more keys.
        default: false
        }
    }

    private static func isPlausible(_ body: RawSpan, of type: ContentType) -> Bool {
        switch type {
        case .changeCipherSpec:
            return body.byteCount == 1 && body.byte(at: 0) == 1
        case .alert:
            guard body.byteCount == 2, let level = body.byte(at: 0), let description = body.byte(at: 1) else {
                return false
            }
            // RFC 5246 §7.2: 2 is fatal; of the warnings only close_notify ends anything. OpenSSL gives up after five
            // of the others, which anybody could send.
            return level == 2 || level == 1 && description == 0
        case .handshake:
            return areHandshakeFragments(body)
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
