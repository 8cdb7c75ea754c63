import SocketIO
import Testing

/// Our client against python-socketio's server.
struct PythonServerTests {
    static let transports: [SocketIOClientConfiguration.Transports] = [
        .pollingOnly, .webSocketOnly, .pollingThenWebSocket,
    ]

    private func configuration(
        _ transports: SocketIOClientConfiguration.Transports
    ) -> SocketIOClientConfiguration {
        var configuration = SocketIOClientConfiguration()
        configuration.transports = transports
        configuration.reconnection.delay = .milliseconds(50)
        configuration.reconnection.maximumDelay = .milliseconds(200)
        return configuration
    }

    @Test(arguments: transports)
    func `our client gets echoes, answers questions, and shows its parameters`(
        transports: SocketIOClientConfiguration.Transports
    ) async throws {
        let peer = try PythonPeer("server.py")
        let url = "http://127.0.0.1:" + (try await peer.line())
        var configuration = configuration(transports)
        configuration.connectParams = [EngineIOQuery.Item(name: "username", value: "Ann & Bob")]
        configuration.headers = [("X-Test", "yes")]
        configuration.auth = RawJSON(#"{"token":1.0}"#)
        let client = try SocketIOClient(url: url, configuration: configuration)
        var events = client.events().makeAsyncIterator()
        try await client.connect()
        let answer = try await client.emit("echo", ["ключ", 7, true, nil, .binary([1, 2])], timeout: .seconds(90))
        #expect(answer.elements.prefix(4).map(\.text).joined(separator: " ").contains("7 true null"))
        #expect(answer.first?.string == "ключ")
        #expect(answer.binary(at: 4) == [1, 2])
        // The second one is larger than a POST may be together with the first.
        let large = String(repeating: "y", count: 150_000)
        async let first = client.emit("echo", .init(.init(string: large)), timeout: .seconds(90))
        async let second = client.emit("echo", .init(.init(string: large)), timeout: .seconds(90))
        #expect(try await first.first?.string == large)
        #expect(try await second.first?.string == large)
        client.emit("ask me")
        let question = await events.next()
        #expect(question?.name == "question")
        #expect(question?.arguments.first?.string == "what?")
        #expect(question?.arguments.binary(at: 1) == [7])
        question?.acknowledge?([.binary([9]), 5])
        let answered = await events.next()
        #expect(answered?.name == "answered")
        #expect(answered?.arguments[1]?.int == 5)
        let session = try await client.emit("session", timeout: .seconds(90))
        #expect(session[0]?.string?.contains("username=Ann") == true)
        #expect(session[1]?["token"]?.double == 1)
        #expect(session[2]?.string == "yes")
        #expect(session[3]?.string == (transports == .pollingOnly ? "polling" : "websocket"))
        await client.disconnect()
        #expect(client.state == .disconnected(.local))
        await peer.kill()
    }

    @Test(arguments: transports)
    func `what our client says at once arrives, however much it is`(
        transports: SocketIOClientConfiguration.Transports
    ) async throws {
        let peer = try PythonPeer("server.py")
        let client = try SocketIOClient(
            url: "http://127.0.0.1:" + (try await peer.line()), configuration: configuration(transports))
        try await client.connect()
        let echoed = try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask {
                    try await client.emit(
                        "echo", SocketIOArguments(RawJSON(string: "\(number)")), timeout: .seconds(90)
                    )
                    .first?.string.flatMap { Int($0) }
                }
            }
            return try await group.reduce(into: Set<Int>()) { if let number = $1 { $0.insert(number) } }
        }
        #expect(echoed == Set(0..<100))
        await client.disconnect()
        await peer.kill()
    }

    @Test(arguments: transports)
    func `our client answers pings`(transports: SocketIOClientConfiguration.Transports) async throws {
        let peer = try PythonPeer("server.py")
        let client = try SocketIOClient(
            url: "http://127.0.0.1:" + (try await peer.line()), configuration: configuration(transports))
        try await client.connect()
        // python-socketio sends a ping only after the answer to the one before it.
        let answered = try await client.emit("pings", [2], timeout: .seconds(90))
        #expect((answered.first?.int ?? 0) >= 2)
        #expect(client.id != nil)
        await client.disconnect()
        await peer.kill()
    }

    @Test func `a time-out of an acknowledgement is told and harms nothing`() async throws {
        let peer = try PythonPeer("server.py")
        let client = try SocketIOClient(
            url: "http://127.0.0.1:" + (try await peer.line()), configuration: configuration(.webSocketOnly))
        try await client.connect()
        await #expect(throws: SocketIOClientError.acknowledgementTimedOut) {
            try await client.emit("silence", timeout: .milliseconds(200))
        }
        #expect(try await client.emit("echo", ["again"], timeout: .seconds(90)).first?.string == "again")
        await client.disconnect()
        await peer.kill()
    }

    @Test func `a refused namespace says why and is not tried again`() async throws {
        let peer = try PythonPeer("server.py")
        let url = "http://127.0.0.1:" + (try await peer.line()) + "/private"
        let refused = try SocketIOClient(url: url, configuration: configuration(.pollingThenWebSocket))
        await #expect(
            throws: SocketIOClientError.disconnected(
                .refused(message: "Not with this token", data: RawJSON(#"{"hint":"try right"}"#)))
        ) { try await refused.connect(retrying: true) }
        var right = configuration(.pollingThenWebSocket)
        right.auth = RawJSON(#"{"token":"right"}"#)
        let client = try SocketIOClient(url: url, configuration: right)
        try await client.connect()
        #expect(try await client.emit("where", timeout: .seconds(90)).first?.string == "/private")
        await client.disconnect()
        await peer.kill()
    }

    @Test(arguments: transports)
    func `our client comes back when the server is killed and started again`(
        transports: SocketIOClientConfiguration.Transports
    ) async throws {
        let peer = try PythonPeer("server.py")
        let port = try await peer.line()
        let client = try SocketIOClient(url: "http://127.0.0.1:\(port)", configuration: configuration(transports))
        var states = client.states().makeAsyncIterator()
        try await client.connect()
        await peer.kill()
        while let state = await states.next() {
            if case .reconnecting = state { break }
        }
        // Waits for the connection.
        async let echo = client.emit("echo", ["late"], timeout: .seconds(20))
        let successor = try PythonPeer("server.py", [port])
        #expect(try await echo.first?.string == "late")
        while let state = await states.next() {
            if case .connected = state { break }
        }
        await client.disconnect()
        await successor.kill()
    }

    @Test func `a server that takes us out of the namespace is not bothered again`() async throws {
        let peer = try PythonPeer("server.py")
        let client = try SocketIOClient(
            url: "http://127.0.0.1:" + (try await peer.line()), configuration: configuration(.webSocketOnly))
        try await client.connect()
        var states = client.states().makeAsyncIterator()
        client.emit("drop me")
        while let state = await states.next() {
            if case .disconnected(let reason) = state {
                #expect(reason == .serverDisconnected)
                break
            }
        }
        await peer.kill()
    }
}
