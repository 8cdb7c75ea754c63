import ChatCore
import ChatModel
import Synchronization
import Testing

@testable import ChatServer

struct AccountRoutesTests {
    @Test func `registers, logs in, and knows who asks`() async throws {
        let fixture = try await ServerFixture()
        let registered = try await fixture.ask(
            "POST", "/auth/register",
            RegisterRequest(
                email: "ada@example.org", username: "Ada", displayName: " Ada L. ", password: "correct horse"))
        #expect(registered.status == 202)
        #expect(try registered.json(RegistrationAnswer.self) == RegistrationAnswer(isVerificationRequired: false))
        let pair: TokenPair = try await fixture.ask(
            "POST", "/auth/login", LoginRequest(login: "ada@EXAMPLE.org", password: "correct horse")
        ).json()
        #expect(pair.account.profile.username == "ada")
        #expect(pair.account.isServerOwner)
        let me: Account = try await fixture.ask("GET", "/users/me", token: pair.accessToken).json()
        #expect(me == pair.account)
    }

    @Test(arguments: [" ada@example.org ", "Ada@Example.org\u{00A0}", "\tada\n"])
    func `spaces around an address or a name are none of it, wherever it is typed`(login: String) async throws {
        let fixture = try await ServerFixture()
        _ = try await fixture.register("ada", email: " ada@example.org\u{00A0}")
        _ = await fixture.mails.next()
        let right = LoginRequest(login: login, password: "correct horse")
        #expect(try await fixture.ask("POST", "/auth/login", right).status == 200)
        guard login.contains("@") else { return }
        #expect(try await fixture.ask("POST", "/auth/forgot_password", EmailRequest(email: login)).status == 202)
        #expect(await fixture.mails.next().to == "ada@example.org")
        // They are the same name's tries: not ten more with each space.
        var statuses: [Int] = []
        for number in 0..<10 {
            let spaces = String(repeating: " ", count: number)
            let wrong = LoginRequest(login: login + spaces, password: "wrong horse")
            statuses.append(try await fixture.ask("POST", "/auth/login", wrong).status)
        }
        #expect(statuses.last == 429)
    }

