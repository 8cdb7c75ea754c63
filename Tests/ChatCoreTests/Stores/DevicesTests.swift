import ChatModel
import Testing

@testable import ChatCore

@Suite struct DevicesTests {
    static func request(
        alert: String? = nil, voip: String? = nil, app: String = "org.example.app", name: String? = nil
    ) -> RegisterDeviceRequest {
        RegisterDeviceRequest(
            platform: .ios, appID: app, environment: .production, alertToken: alert, voipToken: voip, name: name)
    }

    private static func token(_ number: Int) -> String {
        String(repeating: "0", count: 60) + String(number + 0x1000, radix: 16)
    }

    private static func person(_ name: String, in world: ChatWorld) async throws -> (UserID, SessionID) {
        let user = try await world.person(name)
        return (user, try await world.run { try $0.openSession(of: user, on: "Phone", token: secret(name)) })
    }

    private static func tokens(of user: UserID, in world: ChatWorld) async throws -> [[String?]] {
        try await world.look { try $0.pushAddresses(of: user) }.map { [$0.alertToken, $0.voipToken] }
    }

    @Test(arguments: TestDatabase.allCases)
    func `tokens that come one after the other are of one device`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let (ann, session) = try await Self.person("ann", in: world)
        let (one, two) = (Self.token(1), Self.token(2))
        let first = try await world.run {
            try $0.registerDevice(Self.request(alert: one.uppercased(), name: "Ann's phone"), of: ann, session: session)
        }
        #expect(first.hasAlertToken && !first.hasVoIPToken && first.isCurrent && first.name == "Ann's phone")
        world.pass(.seconds(1))
        let second = try await world.run {
            try $0.registerDevice(Self.request(voip: two), of: ann, session: session)
        }
        #expect(second.id == first.id && second.hasAlertToken && second.hasVoIPToken && second.name == "Ann's phone")
        #expect(second.createdAt == first.createdAt && second.updatedAt == world.now)
        #expect(try await Self.tokens(of: ann, in: world) == [[one, two]])
        #expect(try await world.look { try $0.devices(of: ann, for: session) } == [second])
    }

    @Test(arguments: TestDatabase.allCases)
    func `a token goes to who registers it last`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let (ann, session) = try await Self.person("ann", in: world)
        let (bob, other) = try await Self.person("bob", in: world)
        let (one, two) = (Self.token(1), Self.token(2))
        try await world.run {
            try $0.registerDevice(Self.request(alert: one, voip: two), of: ann, session: session)
        }
        try await world.run { try $0.registerDevice(Self.request(alert: one), of: bob, session: other) }
        #expect(try await Self.tokens(of: ann, in: world) == [[nil, two]])
        #expect(try await Self.tokens(of: bob, in: world) == [[one, nil]])
        try await world.run { try $0.registerDevice(Self.request(voip: two), of: bob, session: other) }
        #expect(try await world.look { try $0.devices(of: ann, for: session) }.isEmpty)
        #expect(try await Self.tokens(of: bob, in: world) == [[one, two]])
    }

    @Test(arguments: TestDatabase.allCases)
    func `of more than twenty the oldest goes`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let (ann, session) = try await Self.person("ann", in: world)
        for number in 0..<21 {
            world.pass(.seconds(1))
            try await world.run {
                try $0.registerDevice(
                    Self.request(alert: Self.token(number), app: "app\(number)"), of: ann, session: session)
            }
        }
        let tokens = try await Self.tokens(of: ann, in: world).compactMap { $0[0] }
        #expect(Set(tokens) == Set((1..<21).map { Self.token($0) }))
    }

    @Test(arguments: TestDatabase.allCases)
    func `devices go with their session, however that ends`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ends: [@Sendable (ChatTransaction, UserID, SessionID) throws -> Void] = [
            { try $0.endSession($2, of: $1) },
            { chat, user, _ in try chat.endSessions(of: user, but: nil) },
            { chat, user, _ in try chat.deactivate(user) },
            { chat, user, _ in try chat.changePassword(of: user, to: "hash", keeping: nil) },
            { chat, user, _ in
                // A token that was used before, once its successor is in use.
                let name = try chat.profile(of: user).username
                _ = try chat.refresh(secret(name), for: secret(name + "2"))
                let session = try chat.sessions(of: user, current: nil)[0].id
                try chat.confirm(session)
                _ = try chat.refresh(secret(name), for: secret(name + "3"))
            },
            { chat, user, _ in
                // A token from long before.
                let name = try chat.profile(of: user).username
                for (token, next) in [("", "2"), ("2", "3"), ("3", "4"), ("", "x")] {
                    _ = try chat.refresh(secret(name + token), for: secret(name + next))
                }
            },
        ]
        for (number, end) in ends.enumerated() {
            let (user, session) = try await Self.person("user\(number)", in: world)
            try await world.run {
                try $0.registerDevice(Self.request(alert: Self.token(number)), of: user, session: session)
            }
            try await world.run { try end($0, user, session) }
            #expect(try await world.look { try $0.devices(of: user, for: session) }.isEmpty, "end \(number)")
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `of a session that stays the device stays, and of one that is too old it is pushed to no more`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let (ann, session) = try await Self.person("ann", in: world)
        let other = try await world.run { try $0.openSession(of: ann, on: "Desk", token: secret("desk")) }
        let (one, two) = (Self.token(1), Self.token(2))
        try await world.run { try $0.registerDevice(Self.request(alert: one), of: ann, session: session) }
        try await world.run { try $0.registerDevice(Self.request(alert: two), of: ann, session: other) }
        try await world.run { try $0.changePassword(of: ann, to: "hash", keeping: session) }
        #expect(try await Self.tokens(of: ann, in: world) == [[one, nil]])
        world.pass(Lifetimes().session + .seconds(1))
        #expect(try await Self.tokens(of: ann, in: world).isEmpty)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a token that Apple knows no more goes, if it was not registered since`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let (ann, session) = try await Self.person("ann", in: world)
        let (one, two) = (Self.token(1), Self.token(2))
        let device = try await world.run {
            try $0.registerDevice(Self.request(alert: one, voip: two), of: ann, session: session).id
        }
        let before = world.now.advanced(by: .seconds(-1))
        #expect(try await world.run { try $0.removeToken(one, .alert, of: device, since: before) } == false)
        // Registered again with another one in the meantime.
        #expect(try await world.run { try $0.removeToken(Self.token(9), .alert, of: device, since: nil) } == false)
        #expect(try await Self.tokens(of: ann, in: world) == [[one, two]])
        world.pass(.seconds(1))
        let now = world.now
        #expect(try await world.run { try $0.removeToken(two, .voip, of: device, since: now) })
        #expect(try await Self.tokens(of: ann, in: world) == [[one, nil]])
        #expect(try await world.run { try $0.removeToken(one, .alert, of: device, since: nil) })
        #expect(try await world.look { try $0.devices(of: ann, for: session) }.isEmpty)
    }

    @Test(arguments: TestDatabase.allCases)
    func `what is no token and no app is refused, and others' devices are not there`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let (ann, session) = try await Self.person("ann", in: world)
        let (bob, _) = try await Self.person("bob", in: world)
        let good = Self.token(1)
        for (request, code) in [
            (Self.request(), "invalid_alert_token"), (Self.request(alert: "abc"), "invalid_alert_token"),
            (Self.request(alert: "0123456789abcde"), "invalid_alert_token"),
            (Self.request(alert: String(repeating: "ab", count: 7)), "invalid_alert_token"),
            (Self.request(alert: String(repeating: "ab", count: 201)), "invalid_alert_token"),
            (Self.request(voip: String(repeating: "xy", count: 32)), "invalid_voip_token"),
            (Self.request(alert: good, app: ""), "invalid_app_id"),
            (Self.request(alert: good, app: "org/example"), "invalid_app_id"),
            (Self.request(alert: good, name: "two\nlines"), "invalid_name"),
        ] {
            #expect(try await world.refusal { try $0.registerDevice(request, of: ann, session: session) } == code)
        }
        let device = try await world.run {
            try $0.registerDevice(Self.request(alert: good), of: ann, session: session).id
        }
        #expect(try await world.refusal { try $0.removeDevice(device, of: bob) } == "device_not_found")
        try await world.run { try $0.removeDevice(device, of: ann) }
        #expect(try await Self.tokens(of: ann, in: world).isEmpty)
    }
}
