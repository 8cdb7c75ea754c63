package import ChatModel

/// A token of Apple's push service, in lower-case hexadecimal digits.
package struct PushToken: Sendable, Hashable {
    package let text: String

    /// Nil for what is none: Apple says nothing of its length, and that it may grow.
    package init?(_ text: String) {
        let text = text.lowercased()
        guard text.utf8.count.isMultiple(of: 2), (8...200).contains(text.utf8.count / 2),
            text.utf8.allSatisfy({
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            })
        else { return nil }
        self.text = text
    }
}

/// Devices: where people are pushed to.
extension ChatTransaction {
    private static let deviceColumns =
        "d.id, d.platform, d.app_id, d.environment, d.name, d.alert_token IS NOT NULL, d.voip_token IS NOT NULL, "
        + "d.session_id, d.created_at, d.updated_at"

    private static func device(_ row: inout SQLRow, for session: SessionID) throws -> Device {
        let (id, platform, appID): (DeviceID, DevicePlatform, String) = (
            try row.id(), try row.name(), try row.text()
        )
        let (environment, name): (PushEnvironment, String) = (try row.name(), try row.text())
        let (hasAlertToken, hasVoIPToken) = (try row.flag(), try row.flag())
        let owner: SessionID = try row.id()
        return Device(
            id: id, platform: platform, appID: appID, environment: environment, name: name,
            hasAlertToken: hasAlertToken, hasVoIPToken: hasVoIPToken, isCurrent: owner == session,
            createdAt: try row.time(), updatedAt: try row.time())
    }

    /// Registers the app that a session is of, or registers it anew. A token that somebody else had is theirs no more:
    /// another person has logged in on that device.
    package func registerDevice(
        _ request: RegisterDeviceRequest, of user: UserID, session: SessionID
    ) throws -> Device {
        guard (1...155).contains(request.appID.utf8.count),
            request.appID.lowercased().utf8.allSatisfy({
                Texts.isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
            })
        else { throw ChatError.invalid("app_id", "This is no bundle identifier.") }
        let alert = try Self.token(request.alertToken, field: "alert_token")
        let voip = try Self.token(request.voipToken, field: "voip_token")
        guard alert != nil || voip != nil else {
            throw ChatError.invalid("alert_token", "One of alert_token and voip_token has to be there.")
        }
        let name = try request.name.map { try Texts.note($0, upTo: limits.deviceNameLength, field: "name") }
        // Two who register at the same time on PostgreSQL come one after the other.
        try lockUser(user)
        let known = try deviceID(of: request.appID, session: session)
        let id = known ?? makeID()
        try release(alert, voip, but: id)
        if known == nil {
            try self.session.run(
                """
                INSERT INTO devices (id, user_id, session_id, platform, app_id, environment, name, created_at, updated_at)
                VALUES ($1, $2, $3, $4, $5, $6, '', $7, $7)
                """, .id(id), .id(user), .id(session), .name(request.platform), .text(request.appID),
                .name(request.environment), .time(now))
        }
        try self.session.run(
            """
            UPDATE devices SET platform = $2, environment = $3, name = COALESCE($4, name), updated_at = $5,
                alert_token = COALESCE($6, alert_token), voip_token = COALESCE($7, voip_token),
                alert_registered_at = COALESCE($8, alert_registered_at),
                voip_registered_at = COALESCE($9, voip_registered_at)
            WHERE id = $1
            """, .id(id), .name(request.platform), .name(request.environment), .text(name), .time(now),
            .text(alert?.text), .text(voip?.text), .time(alert.map { _ in now }), .time(voip.map { _ in now }))
        try removeOldestDevices(of: user)
        return try device(id, for: session)
    }

    private static func token(_ text: String?, field: String) throws -> PushToken? {
        guard let text else { return nil }
        guard let token = PushToken(text) else {
            throw ChatError.invalid(field, "A token has from 8 to 200 bytes, each two hexadecimal digits.")
        }
        return token
    }

    private func deviceID(of appID: String, session: SessionID) throws -> DeviceID? {
        guard
            var row = try self.session.row(
                "SELECT id FROM devices WHERE session_id = $1 AND app_id = $2", .id(session), .text(appID))
        else { return nil }
        return try row.id()
    }

    /// Takes tokens from whatever other devices have them.
    private func release(_ alert: PushToken?, _ voip: PushToken?, but id: DeviceID) throws {
        if let alert {
            try session.run(
                "UPDATE devices SET alert_token = NULL WHERE alert_token = $1 AND id <> $2", .text(alert.text), .id(id))
        }
        if let voip {
            try session.run(
                "UPDATE devices SET voip_token = NULL WHERE voip_token = $1 AND id <> $2", .text(voip.text), .id(id))
        }
        try removeDevicesWithoutTokens()
    }

    private func removeDevicesWithoutTokens() throws {
        try session.run("DELETE FROM devices WHERE alert_token IS NULL AND voip_token IS NULL")
    }

    private func removeOldestDevices(of user: UserID) throws {
        try session.run(
            """
            DELETE FROM devices WHERE user_id = $1 AND id NOT IN (
                SELECT id FROM devices WHERE user_id = $1 ORDER BY updated_at DESC, id DESC LIMIT $2)
            """, .id(user), .integer(limits.devicesOfUser))
    }

    private func device(_ id: DeviceID, for session: SessionID) throws -> Device {
        guard
            var row = try self.session.row("SELECT \(Self.deviceColumns) FROM devices d WHERE d.id = $1", .id(id))
        else { throw ChatError.notFound("device") }
        return try Self.device(&row, for: session)
    }

    /// The last one registered first.
    package func devices(of user: UserID, for session: SessionID) throws -> [Device] {
        try self.session.rows(
            "SELECT \(Self.deviceColumns) FROM devices d WHERE d.user_id = $1 ORDER BY d.updated_at DESC, d.id DESC",
            .id(user)
        ).map {
            var row = $0
            return try Self.device(&row, for: session)
        }
    }

    package func removeDevice(_ id: DeviceID, of user: UserID) throws {
        let removed = try session.run("DELETE FROM devices WHERE id = $1 AND user_id = $2", .id(id), .id(user))
        guard removed == 1 else { throw ChatError.notFound("device") }
    }

    // MARK: With their session

    /// Whoever is logged out is pushed to no more.
    func removeDevices(ofSession id: SessionID) throws {
        try session.run("DELETE FROM devices WHERE session_id = $1", .id(id))
    }

    /// - Parameter kept: whose devices stay.
    func removeDevices(of user: UserID, but kept: SessionID?) throws {
        try session.run(
            "DELETE FROM devices WHERE user_id = $1 AND session_id <> $2", .id(user), .id(kept ?? makeID()))
    }

    // MARK: What Apple says of them

    /// Which of a device's tokens.
    package enum TokenKind: Sendable {
        case alert, voip
    }

    /// Apple knows a token no more.
    ///
    /// - Parameter since: when it was last known to be void; what was registered after that is another matter. Nil when
    ///   it never was one for this app.
    package func removeToken(_ token: String, _ kind: TokenKind, of id: DeviceID, since: Timestamp?) throws -> Bool {
        let (column, time) =
            switch kind {
            case .alert: ("alert_token", "alert_registered_at")
            case .voip: ("voip_token", "voip_registered_at")
            }
        let removed = try session.run(
            "UPDATE devices SET \(column) = NULL WHERE id = $1 AND \(column) = $2 AND \(time) <= $3", .id(id),
            .text(token), .time(since ?? now))
        if removed == 1 { try removeDevicesWithoutTokens() }
        return removed == 1
    }
}
