/// An attribute of TURN (RFC 8656 §18) or its mobility (RFC 8016 §4).
public enum TURNAttribute: Hashable, Sendable {
    /// CHANNEL-NUMBER (§18.1).
    case channelNumber(UInt16)
    /// LIFETIME in seconds (§18.2).
    case lifetime(UInt32)
    /// XOR-PEER-ADDRESS (§18.3).
    case xorPeerAddress(TransportAddress)
    /// DATA (§18.4).
    case data([UInt8])
    /// XOR-RELAYED-ADDRESS (§18.5).
    case xorRelayedAddress(TransportAddress)
    /// REQUESTED-ADDRESS-FAMILY (§18.6).
    case requestedAddressFamily(TURNAddressFamily)
    /// EVEN-PORT (§18.7).
    case evenPort(reservesNext: Bool)
    /// REQUESTED-TRANSPORT (§18.8): a protocol number of IP.
    case requestedTransport(UInt8)
    /// DONT-FRAGMENT (§18.9).
    case dontFragment
    /// RESERVATION-TOKEN (§18.10).
    case reservationToken(UInt64)
    /// ADDITIONAL-ADDRESS-FAMILY (§18.11).
    case additionalAddressFamily(TURNAddressFamily)
    /// ADDRESS-ERROR-CODE (§18.12): why there is no relayed address of this family.
    case addressErrorCode(TURNAddressFamily, STUNErrorCode)
    /// ICMP (§18.13): what came back for a datagram that was relayed.
    case icmp(type: UInt8, code: UInt8, data: UInt32)
    /// MOBILITY-TICKET (RFC 8016 §4.1); empty where a ticket is asked for.
    case mobilityTicket([UInt8])

    /// UDP, the one transport between server and peers (§14).
    public static let udp: UInt8 = 17
}

/// Which kind of relayed address is meant (RFC 8656 §18.6). Requests may name one that is not known, and are answered.
public struct TURNAddressFamily: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let ipv4 = TURNAddressFamily(rawValue: 0x01)
    public static let ipv6 = TURNAddressFamily(rawValue: 0x02)

    public init(of ip: IPAddress) { self = ip.isIPv6 ? .ipv6 : .ipv4 }
}

/// Attribute types by number (RFC 8656 §18, RFC 8016 §6).
enum TURNAttributeType {
    static let channelNumber: UInt16 = 0x000c
    static let lifetime: UInt16 = 0x000d
    static let xorPeerAddress: UInt16 = 0x0012
    static let data: UInt16 = 0x0013
    static let xorRelayedAddress: UInt16 = 0x0016
    static let requestedAddressFamily: UInt16 = 0x0017
    static let evenPort: UInt16 = 0x0018
    static let requestedTransport: UInt16 = 0x0019
    static let dontFragment: UInt16 = 0x001a
    static let reservationToken: UInt16 = 0x0022
    static let additionalAddressFamily: UInt16 = 0x8000
    static let addressErrorCode: UInt16 = 0x8001
    static let icmp: UInt16 = 0x8004
    static let mobilityTicket: UInt16 = 0x8030
}

extension STUNMethod {
    /// RFC 8656 §17.
    public static let allocate = STUNMethod(rawValue: 0x003)
    public static let refresh = STUNMethod(rawValue: 0x004)
    public static let send = STUNMethod(rawValue: 0x006)
    public static let data = STUNMethod(rawValue: 0x007)
    public static let createPermission = STUNMethod(rawValue: 0x008)
    public static let channelBind = STUNMethod(rawValue: 0x009)
}

extension STUNErrorCode {
    /// RFC 8489 §10: ask the server in ALTERNATE-SERVER.
    public static let tryAlternate = STUNErrorCode(300, reason: "Try Alternate")
    /// RFC 8656 §19, and 405 of RFC 8016 §3.4.
    public static let forbidden = STUNErrorCode(403, reason: "Forbidden")
    public static let mobilityForbidden = STUNErrorCode(405, reason: "Mobility Forbidden")
    public static let allocationMismatch = STUNErrorCode(437, reason: "Allocation Mismatch")
    /// RFC 8489 §9.2.4: the same request again, with the nonce that comes along.
    public static let staleNonce = STUNErrorCode(438, reason: "Stale Nonce")
    public static let addressFamilyNotSupported = STUNErrorCode(440, reason: "Address Family not Supported")
    public static let wrongCredentials = STUNErrorCode(441, reason: "Wrong Credentials")
    public static let unsupportedTransport = STUNErrorCode(442, reason: "Unsupported Transport Protocol")
    public static let peerAddressFamilyMismatch = STUNErrorCode(443, reason: "Peer Address Family Mismatch")
    public static let allocationQuotaReached = STUNErrorCode(486, reason: "Allocation Quota Reached")
    public static let insufficientCapacity = STUNErrorCode(508, reason: "Insufficient Capacity")
}

extension STUNMessage {
    /// The first attribute of TURN for which `extract` gives a value.
    public func turnValue<Value>(_ extract: (TURNAttribute) -> Value?) -> Value? {
        for case .turn(let attribute) in attributes {
            if let value = extract(attribute) { return value }
        }
        return nil
    }

    /// XOR-PEER-ADDRESS, the first one; nil without one.
    public var peerAddress: TransportAddress? {
        turnValue { if case .xorPeerAddress(let value) = $0 { value } else { nil } }
    }
    /// DATA; nil without it.
    public var relayedData: [UInt8]? { turnValue { if case .data(let value) = $0 { value } else { nil } } }
    /// LIFETIME in seconds; nil without it.
    public var lifetime: UInt32? { turnValue { if case .lifetime(let value) = $0 { value } else { nil } } }
    /// MOBILITY-TICKET; nil without one.
    public var mobilityTicket: [UInt8]? { turnValue { if case .mobilityTicket(let value) = $0 { value } else { nil } } }
    /// All of XOR-RELAYED-ADDRESS: two of them where an additional family was asked for (RFC 8656 §7.2).
    public var relayedAddresses: [TransportAddress] {
        attributes.compactMap { if case .turn(.xorRelayedAddress(let value)) = $0 { value } else { nil } }
    }
}
