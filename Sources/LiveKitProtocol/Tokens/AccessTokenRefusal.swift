package import Foundation

/// Why a token does not let its bearer in. For LiveKit's clients all of them are status 401.
package enum AccessTokenRefusal: Error, Equatable {
    case tooLong(limit: Int)
    /// Not three parts in base64url, or its header or payload is no JSON object, or one in which a member comes twice.
    case malformed
    /// Not signed with HS256, which is the only way that LiveKit knows: `none` among others.
    case anotherAlgorithm
    /// Its header asks for something that has to be understood and is not.
    case criticalExtension
    /// It does not say which key has signed it.
    case noIssuer
    /// Signed by a key that we do not have.
    case unknownKey
    case wrongSignature
    /// A claim is of another type than LiveKit's; its path, such as `video.canPublish`.
    case unreadableClaim(String)
    case noExpiry
    case expired(Date)
    /// Good only from this time on, or issued then.
    case notYetValid(Date)
}

extension AccessTokenRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong(let limit): "The token is longer than \(limit) bytes."
        case .malformed: "This is not a JSON Web Token."
        case .anotherAlgorithm: "The token is not signed with HS256."
        case .criticalExtension: "The token's header has an extension that is critical and not known."
        case .noIssuer: "The token does not say which API key has signed it."
        case .unknownKey: "The token was signed with an API key that is not known."
        case .wrongSignature: "The token's signature is wrong."
        case .unreadableClaim(let path): "The token's claim \(path) is not what LiveKit puts there."
        case .noExpiry: "The token has no time at which it expires."
        case .expired(let date): "The token expired at \(date.formatted(.iso8601))."
        case .notYetValid(let date): "The token is not good before \(date.formatted(.iso8601))."
        }
    }
}
