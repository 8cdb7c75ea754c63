package import ChatModel

/// Sessions: on which devices people are logged in.
///
/// A device holds one refresh token, which it changes for another whenever it needs an access token (RFC 9700 §4.14.2).
/// Of each session the hashes of the current token and of those before are kept, as long as a session lives that nobody
/// uses: whoever comes with an old one has stolen it, or it was stolen from them.
extension ChatTransaction {
    /// Logs somebody in whose password was found right. That takes a while: who has left in between, or has another
    /// password now, is not let in: nil.
    package func logIn(by credentials: Credentials, on device: String, token: SecretHash) throws -> SessionID? {
        try lockUser(credentials.user)
        guard let current = try self.credentials(of: credentials.user),
            current.passwordHash == credentials.passwordHash
        else { return nil }
        return try openSession(of: credentials.user, on: device, token: token)
    }

    /// Logs somebody in on a device.
    func openSession(of user: UserID, on device: String, token: SecretHash) throws -> SessionID {
        try session.run(
            """
            DELETE FROM former_tokens WHERE session_id IN (
                SELECT id FROM sessions WHERE user_id = $1 AND (ended_at IS NOT NULL OR expires_at <= $2))
            """, .id(user), .time(now))
        try endOldestSessions(of: user)
        let id: SessionID = makeID()
        try session.run(
            """
            INSERT INTO sessions (id, user_id, token_hash, is_confirmed, device, created_at, rotated_at, expires_at)
            VALUES ($1, $2, $3, 0, $4, $5, $5, $6)
            """, .id(id), .id(user), token.value, .text(Texts.line(device, upTo: 200) ?? "unknown"), .time(now),
            .time(now.advanced(by: lifetimes.session)))
        return id
    }

    /// Makes room for one more.
    private func endOldestSessions(of user: UserID) throws {
        let beyond = try session.rows(
            """
            SELECT id FROM sessions WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $2
            ORDER BY rotated_at DESC, id DESC LIMIT 1000 OFFSET $3
            """, .id(user), .time(now), .integer(limits.sessionsOfUser - 1))
        for var row in beyond {
            do {
                try endSession(try row.id(), of: user)
            } catch let error as ChatError where error.kind == .notFound {
                // It has been ended meanwhile.
            }
        }
    }

    /// Takes away those that have been over for a day, a part of them.
    ///
    /// - Returns: whether there may be more.
    package func sweepSessions(atMost count: Int = 500) throws -> Bool {
        let old = try session.rows(
            "SELECT id FROM sessions WHERE ended_at <= $1 OR expires_at <= $1 LIMIT $2",
            .time(now.advanced(by: .seconds(-86_400))), .integer(count))
        for var row in old {
            let id: SessionID = try row.id()
            try removeDevices(ofSession: id)
            try session.run("DELETE FROM former_tokens WHERE session_id = $1", .id(id))
            try session.run("DELETE FROM sessions WHERE id = $1", .id(id))
        }
        return old.count == count
    }

    /// What has come of a refresh token. Written in any case: a stolen token ends the session for both who have it.
    package enum Refreshing: Sendable, Equatable {
        case rotated(SessionID, of: UserID)
        /// Nobody has been given this token, or its session is over.
        case unknown
        /// It was used before: the session is over now.
        case reused
    }

    /// Whose a refresh token is, or was before it was changed for the next; nil for one that nobody has been given, or
    /// whose session is over.
    package func owner(ofRefreshToken token: SecretHash) throws -> UserID? {
        guard
            var row = try session.row(
                """
                SELECT s.user_id FROM sessions s
                WHERE (s.token_hash = $1 OR s.former_hash = $1) AND s.ended_at IS NULL AND s.expires_at > $2
                    AND \(Self.isOfSomebodyHere)
                UNION ALL
                SELECT s.user_id FROM former_tokens f JOIN sessions s ON s.id = f.session_id
                WHERE f.token_hash = $1 AND s.ended_at IS NULL AND s.expires_at > $2 AND \(Self.isOfSomebodyHere)
                """, token.value, .time(now))
        else { return nil }
        return try row.id()
    }

