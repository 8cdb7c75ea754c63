internal import RTCEngine
internal import RTCWire

/// The long-term credential, the server's side (RFC 8489 §9.2.4).
extension TURNServerMachine {
    /// What the server takes, best first.
    private static let algorithms: [STUNPasswordAlgorithm] = [.sha256, .md5]

    /// A request that may be acted on, or nil: then it has been refused, or ignored.
    mutating func authenticate(
        _ request: STUNMessage, _ bytes: RawSpan, from client: TURNClientPath, at now: Instant
    ) -> Session? {
        guard request.integrityOffset != nil || request.sha256Integrity != nil else {
            challenge(request, .unauthenticated, from: client, at: now)
            return nil
        }
        let userHash = request.attributes.compactMap { if case .userHash(let hash) = $0 { hash } else { nil } }.first
        guard request.username != nil || userHash != nil, request.realm != nil, let nonce = request.nonce,
            let algorithm = algorithm(of: request)
        else {
            refuseStranger(request, .badRequest, from: client, at: now)
            return nil
        }
        // Who does not exist is refused as one whose password is wrong, after the same work.
        let username = request.username ?? userHash.flatMap { namesByHash[$0] }
        let passwords = username.map { self.passwords(of: $0, from: client, at: now) } ?? []
        guard request.realm == configuration.realm, let username,
            let session = session(request, bytes, username, passwords, algorithm)
        else {
            challenge(request, .unauthenticated, from: client, at: now)
            return nil
        }
        guard nonces.accepts(nonce, from: client, at: now) else {
            challenge(request, .staleNonce, from: client, at: now)
            return nil
        }
        return session
    }

    /// The one that the key is made with; nil when what the request says of it is not what we said (RFC 8489 §9.2.4:
    /// somebody in between may have changed it).
    private func algorithm(of request: STUNMessage) -> STUNPasswordAlgorithm? {
        let chosen = request.attributes.compactMap { if case .passwordAlgorithm(let value) = $0 { value } else { nil } }
        switch (request.passwordAlgorithms, chosen.first) {
        case (nil, nil): return .md5
        case (let offered?, let chosen?):
            guard offered == Self.algorithms.map(\.rawValue) else { return nil }
            return STUNPasswordAlgorithm(rawValue: chosen)
        case (nil, _?), (_?, nil): return nil
        }
    }

    private func passwords(of username: String, from client: TURNClientPath, at now: Instant) -> [String] {
        if let slot = slotOfClient[client], let allocation = slots[slot].allocation,
            allocation.login.username == username
        {
            return [allocation.password]
        }
        return configuration.accounts.passwords(
            of: username, unixTime: unixTimeAtOrigin + now.nanoseconds / 1_000_000_000)
    }

    private func session(
        _ request: STUNMessage, _ bytes: RawSpan, _ username: String, _ passwords: [String],
        _ algorithm: STUNPasswordAlgorithm
    ) -> Session? {
        for password in passwords {
            let key = STUNLongTermCredential(username: username, realm: configuration.realm, password: password)
                .key(algorithm)
            // §14.6: the newer of the two where both are there.
            let integrity: STUNIntegrityKey =
                request.sha256Integrity != nil ? .sha256(HMACSHA256(key: key)) : .sha1(HMACSHA1(key: key))
            if request.isAuthentic(in: bytes, key: integrity) {
                return Session(login: Login(username: username), password: password, key: integrity)
            }
        }
        return nil
    }

    // MARK: Answers to strangers

    /// Realm, nonce and what the server can do, for the client to try again.
    private mutating func challenge(
        _ request: STUNMessage, _ error: STUNErrorCode, from client: TURNClientPath, at now: Instant
    ) {
        refuseStranger(
            request, error,
            [
                .realm(configuration.realm), .nonce(nonces.make(for: client, at: now)),
                .passwordAlgorithms(Self.algorithms.map(\.rawValue)),
            ], from: client, at: now)
    }

    private mutating func refuseStranger(
        _ request: STUNMessage, _ error: STUNErrorCode, _ attributes: [STUNAttribute] = [],
        from client: TURNClientPath, at now: Instant
    ) {
        guard mayAnswerStranger(client, at: now) else { return }
        count { $0.errors[error.code, default: 0] += 1 }
        let answer = STUNMessage(
            .error, request.method, transactionID: request.transactionID, attributes: [.errorCode(error)] + attributes)
        put(.send(answer.encoded(signedWith: nil, fingerprint: request.hasFingerprint), to: client))
    }

    mutating func mayAnswerStranger(_ client: TURNClientPath, at now: Instant) -> Bool {
        switch client.transport {
        // Who has set up a connection is where it says it is.
        case .tcp, .tls: return true
        case .udp:
            guard strangers.allows(client.remote.ip, at: now) else {
                count { $0.strangersIgnored += 1 }
                return false
            }
            return true
        }
    }
}
