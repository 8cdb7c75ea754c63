/// A parameter (RFC 9260 §3.2.1) or error cause (§3.3.10), not yet understood: they have one form.
public struct SCTPParameter: Hashable, Sendable {
    public var type: UInt16
    /// Without head and padding.
    public var value: [UInt8]

    public init(type: UInt16, value: [UInt8] = []) {
        self.type = type
        self.value = value
    }

    /// All of `bytes`, up to where they stop making sense.
    public static func read(_ bytes: RawSpan) -> [SCTPParameter] {
        var reader = ByteReader(bytes)
        var result: [SCTPParameter] = []
        while let type = reader.readUInt16(), let length = reader.readUInt16(), length >= 4,
            let value = reader.readBytes(Int(length) - 4)
        {
            reader.skip(min(-Int(length) & 3, reader.remaining))
            result.append(SCTPParameter(type: type, value: value))
        }
        return result
    }

    public func write(into packet: inout [UInt8]) { packet.appendSCTPParameter(type, value: value) }
}

/// Types of parameters.
public enum SCTPParameterType {
    public static let heartbeatInfo: UInt16 = 1
    public static let stateCookie: UInt16 = 7
    public static let unrecognizedParameter: UInt16 = 8
    public static let cookiePreservative: UInt16 = 9
    /// Addresses and names: SCTP over DTLS has none, and passes over them (RFC 8261 §6.1).
    public static let ipv4Address: UInt16 = 5
    public static let ipv6Address: UInt16 = 6
    public static let supportedAddressTypes: UInt16 = 12
    /// RFC 4895: chunk authentication, which DTLS makes needless. Offered by usrsctp; known so as to be passed over.
    public static let random: UInt16 = 0x8002
    public static let chunkList: UInt16 = 0x8003
    public static let requestedHMAC: UInt16 = 0x8004
    /// RFC 9653 §5.1.
    public static let zeroChecksumAcceptable: UInt16 = 0x8001
    /// RFC 5061 §4.2.7: the chunks beyond RFC 9260 that the sender knows.
    public static let supportedExtensions: UInt16 = 0x8008
    /// RFC 3758 §3.1.
    public static let forwardTSNSupported: UInt16 = 0xc000
}

/// Codes of error causes (RFC 9260 §3.3.10).
public enum SCTPCauseCode {
    public static let invalidStream: UInt16 = 1
    public static let missingParameter: UInt16 = 2
    public static let staleCookie: UInt16 = 3
    public static let outOfResource: UInt16 = 4
    public static let unrecognizedChunk: UInt16 = 6
    public static let invalidParameter: UInt16 = 7
    public static let unrecognizedParameters: UInt16 = 8
    public static let noUserData: UInt16 = 9
    public static let cookieWhileShuttingDown: UInt16 = 10
    public static let userInitiatedAbort: UInt16 = 12
    public static let protocolViolation: UInt16 = 13
}
