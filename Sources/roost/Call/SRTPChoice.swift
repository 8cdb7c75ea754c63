internal import ArgumentParser
internal import RTCEngine
internal import RTCSecurity

/// `--srtp`: the one protection profile that is accepted.
enum SRTPChoice: String, ExpressibleByArgument, CaseIterable {
    case gcm, cm
    case gcm256 = "gcm-256"

    private var profile: SRTPProfile {
        switch self {
        case .gcm: .aeadAES128GCM
        case .cm: .aes128CMHMACSHA1_80
        case .gcm256: .aeadAES256GCM
        }
    }

    func security() throws -> OpenSSLSecurity {
        do {
            return try OpenSSLSecurity(profiles: [profile])
        } catch {
            throw CommandError("No certificate could be made: \(error).")
        }
    }
}