    @Test func `lets in whoever logs in several times at once, also where the first time keeps the password anew`()
        async throws
    {
        let fixture = try await ServerFixture(passwordCost: 11)
        let user = try await fixture.login("ada").account.profile.id
        let cheap = try await PasswordHasher(cost: .init(logN: 9)).hash("correct horse")
        try await fixture.service.write { try $0.keepPassword(of: user, as: cheap) }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let login = LoginRequest(login: "ada", password: "correct horse")
                    return try await fixture.ask("POST", "/auth/login", login).status
                }
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses == [200, 200, 200, 200])
        let kept = try await fixture.service.read { try $0.credentials(of: user)?.passwordHash }
        #expect(kept?.hasPrefix("$scrypt$ln=11,") == true)
    }

    /// One in which somebody else writes before the next one does.
    private struct SharedDatabase: ChatDatabase {
        final class Other: Sendable { let write = Mutex<(@Sendable (any SQLSession) throws -> Void)?>(nil) }

        let database: any ChatDatabase
        let other: Other

        var waitingTransactions: Int { database.waitingTransactions }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value { try await database.read(body) }

        func write<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLSession) throws -> Value
        ) async throws -> Value {
            let first = other.write.withLock { $0.take() }
            if let first { try await database.write(first) }
            return try await database.write(body)
        }
    }

    @Test(arguments: ["correct horse", "a thief's"])
    func `changes a password that a login keeps anew meanwhile, and none that is another one by then`(
        kept: String
    ) async throws {
        let other = SharedDatabase.Other()
        let fixture = try await ServerFixture { SharedDatabase(database: $0, other: other) }
        let pair = try await fixture.login("ada")
        // The first request of a session writes that the session's token has arrived.
        #expect(try await fixture.ask("GET", "/users/me", token: pair.accessToken).status == 200)
        let hash = try await PasswordHasher(cost: .init(logN: 9)).hash(kept)
        other.write.withLock { $0 = { try $0.run("UPDATE users SET password_hash = $1", .text(hash)) } }
        let change = ChangePasswordRequest(currentPassword: "correct horse", password: "battery staple")
        let changed = try await fixture.ask("POST", "/auth/change_password", change, token: pair.accessToken)
        let isDone = other.write.withLock { $0 == nil }
        #expect(isDone)
        let isSame = kept == "correct horse"
        #expect(changed.status == (isSame ? 204 : 403))
        let login = LoginRequest(login: "ada", password: isSame ? "battery staple" : kept)
        #expect(try await fixture.ask("POST", "/auth/login", login).status == 200)
    }

    @Test func `lets nobody in before the address is confirmed, where letters arrive`() async throws {
        let fixture = try await ServerFixture(isDelivering: true)
        _ = try await fixture.ask(
            "POST", "/auth/register",
            RegisterRequest(email: "ada@example.org", username: "ada", displayName: "Ada", password: "correct horse"))
        let login = LoginRequest(login: "ada", password: "correct horse")
        let refused = try await fixture.ask("POST", "/auth/login", login)
        #expect(refused.status == 403)
        #expect(try refused.error == "email_not_verified")
        // Whoever does not know the password does not learn that there is an account.
        let wrong = try await fixture.ask("POST", "/auth/login", LoginRequest(login: "ada", password: "wrong horse"))
        #expect(try wrong.error == "wrong_credentials")
        let secret = try #require(await fixture.mails.next().link?.split(separator: "/").last)
        let verified = try await fixture.ask("POST", "/auth/verify_email", TokenRequest(token: String(secret)))
        #expect(verified.status == 204)
        #expect(try await fixture.ask("POST", "/auth/login", login).status == 200)
        let again = try await fixture.ask("POST", "/auth/verify_email", TokenRequest(token: String(secret)))
        #expect(again.status == 410)
    }

    @Test func `letters go to the address that was registered, and not to one that is like it`() async throws {
        let fixture = try await ServerFixture(isDelivering: true)
        _ = try await fixture.loginByLetter("mike")
        // The Kelvin sign is a "k" in lower case.
        let like = "mi\u{212A}e@example.org"
        #expect(try await fixture.ask("POST", "/auth/forgot_password", EmailRequest(email: like)).status == 202)
        #expect(await fixture.mails.next().to == "mike@example.org")
        #expect(try await fixture.register("somebody", email: like).status == 400)
        let registered = try await fixture.register("somebody", email: "MIKE@example.org")
        try #require(registered.status == 202)
        #expect(await fixture.mails.next().to == "mike@example.org")
        _ = try await fixture.register("kim")
        #expect(await fixture.mails.next().to == "kim@example.org")
        _ = try await fixture.ask("POST", "/auth/resend_verification", EmailRequest(email: "\u{212A}im@example.org"))
        #expect(await fixture.mails.next().to == "kim@example.org")
    }

    @Test func `an account that is confirmed by a letter comes into the workspace of its invitation`() async throws {
        let fixture = try await ServerFixture(isRegistrationOpen: false, isDelivering: true)
        let owner = try await fixture.loginByLetter("ada")
        let workspace: WorkspaceListing = try await fixture.ask(
            "POST", "/workspaces", CreateWorkspaceRequest(name: "Engines"), token: owner.accessToken
        ).json()
        let invitation: Invitation = try await fixture.ask(
            "POST", "/workspaces/\(workspace.workspace.id)/invitations", CreateInvitationRequest(),
            token: owner.accessToken
        ).json()
        let pair = try await fixture.loginByLetter("eve", invitation: invitation.token)
        let workspaces: Page<WorkspaceListing> = try await fixture.ask(
            "GET", "/workspaces", token: pair.accessToken
        ).json()
        #expect(workspaces.items.map(\.role) == [.member])
    }

    @Test func `gives a new pair for a refresh token, and ends the session when one is used twice`() async throws {
        let fixture = try await ServerFixture()
        let pair = try await fixture.login("ada")
        let next: TokenPair = try await fixture.ask(
            "POST", "/auth/refresh", RefreshRequest(refreshToken: pair.refreshToken)
        ).json()
        #expect(next.refreshToken != pair.refreshToken)
        #expect(try await fixture.ask("GET", "/users/me", token: next.accessToken).status == 200)
        let stolen = try await fixture.ask(
            "POST", "/auth/refresh", RefreshRequest(refreshToken: pair.refreshToken))
        #expect(stolen.status == 401)
        let ended = try await fixture.ask("GET", "/users/me", token: next.accessToken)
        #expect(ended.status == 401)
        #expect(try ended.error == "session_over")
    }

    @Test func `takes no access token that is too old, forged, or of another kind`() async throws {
        let fixture = try await ServerFixture()
        let pair = try await fixture.login("ada")
        #expect(try await fixture.ask("GET", "/users/me").error == "not_logged_in")
        #expect(try await fixture.ask("GET", "/users/me", token: "nonsense").error == "bad_token")
        #expect(try await fixture.ask("GET", "/users/me", token: pair.accessToken + "A").error == "bad_token")
        // {"alg":"none"} in front of the same claims.
        let claims = pair.accessToken.split(separator: ".")[1]
        let unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.\(claims)."
        #expect(try await fixture.ask("GET", "/users/me", token: unsigned).error == "bad_token")
        fixture.advance(by: .seconds(15 * 60))
        let late = try await fixture.ask("GET", "/users/me", token: pair.accessToken)
        #expect(late.status == 401)
        #expect(late.header("WWW-Authenticate") == "Bearer")
        #expect(try late.error == "token_expired")
    }

    @Test func `stops whoever tries passwords, and says for how long`() async throws {
        let fixture = try await ServerFixture()
        _ = try await fixture.login("ada")
        var last: ServerFixture.Answer?
        for attempt in 0..<12 {
            // From many addresses of one site.
            last = try await fixture.ask(
                "POST", "/auth/login", LoginRequest(login: "ada", password: "guess \(attempt)"),
                from: "[2001:db8::\(attempt + 1)]:9")
            if last?.status == 429 { break }
        }
        let refused = try #require(last)
        #expect(refused.status == 429)
        let wait = try #require(refused.header("Retry-After").flatMap { Int($0) })
        #expect((1...31).contains(wait))
        let right = LoginRequest(login: "ada", password: "correct horse")
        func logIn() async throws -> Int {
            try await fixture.ask("POST", "/auth/login", right, from: "[2001:db8::1]:9").status
        }
        #expect(try await logIn() == 429)
        // Who it is comes in meanwhile, from where they are.
        #expect(try await fixture.ask("POST", "/auth/login", right, from: "[2001:db8:0:1::1]:9").status == 200)
        fixture.advance(by: .seconds(wait))
        #expect(try await logIn() == 200)
    }

    @Test func `from all sites together a name has a hundred tries, and then one in three seconds`() async throws {
        let fixture = try await ServerFixture(passwordCost: 4)
        _ = try await fixture.login("ada")
        var statuses: [Int] = []
        for attempt in 1...100 {
            let guess = LoginRequest(login: "ada", password: "guess \(attempt)")
            statuses.append(
                try await fixture.ask("POST", "/auth/login", guess, from: "192.0.2.\(attempt):9").status)
        }
        // One is what it took to log in.
        #expect(statuses == Array(repeating: 401, count: 99) + [429])
        fixture.advance(by: .seconds(3))
        let right = LoginRequest(login: "ada", password: "correct horse")
        #expect(try await fixture.ask("POST", "/auth/login", right, from: "192.0.2.200:9").status == 200)
    }

    @Test func `whoever asks for letters to somebody's address keeps them from none, and no link that they have ends`()
        async throws
    {
        let fixture = try await ServerFixture()
        _ = try await fixture.login("ada")
        _ = await fixture.mails.next()
        func ask(from address: String) async throws -> Int {
            try await fixture.ask(
                "POST", "/auth/forgot_password", EmailRequest(email: "ada@example.org"), from: address
            ).status
        }
        #expect(try await ask(from: "192.0.2.1:9") == 202)
        let secret = try #require(await fixture.mails.next().link?.split(separator: "/").last)
        for _ in 0..<5 {
            #expect(try await ask(from: "192.0.2.2:9") == 202)
            _ = await fixture.mails.next()
        }
        #expect(try await ask(from: "192.0.2.2:9") == 429)
        let reset = ResetPasswordRequest(token: String(secret), password: "battery staple")
        #expect(try await fixture.ask("POST", "/auth/reset_password", reset).status == 204)
        #expect(try await ask(from: "192.0.2.1:9") == 202)
    }

    @Test func `knows nobody whose name goes on behind a NUL`() async throws {
        let fixture = try await ServerFixture()
        _ = try await fixture.login("ada")
        // A text of SQLite's ends there: this would be ada, and each such name would have tries of its own.
        let right = LoginRequest(login: "ada\0one", password: "correct horse")
        let refused = try await fixture.ask("POST", "/auth/login", right)
        #expect(refused.status == 401)
        #expect(try refused.error == "wrong_credentials")
    }

    @Test func `chooses a new password by a letter, which logs all devices out`() async throws {
        let fixture = try await ServerFixture()
        let pair = try await fixture.login("ada")
        _ = await fixture.mails.next()
        let asked = try await fixture.ask("POST", "/auth/forgot_password", EmailRequest(email: "ada@example.org"))
        let unknown = try await fixture.ask("POST", "/auth/forgot_password", EmailRequest(email: "eve@example.org"))
        #expect(asked.status == unknown.status)
        #expect(asked.body == unknown.body)
        let secret = try #require(await fixture.mails.next().link?.split(separator: "/").last)
        let reset = ResetPasswordRequest(token: String(secret), password: "battery staple")
        #expect(try await fixture.ask("POST", "/auth/reset_password", reset).status == 204)
        #expect(try await fixture.ask("GET", "/users/me", token: pair.accessToken).status == 401)
        let login = LoginRequest(login: "ada", password: "battery staple")
        #expect(try await fixture.ask("POST", "/auth/login", login).status == 200)
    }

    @Test func `links that came in no letter confirm no address`() async throws {
        let fixture = try await ServerFixture()
        _ = try await fixture.register("ada")
        func secret(of link: String?) throws -> String {
            try #require(link?.split(separator: "/").last.map(String.init))
        }
        func isConfirmed() async throws -> Bool {
            try await fixture.service.read { try $0.account(addressedBy: "ada@example.org").isEmailVerified }
        }
        // What would be in a letter is in the log here.
        let link = TokenRequest(token: try secret(of: await fixture.mails.next().link))
        #expect(try await fixture.ask("POST", "/auth/verify_email", link).status == 204)
        #expect(try await !isConfirmed())
        _ = try await fixture.ask("POST", "/auth/resend_verification", EmailRequest(email: "ada@example.org"))
        let again = TokenRequest(token: try secret(of: await fixture.mails.next().link))
        #expect(try await fixture.ask("POST", "/auth/verify_email", again).status == 204)
        #expect(try await !isConfirmed())
        _ = try await fixture.ask("POST", "/auth/forgot_password", EmailRequest(email: "ada@example.org"))
        let reset = ResetPasswordRequest(
            token: try secret(of: await fixture.mails.next().link), password: "battery staple")
        #expect(try await fixture.ask("POST", "/auth/reset_password", reset).status == 204)
        #expect(try await !isConfirmed())
        // Nor does the one that an administrator prints, wherever letters go.
        let admin = Administration(service: fixture.service, serverURL: "http://localhost:8080")
        let printed = ResetPasswordRequest(
            token: try secret(of: try await admin.resetPassword(of: "ada")), password: "correct horse")
        #expect(try await fixture.ask("POST", "/auth/reset_password", printed).status == 204)
        #expect(try await !isConfirmed())
    }

    @Test func `what comes in a letter confirms its address, and an administrator's link does not`() async throws {
        let fixture = try await ServerFixture(isDelivering: true)
        let user = try await fixture.loginByLetter("ada").account.profile.id
        func isConfirmed() async throws -> Bool {
            try await fixture.service.read { try $0.account(of: user).isEmailVerified }
        }
        #expect(try await isConfirmed())
        // As an account of before letters were sent.
        try await fixture.service.write { chat in
            _ = try chat.session.run("UPDATE users SET email_verified_at = NULL")
        }
        let admin = Administration(service: fixture.service, serverURL: "http://localhost:8080")
        let printed = try await admin.resetPassword(of: "ada").split(separator: "/").last.map(String.init)
        let byAdmin = ResetPasswordRequest(token: try #require(printed), password: "battery staple")
        #expect(try await fixture.ask("POST", "/auth/reset_password", byAdmin).status == 204)
        #expect(try await !isConfirmed())
        _ = try await fixture.ask("POST", "/auth/forgot_password", EmailRequest(email: "ada@example.org"))
        let mailed = await fixture.mails.next().link?.split(separator: "/").last.map(String.init)
        let byLetter = ResetPasswordRequest(token: try #require(mailed), password: "correct horse")
        #expect(try await fixture.ask("POST", "/auth/reset_password", byLetter).status == 204)
        #expect(try await isConfirmed())
    }

    @Test func `takes only who is invited where registration is closed, and the first`() async throws {
        let fixture = try await ServerFixture(isRegistrationOpen: false)
        let owner = try await fixture.login("ada")
        let stranger = RegisterRequest(
            email: "eve@example.org", username: "eve", displayName: "Eve", password: "correct horse")
        #expect(try await fixture.ask("POST", "/auth/register", stranger).error == "registration_closed")
        let workspace: WorkspaceListing = try await fixture.ask(
            "POST", "/workspaces", CreateWorkspaceRequest(name: "Engines"), token: owner.accessToken
        ).json()
        let invitation: Invitation = try await fixture.ask(
            "POST", "/workspaces/\(workspace.workspace.id)/invitations", CreateInvitationRequest(),
            token: owner.accessToken
        ).json()
        var guest = stranger
        guest.invitation = invitation.token
        #expect(try await fixture.ask("POST", "/auth/register", guest).status == 202)
        let pair: TokenPair = try await fixture.ask(
            "POST", "/auth/login", LoginRequest(login: "eve", password: "correct horse")
        ).json()
        let workspaces: Page<WorkspaceListing> = try await fixture.ask(
            "GET", "/workspaces", token: pair.accessToken
        ).json()
        #expect(workspaces.items.map(\.role) == [.member])
        // In a workspace of their own they could let in whom they like.
        let own = try await fixture.ask(
            "POST", "/workspaces", CreateWorkspaceRequest(name: "Own"), token: pair.accessToken)
        #expect(own.status == 403)
        #expect(try own.error == "server_owner_required")
    }

    @Test func `an invitation for another address does not tell whether an address has an account`() async throws {
        let fixture = try await ServerFixture()
        let owner = try await fixture.login("ada")
        let workspace: WorkspaceListing = try await fixture.ask(
            "POST", "/workspaces", CreateWorkspaceRequest(name: "Engines"), token: owner.accessToken
        ).json()
        let invitation: Invitation = try await fixture.ask(
            "POST", "/workspaces/\(workspace.workspace.id)/invitations",
            CreateInvitationRequest(email: "bob@example.org"), token: owner.accessToken
        ).json()
        for address in ["ada", "eve"] {
            let tried = RegisterRequest(
                email: "\(address)@example.org", username: "somebody", displayName: "Somebody",
                password: "correct horse", invitation: invitation.token)
            #expect(try await fixture.ask("POST", "/auth/register", tried).error == "other_address", "\(address)")
        }
        let right = RegisterRequest(
            email: " Bob@Example.org ", username: "bob", displayName: "Bob", password: "correct horse",
            invitation: invitation.token)
        #expect(try await fixture.ask("POST", "/auth/register", right).status == 202)
    }

    @Test func `links lead to where the server is reached, once that is known`() async throws {
        let fixture = try await ServerFixture()
        fixture.server.isReached(by: "https://localhost:41234")
        _ = try await fixture.login("ada")
        #expect(await fixture.mails.next().link?.hasPrefix("https://localhost:41234/#/verify-email/") == true)
    }

    @Test func `an invitation that is refused costs nobody a letter`() async throws {
        let fixture = try await ServerFixture()
        let (owner, other) = (try await fixture.login("ada"), try await fixture.login("eve"))
        let workspace: WorkspaceListing = try await fixture.ask(
            "POST", "/workspaces", CreateWorkspaceRequest(name: "Engines"), token: owner.accessToken
        ).json()
        func invite(_ email: String, _ pair: TokenPair) async throws -> Int {
            try await fixture.ask(
                "POST", "/workspaces/\(workspace.workspace.id)/invitations", CreateInvitationRequest(email: email),
                token: pair.accessToken
            ).status
        }
        for _ in 0..<8 { #expect(try await invite("bob@example.org", other) == 404) }
        for _ in 0..<8 { #expect(try await invite("no address", owner) == 400) }
        // Spaces and capitals make no other address.
        for email in ["bob@example.org", " Bob@Example.org ", "BOB@example.org", "bob@example.org", "bob@EXAMPLE.org"] {
            #expect(try await invite(email, owner) == 201)
        }
        #expect(try await invite("bob@example.org", owner) == 429)
    }

    @Test func `somebody sends twenty invitations at once and then one a minute, and gives out links as before`()
        async throws
    {
        let fixture = try await ServerFixture()
        let (owner, other) = (try await fixture.login("ada"), try await fixture.login("eve"))
        let workspace: WorkspaceListing = try await fixture.ask(
            "POST", "/workspaces", CreateWorkspaceRequest(name: "Engines"), token: owner.accessToken
        ).json()
        func invite(_ email: String?, _ pair: TokenPair) async throws -> ServerFixture.Answer {
            try await fixture.ask(
                "POST", "/workspaces/\(workspace.workspace.id)/invitations", CreateInvitationRequest(email: email),
                token: pair.accessToken)
        }
        for number in 0..<20 { #expect(try await invite("guest\(number)@example.org", owner).status == 201) }
        let refused = try await invite("bob@example.org", owner)
        #expect(refused.status == 429)
        #expect(try refused.error == "too_many_requests")
        #expect(refused.header("Retry-After") == "61")
        #expect(try await invite(nil, owner).status == 201)
        // Others have their own, and the address has lost no letter.
        let link: Invitation = try await invite(nil, owner).json()
        let accepted = try await fixture.ask(
            "POST", "/invitations/accept", TokenRequest(token: link.token ?? ""), token: other.accessToken)
        #expect(accepted.status == 200)
        for _ in 0..<5 { #expect(try await invite("bob@example.org", other).status == 201) }
        fixture.advance(by: .seconds(61))
        #expect(try await invite("carl@example.org", owner).status == 201)
        #expect(try await invite("dora@example.org", owner).status == 429)
    }
}
