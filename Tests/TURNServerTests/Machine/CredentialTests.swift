import RTCEngine
import RTCWire
import Testing

@testable import TURNServer

/// RFC 8489 §9.2, and time-limited credentials.
@Suite struct CredentialTests {
    @Test func `a bare request is told realm, nonce and algorithms, and nothing is kept`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        let answer = try client.ask(&script, .allocate, [.requestedTransport(17)])
        #expect(answer.kind == .error && answer.errorCode?.code == 401)
        #expect(answer.realm == "roost")
        #expect(answer.passwordAlgorithms == [2, 1])
        #expect(STUNNonceCookie(nonce: try #require(answer.nonce)) == [.passwordAlgorithms, .usernameAnonymity])
        #expect(answer.integrityOffset == nil && answer.sha256Integrity == nil)
        #expect(script.machine.slots.isEmpty && script.machine.answers.count == 0)
    }

    @Test func `with the right password the answer is signed as the request was`() throws {
        var script = ServerScript()
        var old = ScriptedClient()
        try old.meetChallenge(&script)
        script.receive(old.request(.allocate, [.requestedTransport(17)]), from: old.path)
        let first = try script.answer(to: old.path)
        #expect(first.message.kind == .success && first.message.sha256Integrity == nil)
        #expect(first.message.isSigned(in: first.bytes, with: old.key))

        for algorithm in STUNPasswordAlgorithm.allCases {
            var new = ScriptedClient(at: endpoint("192.0.2.11", 4_000 + algorithm.rawValue))
            try new.meetChallenge(&script)
            new.algorithm = algorithm
            script.receive(new.request(.allocate, [.requestedTransport(17)]), from: new.path)
            let second = try script.answer(to: new.path)
            #expect(second.message.kind == .success && second.message.integrityOffset == nil)
            #expect(second.message.isSigned(in: second.bytes, with: new.key))
        }
    }

    @Test func `a wrong password, an unknown name and another realm are all 401`() throws {
        var script = ServerScript()
        for (name, password) in [("ann", "guess"), ("eve", "secret"), ("", "")] {
            var client = ScriptedClient(name, password)
            try client.meetChallenge(&script)
            let answer = try client.ask(&script, .allocate, [.requestedTransport(17)])
            #expect(answer.errorCode?.code == 401)
            #expect(answer.nonce != nil && answer.realm == "roost")
        }
        #expect(script.machine.statistics.allocations == 0 && script.attempts == 0)
    }

    @Test func `a signed request without name, realm or nonce is 400`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.meetChallenge(&script)
        let whole: [STUNAttribute] = [.username("ann"), .realm("roost"), .nonce(client.nonce)]
        for missing in whole.indices {
            var attributes = whole
            attributes.remove(at: missing)
            let request = STUNMessage(
                .request, .allocate, transactionID: .init(high: 1, low: UInt64(missing)), attributes: attributes)
            script.receive(request.encoded(signedWith: client.key, fingerprint: false), from: client.path)
            #expect(try script.answer(to: client.path).message.errorCode?.code == 400)
        }
    }

    @Test func `a nonce grows old, and is of no use to another client`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.allocate(&script)
        script.pass(500)
        #expect(try client.ask(&script, .refresh, [.lifetime(3_600)]).kind == .success)
        script.pass(3_200)
        let stale = try client.ask(&script, .refresh)
        #expect(stale.errorCode?.code == 438)
        client.nonce = try #require(stale.nonce)
        #expect(try client.ask(&script, .refresh).kind == .success)

        for other in [
            TURNClientPath(.udp, socket: 1, remote: endpoint("192.0.2.10", 4_001)),
            TURNClientPath(.udp, socket: 1, remote: endpoint("192.0.2.11", 4_000)),
            TURNClientPath(.tcp, socket: 1, remote: endpoint("192.0.2.10", 4_000)),
        ] {
            var thief = client
            thief.path = other
            #expect(try thief.ask(&script, .allocate, [.requestedTransport(17)]).errorCode?.code == 438)
        }
        for index in client.nonce.indices {
            var forger = client
            forger.nonce[index] ^= 1
            let code = try forger.ask(&script, .refresh).errorCode?.code
            // The list of algorithms belongs to the cookie, which this client does not look at.
            #expect(code == 438)
        }
    }

    @Test func `who changes the list of algorithms under way is found out`() throws {
        var script = ServerScript()
        var client = ScriptedClient()
        try client.meetChallenge(&script)
        client.algorithm = .md5
        for offered in [[], [1], [1, 2], [2, 1, 3]] as [[UInt16]] {
            client.offered = offered
            #expect(try client.ask(&script, .allocate, [.requestedTransport(17)]).errorCode?.code == 400)
        }
    }

    @Test func `a name may be hidden where all names are known`() throws {
        var script = ServerScript()
        var client = ScriptedClient("bob", "word")
        try client.meetChallenge(&script)
        client.hidesName = true
        try client.allocate(&script)
        #expect(try client.ask(&script, .refresh).kind == .success)
        var issuing = ServerScript(users: [:], secrets: ["shared"])
        let challenge = try client.ask(&issuing, .allocate)
        #expect(challenge.errorCode?.code == 401)
        client.nonce = []
        #expect(
            STUNNonceCookie(nonce: try client.ask(&issuing, .allocate).nonce ?? []) == [.passwordAlgorithms])
    }

    @Test func `another user on the same 5-tuple is 441`() throws {
        var script = ServerScript()
        var ann = ScriptedClient()
        try ann.allocate(&script)
        var bob = ann
        (bob.username, bob.password) = ("bob", "word")
        for method in [STUNMethod.refresh, .createPermission, .channelBind] {
            #expect(try bob.ask(&script, method).errorCode?.code == 441)
        }
    }

    // MARK: Time-limited credentials

    /// By Python: base64(hmac(b"north", b"1767229200:ann", sha1)).
    @Test func `a credential is issued as other servers check it`() {
        let credential = TimeLimitedCredential(name: "ann", expires: 1_767_229_200, secret: "north")
        #expect(credential.username == "1767229200:ann")
        #expect(credential.password == "n88NbElL9GakolrNH9uw7P0p09E=")
        #expect("\(credential)" == "TimeLimitedCredential(until 1767229200)")
    }

    @Test func `it is good until its time, under each of the secrets, and under no other`() throws {
        for (secret, offset, isGood) in [
            ("north", 3_600, true), ("south", 3_600, true), ("north", 1, true), ("north", 0, false),
            ("north", -1, false), ("west", 3_600, false),
        ] as [(String, Int64, Bool)] {
            var script = ServerScript(users: [:], secrets: ["north", "south"])
            let issued = TimeLimitedCredential(name: "ann", expires: ServerScript.unixTime + offset, secret: secret)
            var client = ScriptedClient(issued.username, issued.password)
            try client.meetChallenge(&script)
            let answer = try client.ask(&script, .allocate, [.requestedTransport(17)])
            #expect((answer.kind == .success) == isGood, "\(secret) \(offset)")
            if !isGood { #expect(answer.errorCode?.code == 401) }
        }
    }

    @Test func `it may run out in mid-call, but makes no new allocation then`() throws {
        var script = ServerScript(users: [:], secrets: ["north"])
        let issued = TimeLimitedCredential(name: "ann", expires: ServerScript.unixTime + 100, secret: "north")
        var client = ScriptedClient(issued.username, issued.password)
        try client.allocate(&script)
        script.pass(200)
        #expect(try client.ask(&script, .refresh).kind == .success)
        try client.permit(&script, ServerScript.peer)
        var other = ScriptedClient(issued.username, issued.password, at: endpoint("192.0.2.10", 4_001))
        try other.meetChallenge(&script)
        #expect(try other.ask(&script, .allocate, [.requestedTransport(17)]).errorCode?.code == 401)
    }

    @Test(arguments: ["", "ann", ":ann", "12x:ann", "-5:ann", "9999999999999999:ann", "+5:ann"])
    func `a name without a time is none of these`(name: String) {
        #expect(TimeLimitedCredential.expiry(of: name) == nil)
    }

    @Test func `for a server that shares a secret each client has its own, and otherwise all have the same`() {
        let own = TURNCredentials.secret("north").issue(name: "ann", expires: ServerScript.unixTime)
        // By Python's hmac.
        #expect(own.username == "1767225600:ann" && own.password == "6rd26NbCuKrNSTQaB4VBISCZxpo=")
        let shared = TURNCredentials.fixed(username: "roost", password: "word")
        let told = shared.issue(name: "ann", expires: ServerScript.unixTime)
        #expect(told.username == "roost" && told.password == "word")
    }

    @Test func `secrets and passwords show nowhere`() {
        let accounts = TURNAccounts(users: ["ann": "hunter2"], secrets: ["hunter3"])
        var text = "\(accounts) \(String(reflecting: accounts)) "
        dump(accounts, to: &text)
        for credentials in [TURNCredentials.secret("hunter4"), .fixed(username: "ann", password: "hunter5")] {
            text += "\(credentials) \(String(reflecting: credentials)) "
            dump(credentials, to: &text)
        }
        #expect(!text.contains("hunter"))
    }
}
