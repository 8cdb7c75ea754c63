/// The four kinds of STUN message (RFC 8489 §5), with their two class bits.
public enum STUNClass: UInt8, Hashable, Sendable {
    case request = 0
    case indication = 1
    case success = 2
    case error = 3
}

/// A STUN method (RFC 8489 §5): 12 bits. Those of TURN share the numbering.
public struct STUNMethod: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue & 0x0fff }

    public static let binding = STUNMethod(rawValue: 0x001)
}

/// The 96 random bits that join a response to its request (RFC 8489 §5).
public struct STUNTransactionID: Hashable, Sendable {
    /// The first four bytes.
    public let high: UInt32
    /// The last eight.
    public let low: UInt64

    public init(high: UInt32, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A fresh one. The generator must be unpredictable outside simulations: an attacker who can guess the
    /// transaction needs only the password to forge a response.
    public init(using random: inout some RandomNumberGenerator) {
        self.init(high: UInt32(truncatingIfNeeded: random.next() >> 32), low: random.next())
    }
}

/// One STUN message (RFC 8489). Parsing gives no trust: ask `isAuthentic` with the datagram before acting on it.
public struct STUNMessage: Hashable, Sendable {
    public var kind: STUNClass
    public var method: STUNMethod
    public var transactionID: STUNTransactionID
    /// In wire order, those before MESSAGE-INTEGRITY only: what stands behind it is not protected and is ignored
    /// (RFC 8489 §14.5).
    public var attributes: [STUNAttribute]
    /// The types of attributes of the datagram this was parsed from that have a value of impossible form, in wire
    /// order. Empty unless it was parsed to be answered nevertheless.
    public internal(set) var malformedAttributes: [UInt16] = []
    /// Where MESSAGE-INTEGRITY begins in the datagram this was parsed from; nil without one.
    public internal(set) var integrityOffset: Int?
    /// Where MESSAGE-INTEGRITY-SHA256 stands in that datagram; nil without one.
    public internal(set) var sha256Integrity: Range<Int>?
    /// A FINGERPRINT closed the datagram this was parsed from, and it was right: a wrong one does not parse.
    public internal(set) var hasFingerprint = false

    public init(
        _ kind: STUNClass, _ method: STUNMethod = .binding, transactionID: STUNTransactionID,
        attributes: [STUNAttribute] = []
    ) {
        self.kind = kind
        self.method = method
        self.transactionID = transactionID
        self.attributes = attributes
    }

    /// Bytes of the fixed header.
    static let headerSize = 20
    /// RFC 8489 §5.
    static let magicCookie: UInt32 = 0x2112_a442
    /// More than any STUN or TURN message carries; bounds what one datagram can make us allocate.
    static let maximumAttributes = 64
}

extension STUNMessage {
    /// USERNAME, nil without one.
    public var username: String? {
        attributes.firstValue { if case .username(let value) = $0 { value } else { nil } }
    }

    /// The address that a response reports: XOR-MAPPED-ADDRESS, else the older MAPPED-ADDRESS.
    public var reflexiveAddress: TransportAddress? {
        attributes.firstValue { if case .xorMappedAddress(let value) = $0 { value } else { nil } }
            ?? attributes.firstValue { if case .mappedAddress(let value) = $0 { value } else { nil } }
    }

    /// ERROR-CODE, nil without one.
    public var errorCode: STUNErrorCode? {
        attributes.firstValue { if case .errorCode(let value) = $0 { value } else { nil } }
    }

    /// REALM, nil without one.
    public var realm: String? {
        attributes.firstValue { if case .realm(let value) = $0 { value } else { nil } }
    }

    /// NONCE, nil without one.
    public var nonce: [UInt8]? {
        attributes.firstValue { if case .nonce(let value) = $0 { value } else { nil } }
    }

    /// PASSWORD-ALGORITHMS, nil without it.
    public var passwordAlgorithms: [UInt16]? {
        attributes.firstValue { if case .passwordAlgorithms(let value) = $0 { value } else { nil } }
    }

    /// ALTERNATE-SERVER, nil without one.
    public var alternateServer: TransportAddress? {
        attributes.firstValue { if case .alternateServer(let value) = $0 { value } else { nil } }
    }

    /// ALTERNATE-DOMAIN, nil without one.
    public var alternateDomain: String? {
        attributes.firstValue { if case .alternateDomain(let value) = $0 { value } else { nil } }
    }

    /// PRIORITY, nil without one.
    public var priority: UInt32? {
        attributes.firstValue { if case .priority(let value) = $0 { value } else { nil } }
    }

    /// ICE-CONTROLLING's tie-breaker, nil without one.
    public var controllingTieBreaker: UInt64? {
        attributes.firstValue { if case .iceControlling(let value) = $0 { value } else { nil } }
    }

    /// ICE-CONTROLLED's tie-breaker, nil without one.
    public var controlledTieBreaker: UInt64? {
        attributes.firstValue { if case .iceControlled(let value) = $0 { value } else { nil } }
    }

    /// Whether USE-CANDIDATE is there.
    public var usesCandidate: Bool { attributes.contains(.useCandidate) }

    /// The comprehension-required types that this implementation does not know, in wire order: a request that has
    /// any is answered with 420 (RFC 8489 §6.3.1), a response with any is discarded (§6.3.3).
    public var unknownRequiredAttributes: [UInt16] {
        attributes.compactMap {
            guard case .other(let type, _) = $0, STUNAttributeType.isComprehensionRequired(type) else { return nil }
            return type
        }
    }
}

extension Array where Element == STUNAttribute {
    /// RFC 8489 §14: of an attribute that may appear once, the first counts.
    fileprivate func firstValue<Value>(_ extract: (STUNAttribute) -> Value?) -> Value? {
        for attribute in self {
            if let value = extract(attribute) { return value }
        }
        return nil
    }
}
