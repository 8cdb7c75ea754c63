import RTCEngine
import RTCSecurity

/// Arbitrary bytes as a received packet, in each profile; fresh contexts, so that a crash replays from its input.
/// Then the same bytes as something to send: an end of ours may forward what a peer made.
func fuzzSRTP(_ bytes: RawSpan) {
    let input = bytes.withUnsafeBytes { [UInt8]($0) }
    for profile in SRTPProfile.allCases {
        let salt: [UInt8] = Array(16..<(profile == .aes128CMHMACSHA1_80 ? 30 : 28))
        let key: [UInt8] = Array(0..<(profile == .aeadAES256GCM ? 32 : 16))
        let keys = SRTPKeyingMaterial(
            profile: profile, localKey: key, localSalt: salt, remoteKey: key, remoteSalt: salt)
        guard let receiver = try? SRTPContext(keys), let context = try? SRTPContext(keys) else {
            fatalError("keys of the right length are refused")
        }
        var received = input
        try? receiver.unprotectRTP(&received)
        received = input
        try? receiver.unprotectRTCP(&received)

        // What we protect, the other end (here: the same keys) has to open.
        var packet = input
        if (try? context.protectRTP(&packet)) != nil {
            guard (try? context.unprotectRTP(&packet)) != nil, packet == input else { fatalError("RTP is lost") }
        }
        packet = input
        if (try? context.protectRTCP(&packet)) != nil {
            guard (try? context.unprotectRTCP(&packet)) != nil, packet == input else { fatalError("RTCP is lost") }
        }
    }
}
