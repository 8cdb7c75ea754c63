internal import ChatCore
internal import ChatModel

/// Making an account, logging in and out, passwords.
extension ChatAPI {
    var accountRoutes: [Route] {
        [
            Route("POST", "/auth/register", for: .anybody, register),
            Route("POST", "/auth/login", for: .anybody, logIn),
            Route("POST", "/auth/refresh", for: .link, refresh),
            Route("POST", "/auth/logout", logOut),
            Route("POST", "/auth/logout_all", logOutEverywhere),
            Route("GET", "/auth/sessions", sessions),
            Route("DELETE", "/auth/sessions/{session_id}", endSession),
            Route("POST", "/auth/verify_email", for: .anybody, verifyEmail),
            Route("POST", "/auth/resend_verification", for: .anybody, resendVerification),
            Route("POST", "/auth/forgot_password", for: .anybody, forgotPassword),
            Route("POST", "/auth/reset_password", for: .anybody, resetPassword),
            Route("POST", "/auth/change_password", changePassword),
        ]
    }

    /// The answer is the same whether the address was new or not: what became of it is in a letter to that address.
    @Sendable private func register(_ request: APIRequest) async throws -> APIResponse {
        let body: RegisterRequest = try request.body()
        try Texts.password(body.password, service.limits)
        let email = try Texts.email(body.email)
        let invitation = body.invitation.map { Secret(text: $0).hash }
        let isOpen = configuration.isRegistrationOpen
        try later.demandRoom()
        let new = NewAccount(
            email: body.email, username: body.username, displayName: body.displayName,
            passwordHash: try await passwords.hash(body.password))
        let secret = Secret.random()
        let isDelivering = mailer.isDelivering
        let isKnown = try await service.write { chat -> Bool in
            if let invitation {
                // Asked first, so that what it says tells nothing of whether the address has an account.
                try chat.checkInvitation(with: invitation, isFor: email)
            } else if !isOpen, try !chat.isServerNew() {
                throw ChatError.registrationClosed
            }
            if isDelivering { return try chat.enroll(new, with: secret.hash, invitation: invitation) }
            guard let user = try chat.register(new) else { return true }
            try chat.openEmailToken(secret.hash, for: .verify, of: user, isMailed: false)
            if let invitation { _ = try chat.accept(invitationWith: invitation, by: user) }
            return false
        }
        // Not waited for, and counted alike: neither the time nor what is left to ask for tells the two apart.
        afterwards("a letter about a registration was not written") {
            guard (try? await limits.take(.letters(email.lowercased()), at: service.now())) != nil else { return }
            guard isKnown else {
                return post(letters.verification(to: email, of: body.username.lowercased(), secret: secret))
            }
            post(letters.alreadyRegistered(to: try await service.read { try $0.account(addressedBy: email).email }))
        }
        return try .json(RegistrationAnswer(isVerificationRequired: isDelivering), status: 202)
    }

    @Sendable private func logIn(_ request: APIRequest) async throws -> APIResponse {
        let body: LoginRequest = try request.body()
        // As an address is taken when it is registered: keyboards of phones put a space behind it.
        let name = Texts.trimmed(body.login).lowercased()
        // By the name that was typed: counted together, address and username would tell whether they are one person's.
        // Who has no name that anybody could have is counted with all of those: what is counted by is kept.
        let counted = name.utf8.count <= 256 ? name : "\0"
        // The site's first: what is refused there takes nothing from others.
        try await limits.take(.passwords(counted, site: request.http.site), at: service.now())
        try await limits.take(.passwordsFromAll(counted), at: service.now())
        let device = body.device ?? request.header("User-Agent") ?? ""
        // Looked at once more when it has changed since: another login may have kept the same password at another cost.
        for _ in 0..<2 {
            let credentials = try await credentials(of: name, knowing: body.password)
            if let answer = try await openSession(by: credentials, on: device, body.password) { return answer }
        }
        throw ChatError.wrongCredentials
    }

