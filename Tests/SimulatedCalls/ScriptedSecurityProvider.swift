import RTCEngine
import RTCSecurity

/// Security that replays from a seed: the scripted handshake, and the real SRTP over its keys.
struct ScriptedSecurityProvider: SecurityProvider {
    private let seed: UInt64
    private let profile: SRTPProfile
    private let presentedFingerprint: [UInt8]
    let localFingerprint: Fingerprint

    /// - Parameter isImpostor: the handshake shows another certificate than the session description promises.
    init(seed: UInt64, profile: SRTPProfile = .aeadAES128GCM, isImpostor: Bool = false) {
        var random = EngineRandom.seeded(seed)
        let promised = random.bytes(32)
        self.seed = seed
        self.profile = profile
        localFingerprint = Fingerprint(algorithm: "sha-256", value: promised)
        presentedFingerprint = isImpostor ? random.bytes(32) : promised
    }

    func makeDTLS() -> any DTLSPort {
        ScriptedDTLS(nonce: seed &+ 1, fingerprint: presentedFingerprint, profile: profile)
    }

    func makeSRTP(_ keys: SRTPKeyingMaterial) throws(SRTPError) -> any SRTPPort { try SRTPContext(keys) }
}
