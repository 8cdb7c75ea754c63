import COpenSSL
import RTCEngine

@testable import RTCSecurity

/// A certificate and an OpenSSL context that a test may bend to behave as another stack would.
struct TestContext {
    let certificate: Certificate
    let context: DTLSContext

    init(profiles: [SRTPProfile] = SRTPPair.browserProfiles, curve: Int32 = NID_X9_62_prime256v1) throws {
        certificate = try Certificate(curve: curve)
        context = DTLSContext(certificate: certificate, rules: try DTLSRules(profiles))
    }

    /// `SSL_OP_NO_EXTENDED_MASTER_SECRET`, a macro that Swift does not see.
    static let noExtendedMasterSecret: UInt64 = 1 << 0
    /// `SSL_OP_NO_RENEGOTIATION`
    static let noRenegotiation: UInt64 = 1 << 30
}
