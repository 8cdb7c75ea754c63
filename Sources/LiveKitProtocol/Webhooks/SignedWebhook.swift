package import Foundation
internal import SwiftProtobuf

/// A webhook as it is posted: LiveKit's event as JSON, and in the header `Authorization` a token that signs exactly
/// these bytes. There is no "Bearer" before it.
package struct SignedWebhook: Sendable, Equatable {
    package static let contentType = "application/webhook+json"
    /// Long enough for a delivery and its repetitions.
    package static let validity: TimeInterval = 5 * 60

    package let body: [UInt8]
    package let authorization: String

    package init(_ event: LiveKitWebhookEvent, key: APIKey, at now: Date) throws(SigningError) {
        guard let body: [UInt8] = try? event.jsonUTF8Bytes() else { throw .notEncodable }
        try self.init(body: body, key: key, at: now)
    }

    /// Signs bytes that are there already, such as an event that is delivered once more.
    package init(body: [UInt8], key: APIKey, at now: Date) throws(SigningError) {
        var claims = AccessToken.Claims()
        claims.sha256 = Base64.encodeStandard(SHA256.digest(of: body))
        self.body = body
        authorization = try AccessToken(claims: claims, at: now, validFor: Self.validity).signed(with: key)
    }
}

/// Why a webhook is not taken for one of our server's.
package enum WebhookRefusal: Error, Equatable {
    case token(AccessTokenRefusal)
    /// The token signs no body.
    case noDigest
    /// It signs another one.
    case anotherBody
    /// The body is no event.
    case malformed
}

extension WebhookRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .token(let refusal): refusal.description
        case .noDigest: "The webhook's token signs no body."
        case .anotherBody: "The webhook's token signs another body."
        case .malformed: "The webhook's body is not an event of LiveKit's."
        }
    }
}

extension LiveKitWebhookEvent {
    /// The event that was posted, once its body is shown to be what the token signs.
    package init(verifying body: [UInt8], authorization: String, with keys: APIKeys, at now: Date)
        throws(WebhookRefusal)
    {
        let token: AccessToken
        do throws(AccessTokenRefusal) {
            token = try AccessToken(verifying: authorization, with: keys, at: now)
        } catch {
            throw .token(error)
        }
        guard !token.claims.sha256.isEmpty else { throw .noDigest }
        guard let digest = Base64.decode(token.claims.sha256.utf8, as: .standard),
            SHA256.areEqual(digest, SHA256.digest(of: body))
        else { throw .anotherBody }
        var options = JSONDecodingOptions()
        options.ignoreUnknownFields = true
        guard let event = try? LiveKitWebhookEvent(jsonUTF8Bytes: body, options: options) else { throw .malformed }
        self = event
    }
}
