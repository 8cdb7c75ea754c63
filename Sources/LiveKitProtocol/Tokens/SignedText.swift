internal import SwiftProtobuf

/// A JSON Web Signature in its compact form (RFC 7515 §7.1): three parts in base64url with dots between them.
///
/// It is signed by HMAC with SHA-256. There is no choice of algorithms: what the header names is compared with that,
/// and never looked up (RFC 8725 §3.1), so neither `none` nor a public key taken for a secret gets anywhere.
package struct SignedText {
    /// What was signed. Nothing in it holds before `isSigned(by:)` has said so.
    package let payload: [UInt8]
    private let signedBytes: [UInt8]
    private let signature: [UInt8]

    package init(_ text: String) throws(AccessTokenRefusal) {
        guard text.utf8.count <= AccessToken.longest else { throw .tooLong(limit: AccessToken.longest) }
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count <= Self.longestHeader,
            let header = Base64.decode(parts[0], as: .token),
            let payload = Base64.decode(parts[1], as: .token),
            let signature = Base64.decode(parts[2], as: .token)
        else { throw .malformed }
        try Self.check(header: header)
        self.payload = payload
        self.signature = signature
        signedBytes = Array(text.utf8.prefix(parts[0].count + 1 + parts[1].count))
    }

    package func isSigned(by key: APIKey) -> Bool {
        guard let expected = SHA256.authenticationCode(of: signedBytes, key: key.secret) else { return false }
        return SHA256.areEqual(expected, signature)
    }

    /// RFC 7519 §4: of several claims with one name the last one counts, or the token is refused, which is simpler.
    /// Foundation would take the first; SwiftProtobuf's reader of any JSON takes none.
    func checkThatNoClaimComesTwice() throws(AccessTokenRefusal) {
        guard (try? Google_Protobuf_Struct(jsonUTF8Bytes: payload)) != nil else { throw .malformed }
    }

    /// Nil where OpenSSL has not enough memory.
    package static func sign(_ payload: [UInt8], with key: APIKey) -> String? {
        let text = header + "." + Base64.encodeForToken(payload)
        guard let signature = SHA256.authenticationCode(of: Array(text.utf8), key: key.secret) else { return nil }
        return text + "." + Base64.encodeForToken(signature)
    }

    /// Everybody's has some fifty bytes.
    private static let longestHeader = 4_096
    private static let header = Base64.encodeForToken(#"{"alg":"HS256","typ":"JWT"}"#.utf8)

    private static func check(header bytes: [UInt8]) throws(AccessTokenRefusal) {
        // RFC 7515 §4 says of the header's members what RFC 7519 does of claims, so it has the same reader.
        guard let header = try? Google_Protobuf_Struct(jsonUTF8Bytes: bytes),
            case .stringValue(let algorithm) = header.fields["alg"]?.kind
        else { throw .malformed }
        guard algorithm == "HS256" else { throw .anotherAlgorithm }
        // RFC 7515 §4.1.11: extensions that are critical and not understood. We understand none.
        guard header.fields["crit"] == nil else { throw .criticalExtension }
    }
}
