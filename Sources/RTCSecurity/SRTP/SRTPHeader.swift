import RTCWire

/// What SRTP has to know of a packet's header: where the encrypted part begins, and whose packet it is.
struct SRTPHeader {
    var length: Int
    var sequenceNumber: UInt16
    var ssrc: UInt32

    /// RFC 3550 §5.1 and §5.3.1: 12 bytes, the contributing sources, the extension. Nil when they do not fit.
    init?(rtp packet: RawSpan) {
        guard let length = RTPHeader.size(in: packet), let sequenceNumber = packet.uint16(at: 2),
            let ssrc = packet.uint32(at: 8)
        else { return nil }
        self.length = length
        self.sequenceNumber = sequenceNumber
        self.ssrc = ssrc
    }

    /// RFC 3711 §3.4: the first 8 bytes of a compound packet are readable, all else is encrypted. The SSRC is the
    /// first packet's sender.
    init?(rtcp packet: RawSpan) {
        guard let first = packet.byte(at: 0), first >> 6 == 2, let ssrc = packet.uint32(at: 4) else { return nil }
        self.length = 8
        self.sequenceNumber = 0
        self.ssrc = ssrc
    }
}
