import ChatCore
import ChatModel
import Testing

@testable import ChatServer

/// Where letters arrive nobody finds out whether an address has an account: `ada` has one, `new` has none.
struct RegistrationRoutesTests {
    /// What is said, and nothing else.
    private struct Said: Equatable {
        let status: Int
        let body: [UInt8]
    }

    private let fixture: ServerFixture

    init() async throws {
        fixture = try await ServerFixture(isDelivering: true)
        _ = try await fixture.loginByLetter("ada")
    }

    private func register(_ username: String, _ address: String) async throws -> Said {
        let answer = try await fixture.register(username, email: "\(address)@example.org")
        return Said(status: answer.status, body: answer.body)
    }

    private func logIn(_ login: String, _ password: String = "correct horse") async throws -> Said {
        let answer = try await fixture.ask("POST", "/auth/login", LoginRequest(login: login, password: password))
        return Said(status: answer.status, body: answer.body)
    }

    @Test func `whoever registers hears the same of both, then and later`() async throws {
        let first = try await register("anna", "ada")
        #expect(first.status == 202)
        #expect(try await register("newton", "new") == first)
        // The names are taken,
        let taken = try await register("anna", "x")
        #expect(taken.status == 409)
        #expect(try await register("newton", "x") == taken)
        // and the passwords are right, by the name and by the address.
        let refused = try await logIn("anna")
        #expect(refused.status == 403)
        #expect(try await logIn("newton") == refused)
        #expect(try await logIn("new@example.org") == refused)
        let wrong = try await logIn("anna", "wrong horse")
        #expect(wrong.status == 401)
        #expect(try await logIn("newton", "wrong horse") == wrong)
        #expect(try await logIn("new@example.org", "wrong horse") == wrong)
        #expect(try await logIn("ada@example.org", "wrong horse") == wrong)
    }

    @Test func `a password that was registered with somebody's address is heard of like any other`() async throws {
        let answer = try await fixture.ask(
            "POST", "/auth/register",
            RegisterRequest(
                email: "ada@example.org", username: "anna", displayName: "Anna", password: "another horse"))
        #expect(answer.status == 202)
        _ = try await register("newton", "new")
        let refused = try await logIn("ada@example.org", "another horse")
        #expect(refused.status == 403)
        #expect(try await logIn("new@example.org") == refused)
        // Hers is still good.
        #expect(try await logIn("ada@example.org").status == 200)
    }

    @Test func `who has the address gets a letter without a secret, and one who has none the link`() async throws {
        _ = try await register("anna", "ada")
        let warning = await fixture.mails.next()
        #expect(warning.subject == "You have an account already" && warning.to == "ada@example.org")
        #expect(warning.link == "http://localhost:8080")
        _ = try await register("newton", "new")
        let letter = await fixture.mails.next()
        #expect(letter.subject == "Confirm your e-mail address" && letter.to == "new@example.org")
        #expect(letter.text.contains(#"the account "newton" is yours"#))
    }

    @Test func `another letter comes to whom an account waits for, and nobody else`() async throws {
        _ = try await register("anna", "ada")
        _ = try await register("newton", "new")
        await fixture.server.finish()
        for _ in 0..<fixture.mails.count { _ = await fixture.mails.next() }
        for address in ["ada", "new", "nobody"] {
            let answer = try await fixture.ask(
                "POST", "/auth/resend_verification", EmailRequest(email: "\(address)@example.org"))
            #expect(answer.status == 202 && answer.body.isEmpty, "\(address)")
        }
        await fixture.server.finish()
        #expect(fixture.mails.count == 1)
        let letter = await fixture.mails.next()
        #expect(letter.to == "new@example.org")
        let secret = try #require(letter.link?.split(separator: "/").last)
        let confirmed = try await fixture.ask("POST", "/auth/verify_email", TokenRequest(token: String(secret)))
        #expect(confirmed.status == 204)
        #expect(try await logIn("newton").status == 200)
    }

    /// As many letters are left to ask for.
    @Test func `a registration counts as a letter to its address, whether there is an account or not`() async throws {
        for number in 0..<3 {
            _ = try await register("anna\(number)", "ada")
            _ = try await register("newton\(number)", "new")
        }
        // All have come back by then, that of Ada's own registration among them.
        await fixture.server.finish()
        fixture.advance(by: .seconds(3_600))
        for number in 0..<6 {
            _ = try await register("bnna\(number)", "ada")
            _ = try await register("bewton\(number)", "new")
        }
        await fixture.server.finish()
        let letters = fixture.mails.count
        for address in ["ada", "new"] {
            func ask(_ route: String) async throws -> Int {
                try await fixture.ask("POST", "/auth/\(route)", EmailRequest(email: "\(address)@example.org")).status
            }
            #expect(try await ask("resend_verification") == 429, "\(address)")
            // Whoever registers somebody's address keeps no new password from them.
            #expect(try await ask("forgot_password") == 202, "\(address)")
        }
        #expect(letters == 2 * (3 + 5))
    }

    @Test func `a name that nobody confirms is free after a week`() async throws {
        _ = try await register("anna", "ada")
        #expect(try await register("anna", "x").status == 409)
        fixture.advance(by: .seconds(7 * 86_400))
        _ = try await fixture.service.write { try $0.sweepRegistrations() }
        #expect(try await register("anna", "x").status == 202)
    }
}
