import RTCEngine
import RTCWire

@testable import RTCSecurity

/// An RTP packet with a payload that depends on its sequence number.
func rtp(_ sequenceNumber: UInt16, ssrc: UInt32 = 0xcafe_babe, payloadLength: Int = 20) -> [UInt8] {
    var packet: [UInt8] = [0x80, 96]
    packet.append(uint16: sequenceNumber)
    packet.append(uint32: 90_000)
    packet.append(uint32: ssrc)
    packet += (0..<payloadLength).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ Int(sequenceNumber)) }
    return packet
}

/// An RTCP packet: a picture loss indication (RFC 4585 §6.3.1).
func rtcp(ssrc: UInt32 = 0xcafe_babe, about media: UInt32 = 0x0bad_cafe) -> [UInt8] {
    var packet: [UInt8] = [0x81, 206, 0, 2]
    packet.append(uint32: ssrc)
    packet.append(uint32: media)
    return packet
}

/// Two ends that have each other's keys.
struct SRTPPair {
    let sender: SRTPContext
    let receiver: SRTPContext

    init(_ profile: SRTPProfile) throws {
        let keys = Self.keys(profile)
        sender = try SRTPContext(keys)
        receiver = try SRTPContext(keys.mirrored)
    }

    static func keys(_ profile: SRTPProfile) -> SRTPKeyingMaterial {
        let key = UInt8(profile.masterKeyLength)
        let count = UInt8(profile.masterSaltLength)
        return SRTPKeyingMaterial(
            profile: profile, localKey: Array(0..<key), localSalt: Array(key..<key + count),
            remoteKey: Array(100..<100 + key), remoteSalt: Array(100 + key..<100 + key + count))
    }

    func protected(_ packet: [UInt8]) throws(SRTPError) -> [UInt8] {
        var packet = packet
        try sender.protectRTP(&packet)
        return packet
    }

    func opened(_ packet: [UInt8]) throws(SRTPError) -> [UInt8] {
        var packet = packet
        try receiver.unprotectRTP(&packet)
        return packet
    }

    func protectedRTCP(_ packet: [UInt8]) throws(SRTPError) -> [UInt8] {
        var packet = packet
        try sender.protectRTCP(&packet)
        return packet
    }

    func openedRTCP(_ packet: [UInt8]) throws(SRTPError) -> [UInt8] {
        var packet = packet
        try receiver.unprotectRTCP(&packet)
        return packet
    }
}

extension SRTPKeyingMaterial {
    /// The same keys as the other end sees them.
    var mirrored: SRTPKeyingMaterial {
        SRTPKeyingMaterial(
            profile: profile, localKey: remoteKey, localSalt: remoteSalt, remoteKey: localKey, remoteSalt: localSalt)
    }
}
