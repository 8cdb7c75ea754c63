import Testing

@testable import SocketIO

struct DisconnectTests {
    @Test(arguments: [SocketIOClientConfiguration.Transports.pollingOnly, .webSocketOnly, .pollingThenWebSocket])
    func `what is emitted right before disconnecting arrives`(
        transports: SocketIOClientConfiguration.Transports
    ) async throws {
        try await TestServer.run({ $0.flood = .unlimited }) { server in
            let (ends, end) = AsyncStream.makeStream(of: SocketIODisconnectReason.self)
            server.server.namespace("/").onDisconnect { _, reason in end.yield(reason) }
            var configuration = SocketIOClientConfiguration()
            configuration.transports = transports
            configuration.disconnectTimeout = .seconds(60)  // The machine may be busy.
            let client = try SocketIOClient(url: server.url, configuration: configuration)
            try await client.connect()
            // More than one polling body holds.
            for number in 0..<5_000 { client.emit("echo", [.json(RawJSON(number))]) }
            await client.disconnect()
            var told = ends.makeAsyncIterator()
            #expect(await told.next() == .clientLeft)
            #expect(server.server.statistics.eventsIn == 5_000)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["http", "https"])
    func `a server that has fallen silent does not hold a disconnecting client up`(scheme: String) async throws {
        // Long-polling, in which a client is connected, and nothing is answered from then on.
        let texts = [
            #"0{"sid":"s","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":100000}"#,
            #"40{"sid":"n"}"#,
        ]
        let answers = texts.map { "HTTP/1.1 200 OK\r\nContent-Length: \($0.utf8.count)\r\n\r\n\($0)" }
        let context = try scheme == "https" ? TestCertificates.serverContext() : nil
        try await RawServer.run(polls: answers, context: context) { server in
            var configuration = SocketIOClientConfiguration()
            configuration.transports = .pollingOnly
            configuration.disconnectTimeout = .milliseconds(200)
            configuration.verifiesCertificates = false
            let client = try SocketIOClient(url: "\(scheme)://127.0.0.1:\(server.port)", configuration: configuration)
            try await client.connect()
            let start = ContinuousClock.now
            await client.disconnect()
            let time = ContinuousClock.now - start
            // What it has said last is given that time; the end of TLS would take five seconds more.
            #expect(time >= .milliseconds(200))
            #expect(time < .seconds(4))
        }
    }
}
