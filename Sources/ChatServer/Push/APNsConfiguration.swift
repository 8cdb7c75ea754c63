/// How the server reaches Apple's push service, and what it shows there.
package struct APNsConfiguration: Sendable {
    /// The private key for provider tokens: a `.p8` file's text, PEM of PKCS #8.
    package var key: String
    /// The key's name at Apple, of ten characters.
    package var keyID: String
    package var teamID: String
    /// Bundle identifiers of the apps that are pushed to; devices with others are left alone.
    package var topics: Set<String>
    /// Another service than Apple's two, for both of them: `https://HOST:PORT`.
    package var url: String?
    /// Certificates (PEM) by which that service is known; nil for the machine's.
    package var certificatesFile: String?

    package init(
        key: String, keyID: String, teamID: String, topics: Set<String>, url: String? = nil,
        certificatesFile: String? = nil
    ) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
        self.topics = topics
        self.url = url
        self.certificatesFile = certificatesFile
    }
}

/// Why pushing cannot begin.
package enum APNsFault: Error, Equatable, CustomStringConvertible {
    case notAKey
    case notSigned
    case noCertificates

    package var description: String {
        switch self {
        case .notAKey: "The key for Apple's push service is no private key on the curve P-256 in PEM."
        case .noCertificates: "The file of certificates for the push service has none that can be read."
        case .notSigned: "OpenSSL could not sign a provider token."
        }
    }
}