    private func credentials(of name: String, knowing password: String) async throws -> Credentials {
        // For SQLite a text ends at its first NUL, and PostgreSQL takes none: nobody has such a name.
        let (credentials, registered) =
            name.utf8.contains(0)
            ? (nil, nil)
            : try await service.read { (try $0.credentials(of: name), try $0.passwordHash(ofRegistrationAs: name)) }
        // Without an account it takes as long to find out.
        let isRight = try await passwords.isRight(password, for: credentials?.passwordHash)
        if !isRight, mailer.isDelivering, try await passwords.isRight(password, for: registered) {
            throw ChatError.emailNotVerified
        }
        guard let credentials, isRight else { throw ChatError.wrongCredentials }
        guard credentials.isEmailVerified || !mailer.isDelivering else { throw ChatError.emailNotVerified }
        return credentials
    }

    /// - Returns: nil when what it takes to log in has changed since it was looked at.
    private func openSession(
        by credentials: Credentials, on device: String, _ password: String
    ) async throws -> APIResponse? {
        let secret = Secret.random()
        // Only now somebody knows the password. With many at the door it waits for another time.
        let isOutdated = passwords.isOutdated(credentials.passwordHash)
        let anew = isOutdated ? try? await passwords.hash(password) : nil
        let opened = try await service.write { chat -> (SessionID, Account)? in
            guard let session = try chat.logIn(by: credentials, on: device, token: secret.hash) else { return nil }
            if let anew { try chat.keepPassword(of: credentials.user, as: anew) }
            return (session, try chat.account(of: credentials.user))
        }
        guard let (session, account) = opened else { return nil }
        return try pair(Caller(user: credentials.user, session: session), secret, account)
    }

    private func pair(_ caller: Caller, _ secret: Secret, _ account: Account) throws -> APIResponse {
        try .json(
            TokenPair(
                accessToken: try tokens.token(for: caller, at: service.now()),
                expiresIn: Int(tokens.lifetime.components.seconds), refreshToken: secret.text, account: account))
    }

    /// For whoever has a refresh token: a whole office behind one address comes back at once.
    @Sendable private func refresh(_ request: APIRequest) async throws -> APIResponse {
        let token = try await knownToken(of: request)
        let next = Secret.random()
        let outcome = try await service.write { chat -> (ChatTransaction.Refreshing, Account?) in
            let refreshing = try chat.refresh(token, for: next.hash)
            guard case .rotated(_, let user) = refreshing else { return (refreshing, nil) }
            return (refreshing, try chat.account(of: user))
        }
        guard case .rotated(let session, let user) = outcome.0, let account = outcome.1 else {
            throw ChatError.sessionOver
        }
        return try pair(Caller(user: user, session: session), next, account)
    }

    /// One that is wrong counts with what strangers ask for.
    private func knownToken(of request: APIRequest) async throws -> SecretHash {
        try await limits.take(.tokens(request.http.site), at: service.now())
        let (token, user): (SecretHash, UserID)
        do {
            let body: RefreshRequest = try request.body()
            let given = Secret(text: body.refreshToken)
            guard let owner = try await service.read({ try $0.owner(ofRefreshToken: given.hash) }) else {
                throw ChatError.sessionOver
            }
            (token, user) = (given.hash, owner)
        } catch let error as ChatError where error.kind != .unavailable {
            try await limits.take(.strangers(request.http.site), at: service.now())
            throw error
        }
        try await limits.take(.requests(user), at: service.now())
        return token
    }

    @Sendable private func logOut(_ request: APIRequest) async throws -> APIResponse {
        let (user, session) = (try request.user(), try request.session())
        try await service.write { try $0.endSession(session, of: user) }
        return .nothing
    }

    @Sendable private func logOutEverywhere(_ request: APIRequest) async throws -> APIResponse {
        let user = try request.user()
        try await service.write { try $0.endSessions(of: user, but: nil) }
        return .nothing
    }

    @Sendable private func sessions(_ request: APIRequest) async throws -> APIResponse {
        let (user, session) = (try request.user(), try request.session())
        return try .json(Page(try await service.read { try $0.sessions(of: user, current: session) }))
    }

    @Sendable private func endSession(_ request: APIRequest) async throws -> APIResponse {
        let (user, session): (UserID, SessionID) = (try request.user(), try request.id("session_id"))
        try await service.write { try $0.endSession(session, of: user) }
        return .nothing
    }

    // MARK: Letters

