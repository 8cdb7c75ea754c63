extension TURNAttribute {
    /// Nil when the type is not one of TURN's.
    init?(type: UInt16, value: RawSpan, transactionID: STUNTransactionID) throws(STUNError) {
        guard Self.isKnown(type) else { return nil }
        guard let parsed = Self.parse(type, value, transactionID) else { throw .malformedAttribute(type: type) }
        self = parsed
    }

    private static func isKnown(_ type: UInt16) -> Bool {
        switch type {
        case TURNAttributeType.channelNumber, TURNAttributeType.lifetime, TURNAttributeType.xorPeerAddress,
            TURNAttributeType.data, TURNAttributeType.xorRelayedAddress, TURNAttributeType.requestedAddressFamily,
            TURNAttributeType.evenPort, TURNAttributeType.requestedTransport, TURNAttributeType.dontFragment,
            TURNAttributeType.reservationToken, TURNAttributeType.additionalAddressFamily,
            TURNAttributeType.addressErrorCode, TURNAttributeType.icmp, TURNAttributeType.mobilityTicket:
            true
        default: false
        }
    }

    /// Nil for a value of impossible form.
    private static func parse(
        _ type: UInt16, _ value: RawSpan, _ transactionID: STUNTransactionID
    ) -> TURNAttribute? {
        var reader = ByteReader(value)
        func address() -> TransportAddress? { TransportAddress(stunValue: value)?.xored(with: transactionID) }
        switch type {
        case TURNAttributeType.channelNumber:
            return value.byteCount == 4 ? value.uint16(at: 0).map { .channelNumber($0) } : nil
        case TURNAttributeType.lifetime:
            return value.byteCount == 4 ? value.uint32(at: 0).map { .lifetime($0) } : nil
        case TURNAttributeType.xorPeerAddress:
            return address().map { .xorPeerAddress($0) }
        case TURNAttributeType.data:
            return .data(value.withUnsafeBytes { [UInt8]($0) })
        case TURNAttributeType.xorRelayedAddress:
            return address().map { .xorRelayedAddress($0) }
        case TURNAttributeType.requestedAddressFamily:
            return family(value).map { .requestedAddressFamily($0) }
        case TURNAttributeType.evenPort:
            return value.byteCount == 1 ? value.byte(at: 0).map { .evenPort(reservesNext: $0 & 0x80 != 0) } : nil
        case TURNAttributeType.requestedTransport:
            return value.byteCount == 4 ? value.byte(at: 0).map { .requestedTransport($0) } : nil
        case TURNAttributeType.dontFragment:
            return value.byteCount == 0 ? .dontFragment : nil
        case TURNAttributeType.reservationToken:
            return value.byteCount == 8 ? reader.readUInt64().map { .reservationToken($0) } : nil
        case TURNAttributeType.additionalAddressFamily:
            return family(value).map { .additionalAddressFamily($0) }
        case TURNAttributeType.addressErrorCode:
            // §18.12: the family stands in the first of the bytes that ERROR-CODE reserves.
            guard let number = value.byte(at: 0), let error = STUNErrorCode(stunValue: value) else { return nil }
            let family = TURNAddressFamily(rawValue: number)
            return family == .ipv4 || family == .ipv6 ? .addressErrorCode(family, error) : nil
        case TURNAttributeType.icmp:
            guard value.byteCount == 8, reader.skip(2), let kind = reader.readUInt8(), let code = reader.readUInt8(),
                let data = reader.readUInt32()
            else { return nil }
            return .icmp(type: kind, code: code, data: data)
        case TURNAttributeType.mobilityTicket:
            return .mobilityTicket(value.withUnsafeBytes { [UInt8]($0) })
        default:
            return nil
        }
    }

    /// §18.6, §18.11: one byte and three of nothing. Any value: one that is not known is refused by number (§7.2).
    private static func family(_ value: RawSpan) -> TURNAddressFamily? {
        value.byteCount == 4 ? value.byte(at: 0).map { TURNAddressFamily(rawValue: $0) } : nil
    }

    func append(to bytes: inout [UInt8], transactionID: STUNTransactionID) {
        switch self {
        case .channelNumber(let number):
            bytes.append(attribute: TURNAttributeType.channelNumber, uint32: UInt32(number) << 16)
        case .lifetime(let seconds):
            bytes.append(attribute: TURNAttributeType.lifetime, uint32: seconds)
        case .xorPeerAddress(let address):
            bytes.append(attribute: TURNAttributeType.xorPeerAddress, address.xored(with: transactionID).stunValue)
        case .data(let data):
            bytes.append(attribute: TURNAttributeType.data, data)
        case .xorRelayedAddress(let address):
            bytes.append(attribute: TURNAttributeType.xorRelayedAddress, address.xored(with: transactionID).stunValue)
        case .requestedAddressFamily(let family):
            bytes.append(attribute: TURNAttributeType.requestedAddressFamily, uint32: UInt32(family.rawValue) << 24)
        case .evenPort(let reservesNext):
            bytes.append(attribute: TURNAttributeType.evenPort, [reservesNext ? 0x80 : 0])
        case .requestedTransport(let number):
            bytes.append(attribute: TURNAttributeType.requestedTransport, uint32: UInt32(number) << 24)
        case .dontFragment:
            bytes.append(attribute: TURNAttributeType.dontFragment, [])
        case .reservationToken(let token):
            bytes.append(attribute: TURNAttributeType.reservationToken, uint64: token)
        case .additionalAddressFamily(let family):
            bytes.append(attribute: TURNAttributeType.additionalAddressFamily, uint32: UInt32(family.rawValue) << 24)
        case .addressErrorCode(let family, let error):
            var value = error.stunValue
            value[0] = family.rawValue
            bytes.append(attribute: TURNAttributeType.addressErrorCode, value)
        case .icmp(let kind, let code, let data):
            var value: [UInt8] = [0, 0, kind, code]
            value.append(uint32: data)
            bytes.append(attribute: TURNAttributeType.icmp, value)
        case .mobilityTicket(let ticket):
            bytes.append(attribute: TURNAttributeType.mobilityTicket, ticket)
        }
    }
}
