import NIOCore
import Testing

@testable import RedisClient

/// A real server that goes away, or hangs, and comes back.
struct OutageTests {
    private func isNotConnected(_ fault: RedisFault?) -> Bool {
        if case .notConnected = fault { true } else { false }
    }

    private func ping(_ client: RedisClient) async -> RedisFault? {
        await fault { () throws(RedisFault) in _ = try await client.send(["PING"]) }
    }

    @Test func `a server that is killed and begun again`() async throws {
        try await RedisServer.run { server in
            let client = try server.client()
            try await client.waitUntilConnected()
            var words = client.subscribe(to: "words").makeAsyncIterator()
            #expect(await words.next() == .up)
            for _ in 0..<3 {
                await server.kill()
                #expect(await words.next() == .down)
                try await eventually("the client knows") { isNotConnected(await ping(client)) }
                client.publish([1], on: "words")
                try await server.start()
                #expect(await words.next() == .up)
                try await eventually("commands work") { await ping(client) == nil }
                try await client.waitUntilConnected()
                client.publish([2], on: "words")
                #expect(await words.next() == .message([2]))
            }
            await client.close()
        }
    }

    @Test func `one that comes later is found`() async throws {
        try await RedisServer.run { server in
            await server.kill()
            let client = try server.client()
            #expect(isNotConnected(await ping(client)))
            var words = client.subscribe(to: "words").makeAsyncIterator()
            #expect(
                await fault { () throws(RedisFault) in try await client.waitUntilConnected() }
                    == .notConnected("connection refused"))
            try await server.start()
            #expect(await words.next() == .up)
            try await eventually("commands work") { await ping(client) == nil }
            await client.close()
        }
    }

    @Test func `one that hangs is not waited for, and found again`() async throws {
        try await RedisServer.run { server in
            let client = try server.client(timeout: .seconds(1))
            try await client.waitUntilConnected()
            var words = client.subscribe(to: "words").makeAsyncIterator()
            #expect(await words.next() == .up)
            await server.suspend()
            let clock = ContinuousClock()
            let start = clock.now
            #expect(await ping(client) == .timedOut)
            #expect(clock.now - start < .seconds(5))
            #expect(await words.next() == .down)
            #expect(isNotConnected(await ping(client)))
            await server.resume()
            #expect(await words.next() == .up)
            try await eventually("commands work") { await ping(client) == nil }
            for number in 0..<100 {
                #expect(try await client.send(["ECHO", "\(number)"]) == .bulk("\(number)"))
            }
            await client.close()
        }
    }

    @Test func `a slow script times out, and the answers after it are in their places`() async throws {
        try await RedisServer.run { server in
            let client = try server.client(timeout: .seconds(1))
            try await client.waitUntilConnected()
            let slow = """
                local start = redis.call('TIME')
                while redis.call('TIME')[1] - start[1] < 3 do end
                return 'slow'
                """
            #expect(
                await fault { () throws(RedisFault) in _ = try await client.send(["EVAL", slow, "0"]) } == .timedOut)
            try await eventually("commands work") { await ping(client) == nil }
            for number in 0..<100 {
                #expect(try await client.send(["ECHO", "\(number)"]) == .bulk("\(number)"))
            }
            await client.close()
        }
    }

    @Test func `waits grow to two seconds, and half of each is random`() {
        for (failures, longest) in [(0, 50), (1, 100), (2, 200), (5, 1_600), (6, 2_000), (1_000_000, 2_000)] {
            for _ in 0..<100 {
                let wait = RedisLink.wait(after: failures).nanoseconds
                #expect((Int64(longest) * 500_000...Int64(longest) * 1_000_000).contains(wait))
            }
        }
    }
}