    @Sendable private func verifyEmail(_ request: APIRequest) async throws -> APIResponse {
        let body: TokenRequest = try request.body()
        let token = Secret(text: body.token).hash
        let isOpen = configuration.isRegistrationOpen
        try await service.write { chat in
            guard try chat.confirm(registrationWith: token, whereOpen: isOpen) == nil else { return }
            _ = try chat.useEmailToken(token, for: .verify)
        }
        return .nothing
    }

    @Sendable private func resendVerification(_ request: APIRequest) async throws -> APIResponse {
        let body: EmailRequest = try request.body()
        try await sendLink(to: body.email, { [.letters($0)] }) { chat, address, secret in
            guard let credentials = try chat.credentials(of: address) else {
                return try chat.renewRegistration(of: address, with: secret.hash).map {
                    letters.verification(to: $0.email, of: $0.username, secret: secret)
                }
            }
            guard !credentials.isEmailVerified else { return nil }
            try chat.openEmailToken(
                secret.hash, for: .verify, of: credentials.user, isMailed: mailer.isDelivering)
            let account = try chat.account(of: credentials.user)
            return letters.verification(to: account.email, of: account.profile.username, secret: secret)
        }
        return APIResponse(status: 202)
    }

    @Sendable private func forgotPassword(_ request: APIRequest) async throws -> APIResponse {
        let body: EmailRequest = try request.body()
        let site = request.http.site
        try await sendLink(to: body.email, { [.resets($0, site: site), .resetsFromAll($0)] }) { chat, address, secret in
            guard let credentials = try chat.credentials(of: address) else { return nil }
            try chat.openEmailToken(secret.hash, for: .reset, of: credentials.user, isMailed: mailer.isDelivering)
            return letters.reset(to: try chat.account(of: credentials.user).email, secret: secret)
        }
        return APIResponse(status: 202)
    }

    /// Where there is nobody of this address nothing is sent, and nobody can tell: whether there is somebody is looked
    /// for after the answer, for a write waits for the disk. A letter goes to the address that was registered: one that
    /// is only like it, with a Kelvin sign for a "k", is another mailbox.
    ///
    /// - Parameters:
    ///   - kinds: what letters to an address count as.
    ///   - letter: makes the secret good for an address, and the letter; nil where there is none.
    private func sendLink(
        to email: String, _ kinds: (String) -> [RequestLimits.Kind],
        _ letter: @escaping @Sendable (ChatTransaction, String, Secret) throws -> Mail?
    ) async throws {
        let address = try Texts.email(email, isNew: false)
        try later.demandRoom()
        for kind in kinds(address.lowercased()) { try await limits.take(kind, at: service.now()) }
        afterwards("a link could not be made") {
            let secret = Secret.random()
            if let mail = try await service.write({ try letter($0, address, secret) }) { post(mail) }
        }
    }

    // MARK: Passwords

    @Sendable private func resetPassword(_ request: APIRequest) async throws -> APIResponse {
        let body: ResetPasswordRequest = try request.body()
        try Texts.password(body.password, service.limits)
        let token = Secret(text: body.token).hash
        let hash = try await passwords.hash(body.password)
        try await service.write { chat in
            let user = try chat.useEmailToken(token, for: .reset)
            try chat.changePassword(of: user, to: hash, keeping: nil)
        }
        return .nothing
    }

    @Sendable private func changePassword(_ request: APIRequest) async throws -> APIResponse {
        let body: ChangePasswordRequest = try request.body()
        let (user, session) = (try request.user(), try request.session())
        try Texts.password(body.password, service.limits)
        // From wherever the session is used: others cannot ask.
        try await limits.take(.passwords(user.description, site: "session"), at: service.now())
        // Looked at once more when it has changed since: a login may have kept the same password at another cost.
        for _ in 0..<2 {
            let former = try await service.read { try $0.credentials(of: user)?.passwordHash }
            guard let former, try await passwords.isRight(body.currentPassword, for: former) else { break }
            let hash = try await passwords.hash(body.password)
            do {
                try await service.write { try $0.changePassword(of: user, from: former, to: hash, keeping: session) }
                return .nothing
            } catch let error as ChatError where error == .wrongPassword {}
        }
        throw ChatError.wrongPassword
    }
}

extension ChatError {
    fileprivate static let emailNotVerified = ChatError.forbidden(
        "email_not_verified", "Confirm your e-mail address first: we have sent you a link.")
}
