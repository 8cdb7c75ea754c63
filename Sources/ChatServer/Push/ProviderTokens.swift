internal import ChatModel
internal import LiveKitProtocol

/// The token by which Apple knows whose server pushes: a JSON Web Token (RFC 7519), signed by ES256.
///
/// Apple ("Establishing a token-based connection to APNs"): one token is good for an hour, and is not to be changed
/// more often than every 20 minutes, which is answered with `TooManyProviderTokenUpdates`.
struct ProviderTokens {
    private let key: ES256Key
    private let keyID: String
    private let teamID: String
    private var current: (text: String, madeAt: Timestamp)?
    /// When one was made because Apple took the one before for too old.
    private var renewedAt: Timestamp?

    static let lifetime = Duration.seconds(40 * 60)
    static let leastLifetime = Duration.seconds(20 * 60)

    init(_ configuration: APNsConfiguration) throws(APNsFault) {
        key = try ES256Key(pem: configuration.key)
        keyID = configuration.keyID
        teamID = configuration.teamID
    }

    mutating func token(at now: Timestamp) throws(APNsFault) -> String {
        // A clock that was put back makes none either.
        if let current, now - current.madeAt < Self.lifetime, current.madeAt <= now { return current.text }
        return try make(at: now)
    }

    private mutating func make(at now: Timestamp) throws(APNsFault) -> String {
        let header = #"{"alg":"ES256","kid":"\#(keyID)","typ":"JWT"}"#
        let claims = #"{"iss":"\#(teamID)","iat":\#(now.milliseconds / 1_000)}"#
        let signed = Base64.encodeForToken(header.utf8) + "." + Base64.encodeForToken(claims.utf8)
        let text = signed + "." + Base64.encodeForToken(try key.sign(Array(signed.utf8)))
        current = (text, now)
        return text
    }

    /// Apple takes a token for too old.
    ///
    /// - Returns: whether it is worth trying again: with a new token, if one may be made, or with one that was made
    ///   since.
    mutating func tokenExpired(_ text: String, at now: Timestamp) -> Bool {
        guard let current, current.text == text else { return true }
        if let renewedAt, now - renewedAt < Self.leastLifetime { return false }
        renewedAt = now
        self.current = nil
        return true
    }
}
