package import ChatModel

/// Registrations: accounts that are to be when somebody has read the letter to their address.
///
/// Nobody is to find out whose addresses there are. So whoever registers an address that has an account leaves the same
/// behind as whoever registers a new one: a name that is taken, and a password with which they hear that the address is
/// to be confirmed. It differs in the letter alone, which has no link then.
extension ChatTransaction {
    /// Keeps what somebody asks for until the address is confirmed.
    ///
    /// - Parameters:
    ///   - token: of the link's secret.
    ///   - invitation: that is accepted when the account is made.
    /// - Returns: whether the address has an account already: then nobody is to learn the secret.
    /// - Throws: `ChatError` for a name that is taken, and for texts that are not what they are to be.
    package func enroll(_ new: NewAccount, with token: SecretHash, invitation: SecretHash? = nil) throws -> Bool {
        let email = try Texts.email(new.email)
        let username = try Texts.username(new.username, limits)
        let displayName = try Texts.displayName(new.displayName, limits)
        guard try !isUsernameTaken(username) else { throw ChatError.usernameTaken }
        let id: Identifier<Registration> = makeID()
        let isKept = try session.run(
            """
            INSERT INTO registrations (id, email, email_key, username, display_name, password_hash, invitation_hash,
                token_hash, created_at, expires_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (username) DO NOTHING
            """, .id(id), .text(email), .text(email.lowercased()), .text(username), .text(displayName),
            .text(new.passwordHash), invitation?.value ?? .null, token.value, .time(now),
            .time(now.advanced(by: lifetimes.emailVerification)))
        guard isKept == 1 else { throw ChatError.usernameTaken }
        return try hasAccount(email)
    }

    /// Of what the identifiers of registrations are.
    private enum Registration {}

    private func hasAccount(_ email: String) throws -> Bool {
        try session.row("SELECT 1 FROM users WHERE email_key = $1", .text(email.lowercased())) != nil
    }

    /// Whether somebody has a username, or will have it when their address is confirmed.
    ///
    /// - Parameter user: whose own name does not count.
    func isUsernameTaken(_ username: String, but user: UserID? = nil) throws -> Bool {
        let owner = try session.row(
            "SELECT 1 FROM users WHERE username = $1 AND id <> $2", .text(username), .id(user ?? makeID()))
        return try owner != nil
            || session.row("SELECT 1 FROM registrations WHERE username = $1", .text(username)) != nil
    }

    /// Makes the account of a registration, whose link somebody has read: the address is confirmed.
    ///
    /// - Parameter isOpen: whether anybody may make an account; otherwise only who is invited, and the first one.
    /// - Returns: nil when the link is of no registration.
    /// - Throws: `ChatError` when the link is too old, or the account cannot be made any more.
    package func confirm(registrationWith token: SecretHash, whereOpen isOpen: Bool) throws -> UserID? {
        guard
            var row = try session.row(
                """
                DELETE FROM registrations WHERE token_hash = $1
                RETURNING email, username, display_name, password_hash, invitation_hash, expires_at
                """, token.value)
        else { return nil }
        let new = NewAccount(
            email: try row.text(), username: try row.text(), displayName: try row.text(),
            passwordHash: try row.text())
        let invitation = try row.bytesOrNull().map { SecretHash($0) }
        guard try row.time() > now else { throw ChatError.linkExpired }
        // Many may have registered before there was an owner, who is one.
        if !isOpen, invitation == nil, try !isServerNew() { throw ChatError.registrationClosed }
        // By another link, in between.
        guard let user = try register(new) else { throw ChatError.linkUsed }
        try session.run("UPDATE users SET email_verified_at = $2 WHERE id = $1", .id(user), .time(now))
        if let invitation {
            do {
                _ = try accept(invitationWith: invitation, by: user)
            } catch let error as ChatError where error.kind == .gone && isOpen {
                // They could have come without it.
            }
        }
        return user
    }

    /// The password's hash of who has registered and not confirmed the address: the first of an address, so that what
    /// becomes of those after it changes nothing.
    package func passwordHash(ofRegistrationAs name: String) throws -> String? {
        let key = name.lowercased()
        guard
            var row = try session.row(
                """
                SELECT password_hash FROM registrations WHERE email_key = $1 OR username = $1
                ORDER BY created_at, id LIMIT 1
                """, .text(key))
        else { return nil }
        return try row.text()
    }

    package struct RenewedRegistration: Sendable, Equatable {
        package let username: String
        /// As it was registered.
        package let email: String
    }

    /// Makes another link good for the last registration of an address that has no account. No link outlasts its
    /// registration.
    ///
    /// - Returns: what it is for; nil where there is none.
    package func renewRegistration(of email: String, with token: SecretHash) throws -> RenewedRegistration? {
        guard try !hasAccount(email),
            var last = try session.row(
                """
                SELECT id, created_at FROM registrations WHERE email_key = $1 AND created_at > $2
                ORDER BY created_at DESC, id DESC LIMIT 1
                """, .text(email.lowercased()), .time(now.advanced(by: .zero - lifetimes.registration)))
        else { return nil }
        let id: Identifier<Registration> = try last.id()
        let end = try last.time().advanced(by: lifetimes.registration)
        guard
            var row = try session.row(
                """
                UPDATE registrations SET token_hash = $2, expires_at = $3 WHERE id = $1 RETURNING username, email
                """, .id(id), token.value, .time(min(end, now.advanced(by: lifetimes.emailVerification))))
        else { return nil }
        return RenewedRegistration(username: try row.text(), email: try row.text())
    }

    /// Takes away those that nobody has confirmed in time, whose names are free then. A part of them, so that nobody
    /// waits for long.
    ///
    /// - Returns: whether there may be more.
    package func sweepRegistrations(atMost count: Int = 1_000) throws -> Bool {
        let gone = try session.run(
            """
            DELETE FROM registrations WHERE id IN (
                SELECT id FROM registrations WHERE created_at <= $1 LIMIT $2)
            """, .time(now.advanced(by: .zero - lifetimes.registration)), .integer(count))
        return gone == count
    }
}

extension ChatError {
    static let linkExpired = ChatError(.gone, code: "link_expired", "This link is too old.")
    static let linkUsed = ChatError(.gone, code: "link_used", "This link was used, or never there.")
    package static let registrationClosed = ChatError.forbidden(
        "registration_closed", "This server takes those who are invited.")
}
