import Testing

@testable import RedisClient

/// Passwords, databases and TLS of a real server.
struct SecurityTests {
    private func fault(_ client: RedisClient) async -> RedisFault? {
        let fault = await RedisClientTests.fault { () throws(RedisFault) in try await client.waitUntilConnected() }
        await client.close()
        return fault
    }

    private func isRefused(_ fault: RedisFault?, _ kind: String) -> Bool {
        guard case .refused(let text) = fault else { return false }
        return text.hasPrefix(kind)
    }

    @Test func `the password of default, and of a user`() async throws {
        let options = ["--requirepass", "p@ss/wörd", "--user", "roost", "on", ">geheim", "~*", "&*", "+@all"]
        try await RedisServer.run(options) { server in
            #expect(try await isRefused(fault(server.client()), "NOAUTH"))
            #expect(try await isRefused(fault(server.client("redis://:wrong@127.0.0.1")), "WRONGPASS"))
            #expect(try await isRefused(fault(server.client("redis://roost:wrong@127.0.0.1")), "WRONGPASS"))
            #expect(try await isRefused(fault(server.client("redis://nobody:geheim@127.0.0.1")), "WRONGPASS"))
            #expect(try await fault(server.client("redis://:p%40ss%2Fw%C3%B6rd@127.0.0.1")) == nil)
            let client = try server.client("redis://roost:geheim@127.0.0.1")
            try await client.waitUntilConnected()
            #expect(try await client.send(["ACL", "WHOAMI"]) == .bulk("roost"))
            var words = client.subscribe(to: "words").makeAsyncIterator()
            #expect(await words.next() == .up)
            await client.close()
        }
    }

    @Test func `one that may not name its connection is connected all the same`() async throws {
        let options = ["--user", "roost", "on", "nopass", "~*", "&*", "+ping", "+publish", "+subscribe"]
        try await RedisServer.run(options) { server in
            let client = try server.client("redis://roost@127.0.0.1")
            try await client.waitUntilConnected()
            var words = client.subscribe(to: "words").makeAsyncIterator()
            #expect(await words.next() == .up)
            client.publish([1], on: "words")
            #expect(await words.next() == .message([1]))
            await client.close()
        }
    }

    @Test func `a database of its own, or one that is not there`() async throws {
        try await RedisServer.run { server in
            let (zero, three) = (try server.client(), try server.client(database: 3))
            try await zero.waitUntilConnected()
            try await three.waitUntilConnected()
            #expect(try await three.send(["SET", "key", "3"]) == .simple("OK"))
            #expect(try await zero.send(["GET", "key"]) == .null)
            #expect(try await isRefused(fault(server.client(database: 16)), "ERR"))
            await zero.close()
            await three.close()
        }
    }

    private static let tls = [
        "--tls-cert-file", "FOLDER/chain.pem", "--tls-key-file", "FOLDER/key.pem", "--tls-ca-cert-file",
        "FOLDER/chain.pem", "--tls-auth-clients", "no",
    ]
    private static let files = [
        "chain.pem": TestCertificates.selfSigned, "key.pem": TestCertificates.key, "no.pem": "no",
    ]

    @Test(arguments: ["rediss://127.0.0.1", "rediss://localhost"])
    func `TLS with a certificate that is trusted`(place: String) async throws {
        try await RedisServer.run(Self.tls, isSecure: true, files: Self.files) { server in
            let client = try server.client(place, trustedAuthorities: server.file("chain.pem"))
            try await client.waitUntilConnected()
            let value = String(repeating: "0123456789abcdef", count: 100_000)
            #expect(try await client.send(["ECHO", value]) == .bulk(value))
            var words = client.subscribe(to: "words").makeAsyncIterator()
            #expect(await words.next() == .up)
            client.publish(Array(value.utf8), on: "words")
            #expect(await words.next() == .message(Array(value.utf8)))
            await client.close()
        }
    }

    @Test func `TLS that cannot be trusted, or is none`() async throws {
        try await RedisServer.run(Self.tls, isSecure: true, files: Self.files) { server in
            for (place, authorities, expected) in [
                ("rediss://127.0.0.1", nil, "the server's certificate is not trusted"),
                (
                    "rediss://127.0.0.1", server.file("no.pem"),
                    "the file of trusted authorities holds no certificates in PEM form"
                ),
                ("redis://127.0.0.1", nil, "the server closed the connection"),
            ] {
                let fault = await fault(try server.client(place, trustedAuthorities: authorities))
                #expect(fault == .notConnected(expected))
            }
        }
        try await RedisServer.run { server in
            // To Redis the handshake is the beginning of a command: it waits for the rest.
            let fault = await fault(try server.client("rediss://127.0.0.1", timeout: .seconds(1)))
            #expect(fault == .timedOut)
        }
    }

    @Test func `nobody there`() async throws {
        try await RedisServer.run { server in
            await server.kill()
            for (place, expected) in [
                ("redis://127.0.0.1", "connection refused"), ("redis://no-such-host.invalid", "its name is not known"),
            ] {
                let fault = await fault(try server.client(place))
                #expect(fault == .notConnected(expected))
            }
        }
    }
}
