import Foundation
import Testing

@testable import RedisClient

/// Against a real server.
struct CommandsTests {
    @Test func `10,000 commands of a hundred tasks get their own answers`() async throws {
        try await RedisServer.run { server in
            let client = try server.client()
            try await client.waitUntilConnected()
            let right = try await withThrowingTaskGroup(of: Int.self) { group in
                for task in 0..<100 {
                    group.addTask {
                        var right = 0
                        for number in 0..<100
                        where try await client.send(["ECHO", "\(task) \(number)"])
                            == .bulk("\(task) \(number)")
                        { right += 1 }
                        return right
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(right == 10_000)
            await client.close()
        }
    }

    @Test func `commands of one task are carried out in their order`() async throws {
        try await RedisServer.run { server in
            let client = try server.client()
            try await client.waitUntilConnected()
            for number in 1...100 { #expect(try await client.send(["INCR", "count"]) == .integer(Int64(number))) }
            await client.close()
        }
    }

    @Test func `every kind of reply comes as what it is`() async throws {
        try await RedisServer.run { server in
            let client = try server.client("redis://localhost")
            try await client.waitUntilConnected()
            #expect(try await client.send(["SET", "key", "ä\r\nb"]) == .simple("OK"))
            #expect(try await client.send(["GET", "key"]) == .bulk("ä\r\nb"))
            #expect(try await client.send(["GET", "none"]) == .null)
            #expect(try await client.send(["CLIENT", "GETNAME"]) == .bulk("roost"))
            #expect(try await client.send(["MGET", "key", "none"]) == .array([.bulk("ä\r\nb"), .null]))
            let nested = "return {1, {2, {'three', false}}, redis.error_reply('ERR four')}"
            #expect(
                try await client.send(["EVAL", nested, "0"])
                    == .array([
                        .integer(1), .array([.integer(2), .array([.bulk("three"), .null])]), .error("ERR four"),
                    ]))
            #expect(
                await fault { () throws(RedisFault) in _ = try await client.send(["INCR", "key"]) }
                    == .refused("ERR value is not an integer or out of range"))
            #expect(
                await fault { () throws(RedisFault) in _ = try await client.send([]) }
                    == .refused("ERR the command is empty"))
            #expect(try await client.send(["ECHO", "still in order"]) == .bulk("still in order"))
            await client.close()
        }
    }

    @Test func `large values go and come`() async throws {
        try await RedisServer.run { server in
            let client = try server.client()
            try await client.waitUntilConnected()
            let value = String(repeating: "0123456789abcdef", count: 500_000)
            async let slow = client.send(["ECHO", value])
            async let quick = client.send(["ECHO", "quick"])
            #expect(try await slow == .bulk(value))
            #expect(try await quick == .bulk("quick"))
            await client.close()
        }
    }

    @Test func `a script that the server does not know any more is sent again`() async throws {
        try await RedisServer.run { server in
            let client = try server.client()
            try await client.waitUntilConnected()
            let script = RedisScript("return {redis.call('INCRBY', KEYS[1], ARGV[1]), 'ä'}")
            for round in 1...3 {
                for number in 1...2 {
                    let expected = RedisValue.array([.integer(Int64((round - 1) * 2 + number) * 5), .bulk("ä")])
                    #expect(try await client.run(script, keys: ["count"], arguments: ["5"]) == expected)
                }
                #expect(try await client.send(["SCRIPT", "EXISTS", script.digest]) == .array([.integer(1)]))
                #expect(try await client.send(["SCRIPT", "FLUSH"]) == .simple("OK"))
            }
            let broken = RedisScript("return nonsense(")
            let broke = await fault { () throws(RedisFault) in
                _ = try await client.run(broken, keys: [], arguments: [])
            }
            #expect(broke?.description.hasPrefix("Redis has refused: ERR Error compiling script") == true)
            await client.close()
        }
    }

    @Test func `whose task is cancelled waits no longer, and nobody gets its answer`() async throws {
        try await RedisServer.run { server in
            let client = try server.client()
            try await client.waitUntilConnected()
            for round in 0..<50 {
                let cancelled = (0..<20).map { number in
                    Task { try await client.send(["ECHO", "cancelled \(number)"]) }
                }
                for task in cancelled.shuffled().prefix(15) { task.cancel() }
                #expect(try await client.send(["ECHO", "\(round)"]) == .bulk("\(round)"))
                for (number, task) in cancelled.enumerated() {
                    switch await task.result {
                    case .success(let value): #expect(value == .bulk("cancelled \(number)"))
                    case .failure(let error): #expect(error as? RedisFault == .timedOut)
                    }
                }
            }
            await client.close()
        }
    }

    @Test func `a closed client fails at once`() async throws {
        try await RedisServer.run { server in
            let client = try server.client()
            try await client.waitUntilConnected()
            let other = try server.client()
            try await other.waitUntilConnected()
            var stream = client.subscribe(to: "words").makeAsyncIterator()
            #expect(await stream.next() == .up)
            await client.close()
            #expect(await stream.next() == nil)
            var late = client.subscribe(to: "words").makeAsyncIterator()
            #expect(await late.next() == nil)
            let closed = RedisFault.notConnected("the client is closed")
            #expect(await fault { () throws(RedisFault) in _ = try await client.send(["PING"]) } == closed)
            #expect(await fault { () throws(RedisFault) in try await client.waitUntilConnected() } == closed)
            client.publish([1], on: "words")
            await client.close()
            try await eventually("its connections are gone") {
                guard case .bulk(let list) = try await other.send(["CLIENT", "LIST"]) else { return false }
                return list.split(separator: UInt8(ascii: "\n")).count == 1
            }
            await other.close()
        }
    }
}
