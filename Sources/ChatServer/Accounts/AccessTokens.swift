internal import ChatCore
internal import ChatModel
internal import Foundation
internal import LiveKitProtocol

/// Access tokens of the chat API: JSON Web Tokens (RFC 7519), signed with a key of this server's own, so that no token
/// of LiveKit's is taken for one of them.
struct AccessTokens: Sendable {
    private let key: APIKey
    let lifetime: Duration

    private struct Claims: Codable {
        let aud: String
        let sub: UserID
        let sid: SessionID
        let exp: Int64
        /// When it was made, in milliseconds: RFC 7519's `iat` is in seconds, in which a token can be refreshed.
        let made: Int64
    }

    private static let audience = "roost-chat"

    init(key: APIKey, lifetime: Duration) {
        self.key = key
        self.lifetime = lifetime
    }

    func token(for caller: Caller, at now: Timestamp) throws -> String {
        let claims = Claims(
            aud: Self.audience, sub: caller.user, sid: caller.session,
            exp: now.advanced(by: lifetime).milliseconds / 1_000, made: now.milliseconds)
        guard let text = SignedText.sign([UInt8](try JSONEncoder().encode(claims)), with: key) else {
            throw SigningError.outOfMemory
        }
        return text
    }

    /// Whose a token is.
    ///
    /// - Throws: `ChatError`, which says only whether it is too old.
    func caller(of text: String, at now: Timestamp) throws(ChatError) -> Caller {
        let claims: Claims
        do {
            let signed = try SignedText(text)
            guard signed.isSigned(by: key) else { throw AccessTokenRefusal.wrongSignature }
            claims = try JSONDecoder().decode(Claims.self, from: Data(signed.payload))
        } catch {
            throw .badToken
        }
        guard claims.aud == Self.audience else { throw .badToken }
        guard now.milliseconds / 1_000 < claims.exp else {
            throw ChatError(.unauthenticated, code: "token_expired", "The access token is too old: refresh it.")
        }
        return Caller(
            user: claims.sub, session: claims.sid, tokenMade: Timestamp(milliseconds: claims.made))
    }
}

extension ChatError {
    static let badToken = ChatError(
        .unauthenticated, code: "bad_token", "The access token is not one of this server's.")
    static let sessionOver = ChatError(.unauthenticated, code: "session_over", "This session is over: log in again.")
}
