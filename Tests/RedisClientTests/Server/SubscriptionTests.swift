import Testing

@testable import RedisClient

/// Publishing and subscribing over a real server.
struct SubscriptionTests {
    private func number(_ event: RedisSubscriptionEvent?) -> Int? {
        guard case .message(let text) = event else { return nil }
        return Int(String(decoding: text, as: UTF8.self))
    }

    @Test func `10,000 messages come in their order`() async throws {
        try await RedisServer.run { server in
            let (sender, receiver) = (try server.client(), try server.client())
            try await sender.waitUntilConnected()
            var words = receiver.subscribe(to: "words").makeAsyncIterator()
            var others = receiver.subscribe(to: "others").makeAsyncIterator()
            #expect(await words.next() == .up)
            #expect(await others.next() == .up)
            sender.publish([1], on: "others")
            for number in 0..<10_000 { sender.publish(Array("\(number)".utf8), on: "words") }
            for expected in 0..<10_000 { try #require(number(await words.next()) == expected) }
            sender.publish([2], on: "others")
            #expect(await others.next() == .message([1]))
            #expect(await others.next() == .message([2]))
            await sender.close()
            await receiver.close()
        }
    }

    @Test func `large messages, and any bytes`() async throws {
        try await RedisServer.run { server in
            let client = try server.client()
            try await client.waitUntilConnected()
            var words = client.subscribe(to: "wörter und mehr\r\n").makeAsyncIterator()
            #expect(await words.next() == .up)
            let large = Array(repeating: [UInt8](0...255), count: 12_000).flatMap { $0 }
            for message in [large, [], [13, 10, 0, 255]] {
                client.publish(message, on: "wörter und mehr\r\n")
                let isSame = await words.next() == .message(message)
                #expect(isSame)
            }
            await client.close()
        }
    }

    @Test func `a published message is behind the command before it`() async throws {
        try await RedisServer.run { server in
            let client = try server.client()
            try await client.waitUntilConnected()
            var words = client.subscribe(to: "words").makeAsyncIterator()
            #expect(await words.next() == .up)
            for _ in 0..<100 {
                #expect(try await client.send(["INCR", "count"]) != .null)
                client.publish([1], on: "words")
                #expect(await words.next() == .message([1]))
            }
            await client.close()
        }
    }

    @Test func `more than 16 MiB that wait are dropped, and later messages come`() async throws {
        try await RedisServer.run { server in
            let client = try server.client()
            try await client.waitUntilConnected()
            var words = client.subscribe(to: "words").makeAsyncIterator()
            #expect(await words.next() == .up)
            await server.suspend()
            let message = [UInt8](repeating: 7, count: 1 << 20)
            // The system takes some, too, but no 32 MiB.
            for _ in 0..<64 { client.publish(message, on: "words") }
            await server.resume()
            client.publish([1], on: "elsewhere")
            try await eventually("everything has left") {
                try await client.send(["PING"]) == .simple("PONG")
            }
            client.publish([9], on: "words")
            var count = 0
            while let event = await words.next(), event != .message([9]) {
                #expect(event == .message(message))
                count += 1
            }
            #expect((14...40).contains(count))
            await client.close()
        }
    }

    @Test func `a reader that does not keep up is told, and goes on`() async throws {
        try await RedisServer.run { server in
            let sender = try server.client()
            let receiver = try server.client(subscriptionLimit: 100_000)
            try await sender.waitUntilConnected()
            var words = receiver.subscribe(to: "words").makeAsyncIterator()
            #expect(await words.next() == .up)
            for _ in 0..<200 { sender.publish([UInt8](repeating: 7, count: 1_000), on: "words") }
            try await eventually("the connection is given up") {
                try await sender.send(["PUBSUB", "NUMSUB", "words"]) == .array([.bulk("words"), .integer(0)])
            }
            #expect(await words.next() == .down)
            #expect(await words.next() == .up)
            sender.publish([1], on: "words")
            #expect(await words.next() == .message([1]))
            await sender.close()
            await receiver.close()
        }
    }

    @Test func `when its reader goes away, so does the connection`() async throws {
        try await RedisServer.run { server in
            let client = try server.client()
            try await client.waitUntilConnected()
            func subscribers(_ count: Int64) async throws {
                try await eventually("there are \(count) subscribers") {
                    try await client.send(["PUBSUB", "NUMSUB", "words"]) == .array([.bulk("words"), .integer(count)])
                }
            }
            do {
                var words = client.subscribe(to: "words").makeAsyncIterator()
                #expect(await words.next() == .up)
                try await subscribers(1)
            }
            try await subscribers(0)
            let stream = client.subscribe(to: "words")
            let reader = Task { for await _ in stream {} }
            try await subscribers(1)
            reader.cancel()
            await reader.value
            try await subscribers(0)
            await client.close()
        }
    }

    @Test func `a client that nobody holds any more leaves nothing behind`() async throws {
        try await RedisServer.run { server in
            let other = try server.client()
            try await other.waitUntilConnected()
            do {
                let client = try server.client()
                try await client.waitUntilConnected()
                var words = client.subscribe(to: "words").makeAsyncIterator()
                #expect(await words.next() == .up)
            }
            try await eventually("its connections are gone") {
                guard case .bulk(let list) = try await other.send(["CLIENT", "LIST"]) else { return false }
                return list.split(separator: UInt8(ascii: "\n")).count == 1
            }
            await other.close()
        }
    }
}
