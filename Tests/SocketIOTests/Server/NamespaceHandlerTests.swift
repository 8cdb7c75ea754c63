import SocketIO
import Testing

/// To which handler of a namespace an event comes.
@Suite(.timeLimit(.minutes(2))) struct NamespaceHandlerTests {
    @Test func `an event without a handler of its own comes to the one for any, which may answer it`() async throws {
        try await TestServer.run { server in
            let (heard, hear) = AsyncStream.makeStream(of: String.self)
            server.server.namespace("/").onAny { _, event in
                hear.yield("\(event.name) \(event.arguments.first?.int ?? 0)")
                event.acknowledge?(["any"])
            }
            var configuration = SocketIOClientConfiguration()
            configuration.transports = .webSocketOnly
            let client = try SocketIOClient(url: server.url, configuration: configuration)
            try await client.connect()
            client.emit("unheard of", [1])
            #expect(try await client.emit("echo", [2], timeout: .seconds(90)).first?.int == 2)
            #expect(try await client.emit("unheard of", [3], timeout: .seconds(90)).first?.string == "any")
            // A socket keeps the handlers that were there when it joined.
            server.server.namespace("/").on("late") { _, event in event.acknowledge?(["its own"]) }
            #expect(try await client.emit("late", [4], timeout: .seconds(90)).first?.string == "any")
            await client.disconnect()
            try await client.connect()
            #expect(try await client.emit("late", [5], timeout: .seconds(90)).first?.string == "its own")
            #expect(try await client.emit("another", [6], timeout: .seconds(90)).first?.string == "any")
            await client.disconnect()
            hear.finish()
            var events: [String] = []
            for await event in heard { events.append(event) }
            #expect(events == ["unheard of 1", "unheard of 3", "late 4", "another 6"])
        }
    }
}
