internal import RTCWire

/// The long-term credential at work (RFC 8489 §9.2): nothing at first, then what the server's challenge asks for.
struct TURNAuthentication: Sendable {
    private struct Challenge: Sendable {
        let realm: String
        let nonce: [UInt8]
        /// What the server offered, to be repeated, and what we took of it; nil for servers before RFC 8489.
        let algorithms: (offered: [UInt16], chosen: STUNPasswordAlgorithm)?
        let userHash: [UInt8]?
        let key: STUNIntegrityKey
    }

    private let username: String
    private let password: String
    private var challenge: Challenge?

    init(username: String, password: String) {
        self.username = username
        self.password = password
    }

    /// What requests are signed with, and answers have to be; nil before the first challenge.
    var key: STUNIntegrityKey? { challenge?.key }

    /// Takes the realm and nonce of a 401 or 438. False when they cannot be answered, and the server is to be left
    /// alone.
    mutating func take(_ response: STUNMessage) -> Bool {
        guard let realm = response.realm ?? challenge?.realm, let nonce = response.nonce, !nonce.isEmpty else {
            return false
        }
        let credential = STUNLongTermCredential(username: username, realm: realm, password: password)
        let cookie = STUNNonceCookie(nonce: nonce)
        let userHash = cookie.contains(.usernameAnonymity) ? credential.userHash : nil
        guard cookie.contains(.passwordAlgorithms) else {
            let key = STUNIntegrityKey.sha1(HMACSHA1(key: credential.key(.md5)))
            challenge = Challenge(realm: realm, nonce: nonce, algorithms: nil, userHash: userHash, key: key)
            return true
        }
        // §9.2.5: the cookie promises a list. Somebody who has removed it wants a weaker password hash.
        guard let offered = response.passwordAlgorithms,
            let chosen = offered.lazy.compactMap(STUNPasswordAlgorithm.init).first
        else { return false }
        challenge = Challenge(
            realm: realm, nonce: nonce, algorithms: (offered, chosen), userHash: userHash,
            key: .sha256(HMACSHA256(key: credential.key(chosen))))
        return true
    }

    /// The datagram of a request, signed when there has been a challenge. TURN messages share their 5-tuple with
    /// nothing that could be taken for them, so they go without FINGERPRINT.
    func encode(_ request: STUNMessage) -> [UInt8] {
        guard let challenge else { return request.encoded(signedWith: nil, fingerprint: false) }
        var request = request
        request.attributes.append(challenge.userHash.map { .userHash($0) } ?? .username(username))
        request.attributes += [.realm(challenge.realm), .nonce(challenge.nonce)]
        if let algorithms = challenge.algorithms {
            request.attributes.append(.passwordAlgorithms(algorithms.offered))
            request.attributes.append(.passwordAlgorithm(algorithms.chosen.rawValue))
        }
        return request.encoded(signedWith: challenge.key, fingerprint: false)
    }
}
