internal import CDatagram
internal import RTCWire

extension TransportAddress {
    /// nil for an address family other than IPv4 and IPv6.
    init?(_ address: cdatagram_address) {
        let ip: IPAddress? = withUnsafeBytes(of: address.ip) { bytes in
            switch address.family {
            case 4: return .v4(UInt32(bigEndian: bytes.load(as: UInt32.self)))
            case 6:
                let high = UInt64(bigEndian: bytes.load(as: UInt64.self))
                let low = UInt64(bigEndian: bytes.load(fromByteOffset: 8, as: UInt64.self))
                return .v6(high, low)
            default: return nil
            }
        }
        guard let ip else { return nil }
        self.init(ip, port: address.port)
    }

    var cAddress: cdatagram_address {
        var address = cdatagram_address()
        address.port = port
        withUnsafeMutableBytes(of: &address.ip) { bytes in
            switch ip {
            case .v4(let value):
                bytes.storeBytes(of: value.bigEndian, as: UInt32.self)
            case .v6(let high, let low):
                bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
                bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
        }
        address.family = ip.isIPv6 ? 6 : 4
        return address
    }
}
