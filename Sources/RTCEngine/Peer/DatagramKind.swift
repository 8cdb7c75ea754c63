/// Which protocol a datagram on a bundled transport belongs to, by its first byte (RFC 7983 §7).
package enum DatagramKind: Equatable {
    case stun
    case dtls
    /// RTP and RTCP share the range; the second byte tells them apart (RFC 5761 §4).
    case rtp
    case rtcp
    /// ZRTP, TURN channel data, and whatever else may come: dropped.
    case unknown

    package init(_ datagram: borrowing [UInt8]) {
        guard let first = datagram.first else {
            self = .unknown
            return
        }
        switch first {
        case 0...3: self = .stun
        case 20...63: self = .dtls
        case 128...191:
            guard datagram.count >= 8 else {
                self = .unknown
                return
            }
            // RTCP packet types 192 to 223 are what an RTP packet's marker and payload type 64 to 95 would look like.
            self = (192...223).contains(datagram[1]) ? .rtcp : .rtp
        default: self = .unknown
        }
    }
}