    /// Changes a refresh token for the next.
    ///
    /// The one before the current may come once more for a short while, as long as nobody has used the current one: its
    /// answer was lost.
    package func refresh(_ token: SecretHash, for next: SecretHash) throws -> Refreshing {
        guard
            var row = try session.row(
                """
                SELECT s.id, s.user_id, s.token_hash, s.is_confirmed, s.rotated_at FROM sessions s
                WHERE (s.token_hash = $1 OR s.former_hash = $1) AND s.ended_at IS NULL AND s.expires_at > $2
                    AND \(Self.isOfSomebodyHere)
                """ + (session.dialect == .postgres ? " FOR UPDATE" : ""), token.value, .time(now))
        else { return try refreshing(byFormer: token) }
        let (id, user): (SessionID, UserID) = (try row.id(), try row.id())
        let isCurrent = try row.bytes() == token.bytes
        let isConfirmed = try row.flag()
        let rotatedAt = try row.time()
        guard isCurrent || !isConfirmed && now - rotatedAt <= lifetimes.refreshGrace else {
            try session.run("UPDATE sessions SET ended_at = $2 WHERE id = $1", .id(id), .time(now))
            try removeDevices(ofSession: id)
            changes.loggedOut.insert(user)
            return .reused
        }
        // The token that is neither the next's former one nor the next. Of a repeated one that is the one that it gave
        // before: it was lost, or somebody has it, and who of the two repeats it nobody can tell (RFC 9700 §4.14.2).
        try keepToken(isCurrent ? "former_hash" : "token_hash", of: id)
        // A repeated one keeps its place as the former, and its time: the grace does not begin anew.
        try session.run(
            """
            UPDATE sessions SET token_hash = $2, former_hash = $3, is_confirmed = 0, rotated_at = $4, expires_at = $5
            WHERE id = $1
            """, .id(id), next.value, token.value, .time(isCurrent ? now : rotatedAt),
            .time(now.advanced(by: lifetimes.session)))
        return .rotated(id, of: user)
    }

    /// What comes of a token that is neither a session's current one nor the one before.
    private func refreshing(byFormer token: SecretHash) throws -> Refreshing {
        guard
            var row = try session.row(
                """
                SELECT s.id, s.user_id FROM former_tokens f JOIN sessions s ON s.id = f.session_id
                WHERE f.token_hash = $1 AND s.ended_at IS NULL AND s.expires_at > $2
                """, token.value, .time(now))
        else { return .unknown }
        let (id, user): (SessionID, UserID) = (try row.id(), try row.id())
        // RFC 9700 §4.14.2: which of the two is the thief nobody can tell.
        try session.run("UPDATE sessions SET ended_at = $2 WHERE id = $1", .id(id), .time(now))
        try removeDevices(ofSession: id)
        changes.loggedOut.insert(user)
        return .reused
    }

    /// Remembers one of the two tokens of a session that is to give place to another.
    private func keepToken(_ column: String, of id: SessionID) throws {
        try session.run(
            """
            INSERT INTO former_tokens (token_hash, session_id, rotated_at)
            SELECT \(column), id, rotated_at FROM sessions WHERE id = $1 AND \(column) IS NOT NULL
            ON CONFLICT DO NOTHING
            """, .id(id))
        try session.run(
            "DELETE FROM former_tokens WHERE session_id = $1 AND rotated_at < $2", .id(id),
            .time(now.advanced(by: .zero - lifetimes.session)))
    }

    /// Who a session is of; nil when it is over. To be asked with each request.
    package func user(of id: SessionID) throws -> UserID? {
        guard
            var row = try session.row(
                """
                SELECT s.user_id FROM sessions s
                WHERE s.id = $1 AND s.ended_at IS NULL AND s.expires_at > $2 AND \(Self.isOfSomebodyHere)
                """, .id(id), .time(now))
        else { return nil }
        return try row.id()
    }

    /// Of a session `s`: whose it is has not left the server.
    private static let isOfSomebodyHere =
        "EXISTS (SELECT 1 FROM users u WHERE u.id = s.user_id AND u.deactivated_at IS NULL)"

    /// Which of these sessions are over.
    package func sessionsOver(among ids: [SessionID]) throws -> Set<SessionID> {
        var over = Set(ids)
        // As many as a statement has parameters for.
        for start in stride(from: 0, to: ids.count, by: 500) {
            let part = ids[start..<min(start + 500, ids.count)]
            let list = (0..<part.count).map { "$\($0 + 2)" }.joined(separator: ", ")
            for var row in try session.rows(
                """
                SELECT s.id FROM sessions s
                WHERE s.ended_at IS NULL AND s.expires_at > $1 AND s.id IN (\(list)) AND \(Self.isOfSomebodyHere)
                """,
                [.time(now)] + part.map { SQLValue.id($0) })
            {
                over.remove(try row.id())
            }
        }
        return over
    }

    /// An access token that a refresh token gave has been used: its answer has arrived.
    ///
    /// - Returns: false when it was known already, and nothing was written.
    @discardableResult
    package func confirm(_ id: SessionID) throws -> Bool {
        try session.run("UPDATE sessions SET is_confirmed = 1 WHERE id = $1 AND is_confirmed = 0", .id(id)) == 1
    }

