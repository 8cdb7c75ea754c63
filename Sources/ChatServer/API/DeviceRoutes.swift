internal import ChatCore
internal import ChatModel

/// One's own devices, and when they are pushed to.
extension ChatAPI {
    var deviceRoutes: [Route] {
        [
            Route("GET", "/users/me/devices", devices),
            Route("POST", "/users/me/devices", registerDevice),
            Route("DELETE", "/users/me/devices/{device_id}", removeDevice),
            Route("GET", "/users/me/notifications", notificationSettings),
            Route("PUT", "/users/me/notifications", setNotificationSettings),
        ]
    }

    @Sendable private func devices(_ request: APIRequest) async throws -> APIResponse {
        let (user, session) = (try request.user(), try request.session())
        return try .json(Page(try await service.read { try $0.devices(of: user, for: session) }))
    }

    @Sendable private func registerDevice(_ request: APIRequest) async throws -> APIResponse {
        let (user, session) = (try request.user(), try request.session())
        let body: RegisterDeviceRequest = try request.body()
        return try .json(
            try await service.write { try $0.registerDevice(body, of: user, session: session) }, status: 201)
    }

    @Sendable private func removeDevice(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, DeviceID) = (try request.user(), try request.id("device_id"))
        try await service.write { try $0.removeDevice(id, of: user) }
        return .nothing
    }

    @Sendable private func notificationSettings(_ request: APIRequest) async throws -> APIResponse {
        let user = try request.user()
        let (settings, version) = try await service.read {
            (try $0.notificationSettings(of: user), try $0.notificationVersion(of: user))
        }
        return try .json(settings, version: version)
    }

    @Sendable private func setNotificationSettings(_ request: APIRequest) async throws -> APIResponse {
        let user = try request.user()
        let body: NotificationSettings = try request.body()
        let seen = try request.version()
        let (settings, version) = try await service.write {
            try $0.setNotificationSettings(body, ifVersion: seen, of: user)
            return (try $0.notificationSettings(of: user), try $0.notificationVersion(of: user))
        }
        return try .json(settings, version: version)
    }
}
