/// One STUN attribute. MESSAGE-INTEGRITY and FINGERPRINT are not values to handle: the parser checks their place
/// and `STUNMessage.isAuthentic`, `hasFingerprint` and `encoded` deal with them.
public enum STUNAttribute: Hashable, Sendable {
    /// MAPPED-ADDRESS (RFC 8489 §14.1); only for servers older than RFC 5389.
    case mappedAddress(TransportAddress)
    /// XOR-MAPPED-ADDRESS (§14.2).
    case xorMappedAddress(TransportAddress)
    /// USERNAME (§14.3).
    case username(String)
    /// ERROR-CODE (§14.8).
    case errorCode(STUNErrorCode)
    /// UNKNOWN-ATTRIBUTES (§14.13).
    case unknownAttributes([UInt16])
    /// REALM (§14.9).
    case realm(String)
    /// NONCE (§14.10).
    case nonce([UInt8])
    /// USERHASH (§14.4).
    case userHash([UInt8])
    /// PASSWORD-ALGORITHM (§14.12): the one that the client has chosen, by number.
    case passwordAlgorithm(UInt16)
    /// PASSWORD-ALGORITHMS (§14.11): those that the server takes, best first, by number.
    case passwordAlgorithms([UInt16])
    /// ALTERNATE-SERVER (§14.15).
    case alternateServer(TransportAddress)
    /// ALTERNATE-DOMAIN (§14.16): the name that the other server's certificate has.
    case alternateDomain(String)
    /// SOFTWARE (§14.14).
    case software(String)
    /// One of TURN's.
    case turn(TURNAttribute)
    /// PRIORITY of the peer-reflexive candidate that the check might reveal (RFC 8445 §16.1).
    case priority(UInt32)
    /// USE-CANDIDATE: the controlling agent nominates this pair (RFC 8445 §16.1).
    case useCandidate
    /// ICE-CONTROLLED with its tie-breaker (RFC 8445 §16.1).
    case iceControlled(tieBreaker: UInt64)
    /// ICE-CONTROLLING with its tie-breaker (RFC 8445 §16.1).
    case iceControlling(tieBreaker: UInt64)
    /// Anything else, as it came.
    case other(type: UInt16, value: [UInt8])
}

/// Attribute types by number (RFC 8489 §18.3, RFC 8445 §20.1).
enum STUNAttributeType {
    static let mappedAddress: UInt16 = 0x0001
    static let username: UInt16 = 0x0006
    static let messageIntegrity: UInt16 = 0x0008
    static let errorCode: UInt16 = 0x0009
    static let unknownAttributes: UInt16 = 0x000a
    static let realm: UInt16 = 0x0014
    static let nonce: UInt16 = 0x0015
    static let messageIntegritySHA256: UInt16 = 0x001c
    static let passwordAlgorithm: UInt16 = 0x001d
    static let userHash: UInt16 = 0x001e
    static let xorMappedAddress: UInt16 = 0x0020
    static let priority: UInt16 = 0x0024
    static let useCandidate: UInt16 = 0x0025
    static let passwordAlgorithms: UInt16 = 0x8002
    static let alternateDomain: UInt16 = 0x8003
    static let software: UInt16 = 0x8022
    static let alternateServer: UInt16 = 0x8023
    static let fingerprint: UInt16 = 0x8028
    static let iceControlled: UInt16 = 0x8029
    static let iceControlling: UInt16 = 0x802a

    /// RFC 8489 §14: types below 0x8000 must be understood by whoever acts on the message.
    static func isComprehensionRequired(_ type: UInt16) -> Bool { type < 0x8000 }
}