    /// Whether there is nothing to confirm: it is known already that the newest refresh token has arrived, or the
    /// access token that was used is older, and tells nothing of it.
    package func isConfirmed(_ id: SessionID, byTokenOf time: Timestamp) throws -> Bool {
        guard
            var row = try session.row("SELECT is_confirmed, rotated_at FROM sessions WHERE id = $1", .id(id))
        else { return true }
        let isConfirmed = try row.flag()
        return try isConfirmed || row.time() > time
    }

    package func sessions(of user: UserID, current: SessionID?) throws -> [SessionInfo] {
        try session.rows(
            """
            SELECT id, device, created_at, rotated_at FROM sessions
            WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $2 ORDER BY rotated_at DESC, id
            """, .id(user), .time(now)
        ).map {
            var row = $0
            let id: SessionID = try row.id()
            return SessionInfo(
                id: id, device: try row.text(), createdAt: try row.time(), lastUsedAt: try row.time(),
                isCurrent: id == current)
        }
    }

    /// Logs one device out.
    package func endSession(_ id: SessionID, of user: UserID) throws {
        let ended = try session.run(
            "UPDATE sessions SET ended_at = $3 WHERE id = $1 AND user_id = $2 AND ended_at IS NULL", .id(id),
            .id(user), .time(now))
        guard ended == 1 else { throw ChatError.notFound("session") }
        try removeDevices(ofSession: id)
        changes.loggedOut.insert(user)
    }

    /// Logs all devices out, but one if it is named.
    package func endSessions(of user: UserID, but kept: SessionID?) throws {
        try session.run(
            "UPDATE sessions SET ended_at = $2 WHERE user_id = $1 AND ended_at IS NULL AND id <> $3", .id(user),
            .time(now), .id(kept ?? makeID()))
        try removeDevices(of: user, but: kept)
        changes.loggedOut.insert(user)
    }
}

/// Links that are sent by e-mail, each for once.
extension ChatTransaction {
    package enum EmailPurpose: String, Sendable {
        case verify, reset
    }

    /// Makes a link's secret good for somebody. Of those that confirm an address the one before it is void; of those by
    /// which a password is chosen some stay good until one is used, for anybody may ask for another one.
    ///
    /// - Parameter isMailed: false where the link comes to them by another way, as from a log or by whoever runs the
    ///   server: whoever has it need not read their address, and it confirms none.
    package func openEmailToken(
        _ token: SecretHash, for purpose: EmailPurpose, of user: UserID, isMailed: Bool = true
    ) throws {
        let lifetime = purpose == .verify ? lifetimes.emailVerification : lifetimes.passwordReset
        try session.run(
            """
            DELETE FROM email_tokens WHERE user_id = $1 AND purpose = $2 AND token_hash NOT IN (
                SELECT token_hash FROM email_tokens WHERE user_id = $1 AND purpose = $2 AND expires_at > $3
                ORDER BY created_at DESC, token_hash LIMIT $4)
            """, .id(user), .name(purpose), .time(now), .integer(purpose == .reset ? limits.resetLinks - 1 : 0))
        try session.run(
            """
            INSERT INTO email_tokens (token_hash, user_id, purpose, email, created_at, expires_at)
            SELECT $1, id, $2, CASE WHEN $6 = 1 THEN email_key ELSE '' END, $3, $4 FROM users
            WHERE id = $5 AND deactivated_at IS NULL
            """, token.value, .name(purpose), .time(now), .time(now.advanced(by: lifetime)), .id(user), .flag(isMailed))
    }

    /// Uses a link up, and all others that somebody has for the same purpose.
    ///
    /// - Returns: whose it is.
    package func useEmailToken(_ token: SecretHash, for purpose: EmailPurpose) throws -> UserID {
        guard
            var row = try session.row(
                """
                DELETE FROM email_tokens WHERE token_hash = $1 AND purpose = $2 RETURNING user_id, email, expires_at
                """, token.value, .name(purpose))
        else { throw ChatError.linkUsed }
        let user: UserID = try row.id()
        let email = try row.text()
        guard try row.time() > now else { throw ChatError.linkExpired }
        try session.run("DELETE FROM email_tokens WHERE user_id = $1 AND purpose = $2", .id(user), .name(purpose))
        // Whoever reads the link reads the address that it was sent to, if it was to any, whatever it was sent for.
        try session.run(
            """
            UPDATE users SET email_verified_at = COALESCE(email_verified_at, $3) WHERE id = $1 AND email_key = $2
            """, .id(user), .text(email), .time(now))
        return user
    }
}

extension ChatError {
    package static let wrongCredentials = ChatError(
        .unauthenticated, code: "wrong_credentials", "The name or the password is wrong.")
    package static let wrongPassword = ChatError.forbidden("wrong_password", "The current password is wrong.")
}
