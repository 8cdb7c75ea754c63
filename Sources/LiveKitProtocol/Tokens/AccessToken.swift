package import Foundation

/// A LiveKit access token: who somebody is and what they may do, signed with an API key. Whoever holds one needs no
/// account.
package struct AccessToken: Sendable, Equatable {
    /// How far clocks may be apart.
    package static let leeway: TimeInterval = 60
    /// How long a token is good for unless something else is asked for: six hours.
    package static let usualValidity: TimeInterval = 6 * 3_600
    /// A longer text is not looked at. LiveKit's server takes no larger request head, and metadata may be half of that.
    package static let longest = 1 << 20

    /// Who its bearer is. Empty in a token that is for the server alone.
    package var identity: String
    package var claims: Claims
    package var expires: Date
    package var notBefore: Date?
    package var issued: Date?

    /// A token that is good from `now` on.
    package init(
        identity: String = "", claims: Claims = Claims(), at now: Date, validFor validity: TimeInterval = usualValidity
    ) {
        self.identity = identity
        self.claims = claims
        expires = now + validity
        notBefore = now
        issued = now
    }

    /// LiveKit's own claims, and one of ours. What a token does not say is empty, false or nil here, and is left out of
    /// one that we sign. Unknown claims are ignored, so that a newer cluster's tokens are good here too.
    package struct Claims: Codable, Sendable, Equatable {
        @Claim package var name = ""
        /// Lower-case name of the kind of participant.
        @Claim package var kind = ""
        @Claim package var kindDetails: [String] = []
        @Claim package var metadata = ""
        @Claim package var attributes: [String: String] = [:]
        package var video: VideoGrants?
        package var sip: SIPGrants?
        package var agent: AgentGrants?
        package var inference: InferenceGrants?
        package var observability: ObservabilityGrants?
        /// How the room is to be, should this participant bring it into being.
        @RoomConfigurationClaim package var roomConfig: LiveKitRoomConfiguration? = nil
        @Claim package var roomPreset = ""
        /// Base64 of the SHA-256 of the body that this token signs: a webhook's.
        @Claim package var sha256 = ""
        /// Of ours: for which job an agent comes, by its id, in the token that its worker gets with the job.
        @Claim package var agentJob = ""

        package init() {}

        /// A kind that we do not know counts as an ordinary participant, as in LiveKit.
        package var participantKind: LiveKitParticipantInfo.Kind {
            LiveKitParticipantInfo.Kind(claim: kind) ?? .standard
        }

        /// Has agents of these names come, should this participant bring the room into being.
        package mutating func dispatch(_ agents: [String]) {
            var configuration = roomConfig ?? LiveKitRoomConfiguration()
            configuration.agents += agents.map { name in
                var wish = LiveKitRoomAgentDispatch()
                wish.agentName = name
                return wish
            }
            roomConfig = configuration
        }

        package var participantKindDetails: [LiveKitParticipantInfo.KindDetail] {
            kindDetails.compactMap { LiveKitParticipantInfo.KindDetail(claim: $0) }
        }
    }
}

/// A token could not be signed.
package enum SigningError: Error, Equatable {
    /// One of its times is not finite.
    case notEncodable
    case outOfMemory
}

extension AccessToken {
    /// The token as it travels.
    package func signed(with key: APIKey) throws(SigningError) -> String {
        let registered = RegisteredClaims(
            iss: key.id, sub: identity.isEmpty ? nil : identity, exp: NumericDate(expires),
            nbf: notBefore.map(NumericDate.init), iat: issued.map(NumericDate.init))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let payload = try? encoder.encode(Payload(registered: registered, claims: claims)) else {
            throw .notEncodable
        }
        guard let text = SignedText.sign([UInt8](payload), with: key) else { throw .outOfMemory }
        return text
    }

    /// Reads a token and checks that one of the keys signed it and that it is good now, within `leeway`.
    package init(verifying text: String, with keys: APIKeys, at now: Date) throws(AccessTokenRefusal) {
        let signed = try SignedText(text)
        let payload = Data(signed.payload)
        // Who signed it is the one thing to be taken from a text that nobody has vouched for yet.
        let issuer: Issuer = try Self.read(payload)
        guard let issuer = issuer.iss, !issuer.isEmpty else { throw .noIssuer }
        guard let key = keys[issuer] else { throw .unknownKey }
        guard signed.isSigned(by: key) else { throw .wrongSignature }

        try signed.checkThatNoClaimComesTwice()
        let claims: Payload = try Self.read(payload)
        let registered = claims.registered
        guard let expires = registered.exp?.date else { throw .noExpiry }
        guard now < expires + Self.leeway else { throw .expired(expires) }
        // `iat` says how old a token is, not from when on it is good (RFC 7519 §4.1.6).
        if let start = registered.nbf?.date, now < start - Self.leeway { throw .notYetValid(start) }
        // Tokens of old had the identity as their own id.
        let subject = registered.sub ?? ""
        identity = subject.isEmpty ? registered.jti ?? "" : subject
        self.claims = claims.claims
        self.expires = expires
        notBefore = registered.nbf?.date
        issued = registered.iat?.date
    }

    /// Which key has signed a text that `init(verifying:with:at:)` has taken.
    package static func issuer(ofVerified text: String) -> String {
        guard let signed = try? SignedText(text), let issuer: Issuer = try? read(Data(signed.payload)) else {
            return ""
        }
        return issuer.iss ?? ""
    }

    private static func read<Value: Decodable>(_ payload: Data) throws(AccessTokenRefusal) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: payload)
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context)
        {
            let path = context.codingPath.map(\.stringValue)
            guard !path.isEmpty else { throw .malformed }
            throw .unreadableClaim(path.prefix(2).joined(separator: "."))
        } catch {
            throw .malformed
        }
    }
}

/// The claims of RFC 7519 §4.1 that LiveKit uses.
private struct RegisteredClaims: Codable {
    var iss: String?
    var sub: String?
    var jti: String?
    var exp: NumericDate?
    var nbf: NumericDate?
    var iat: NumericDate?
}

private struct Issuer: Decodable {
    let iss: String?
}

/// RFC 7519 §2: seconds since 1970, perhaps with a fraction. We write whole ones.
private struct NumericDate: Codable {
    let date: Date

    init(_ date: Date) { self.date = date }

    init(from decoder: any Decoder) throws {
        date = Date(timeIntervalSince1970: try decoder.singleValueContainer().decode(Double.self))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(date.timeIntervalSince1970.rounded(.down))
    }
}

/// Both kinds of claims are members of one object.
private struct Payload: Codable {
    let registered: RegisteredClaims
    let claims: AccessToken.Claims

    init(registered: RegisteredClaims, claims: AccessToken.Claims) {
        self.registered = registered
        self.claims = claims
    }

    init(from decoder: any Decoder) throws {
        registered = try RegisteredClaims(from: decoder)
        claims = try AccessToken.Claims(from: decoder)
    }

    func encode(to encoder: any Encoder) throws {
        try registered.encode(to: encoder)
        try claims.encode(to: encoder)
    }
}
