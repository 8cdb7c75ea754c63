import Testing

@testable import RedisClient

/// A server that answers something else.
struct HostileServerTests {
    /// Answers that come are waited for, however busy the machine is.
    private static let patience = Duration.seconds(30)

    private func fault(answer: String, timeout: Duration) async throws -> RedisFault? {
        var fault: RedisFault?
        try await ScriptedServer.run(answer) { port in
            let client = RedisClient(
                try RedisAddress("redis://127.0.0.1:\(port)"), timeout: timeout, logger: .silent)
            try await client.waitUntilConnected()
            fault = await RedisClientTests.fault { () throws(RedisFault) in _ = try await client.send(["GET", "key"]) }
            try await eventually("it is connected again") {
                await RedisClientTests.fault { () throws(RedisFault) in try await client.waitUntilConnected() } == nil
            }
            await client.close()
        }
        return fault
    }

    @Test(arguments: [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", RedisFault.badReply("a type that RESP2 does not have")),
        ("*9\r\n*9\r\n*9\r\n*9\r\n*9\r\n*9\r\n*9\r\n*9\r\n*9\r\n", .badReply("too many arrays within each other")),
        ("$999999999\r\n", .badReply("a reply is too large")),
        ("$5\r\nhel", .timedOut),
    ])
    func `what is no reply ends the connection, and the next one begins`(answer: String, expected: RedisFault)
        async throws
    {
        let timeout = expected == .timedOut ? .seconds(1) : Self.patience
        #expect(try await fault(answer: answer, timeout: timeout) == expected)
    }

    @Test func `an answer too many ends the connection before it is taken for another's`() async throws {
        try await ScriptedServer.run("+one\r\n+two\r\n") { port in
            let client = RedisClient(
                try RedisAddress("redis://127.0.0.1:\(port)"), timeout: Self.patience, logger: .silent)
            try await client.waitUntilConnected()
            #expect(try await client.send(["GET", "key"]) == .simple("one"))
            for _ in 0..<50 {
                do throws(RedisFault) {
                    #expect(try await client.send(["GET", "key"]) == .simple("one"))
                } catch {
                    #expect(error != .timedOut)
                }
            }
            await client.close()
        }
    }
}
