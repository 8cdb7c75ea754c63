import SocketIO
import Testing

/// What one connection does wrong is told to it, and nobody else notices.
struct HostileInputTests {
    private static func flooding(_ configuration: inout SocketIOServerConfiguration) {
        configuration.flood = .init(messagesPerSecond: 1, messageBurst: 20)
        configuration.maxPayload = 10_000
    }

    private func neighbour(of server: TestServer) async throws -> SocketIOClient {
        var configuration = SocketIOClientConfiguration()
        configuration.transports = .webSocketOnly
        configuration.reconnection = .never
        let client = try SocketIOClient(url: server.url, configuration: configuration)
        try await client.connect()
        return client
    }

    @Test(arguments: [
        ("2[\"a\"", "parse_error"), ("not a packet", "parse_error"), ("", "parse_error"),
        ("2[\"early\"]", "parse_error"),
        ("40/../\u{0},[", "parse_error"), ("452-[\"a\",{\"_placeholder\":true,\"num\":9}]", "parse_error"),
        ("4" + String(repeating: "[", count: 5_000), "parse_error"), ("2probe", "transport_error"),
        ("1", "transport_closed"),
        (String(repeating: "x", count: 20_000), "payload_too_large"),
    ])
    func `a malformed message closes its connection only`(text: String, label: String) async throws {
        try await TestServer.run(Self.flooding) { server in
            let client = try await neighbour(of: server)
            let socket = try await RawSocket.webSocket(port: server.port)
            socket.sendFrame(text.hasPrefix("2[") ? "4" + text : text)
            // The server answers with a close frame; ours says goodbye in turn.
            _ = await socket.read(until: "\u{3}")
            socket.close()
            while server.server.statistics.connections > 1 { await Task.yield() }
            #expect(server.server.statistics.closedByReason[label] == 1)
            #expect(try await client.emit("echo", [1], timeout: .seconds(90)).first?.int == 1)
            await client.disconnect()
        }
    }

    @Test func `a packet whose attachments keep coming is not held beyond the limit`() async throws {
        try await TestServer.run(Self.flooding) { server in
            let socket = try await RawSocket.webSocket(port: server.port)
            socket.sendFrame("40")
            socket.sendFrame("4564-[\"echo\"]")
            for _ in 0..<4 { socket.sendFrame(String(repeating: "x", count: 3_000), opcode: 2) }
            socket.sendFrame("", opcode: 8)
            #expect(await socket.readToEnd().contains("A message is larger than this server takes."))
            #expect(server.server.statistics.closedByReason == ["payload_too_large": 1])
        }
    }

    @Test func `a flood ends the connection that makes it`() async throws {
        try await TestServer.run(Self.flooding) { server in
            let client = try await neighbour(of: server)
            let socket = try await RawSocket.webSocket(port: server.port)
            socket.sendFrame("40")
            for _ in 0..<30 { socket.sendFrame("42[\"echo\"]") }
            #expect(await socket.read(until: "Too many").contains("Too many messages a second."))
            socket.close()
            while server.server.statistics.connections > 1 { await Task.yield() }
            #expect(server.server.statistics.closedByReason["flood"] == 1)
            #expect(try await client.emit("echo", ["on"], timeout: .seconds(90)).first?.string == "on")
            await client.disconnect()
        }
    }

    @Test func `few messages that are large are a flood as well`() async throws {
        func counting(_ configuration: inout SocketIOServerConfiguration) {
            configuration.flood = .init(bytesPerSecond: 1, byteBurst: 50_000)
        }
        try await TestServer.run(counting) { server in
            let socket = try await RawSocket.webSocket(port: server.port)
            socket.sendFrame("40")
            let message = "42[\"echo\",\"" + String(repeating: "x", count: 8_000) + "\"]"
            for _ in 0..<8 { socket.sendFrame(message) }
            socket.sendFrame("", opcode: 8)
            #expect(await socket.readToEnd().contains("Too many"))
            #expect(server.server.statistics.closedByReason == ["flood": 1])
        }
    }

    /// A pong that cannot be written ends the connection at once, and what is left to read comes before the write
    /// returns.
    @Test func `a reset among many pings ends its connection only`() async throws {
        func unlimited(_ configuration: inout SocketIOServerConfiguration) {
            configuration.flood = .unlimited
        }
        try await TestServer.run(unlimited) { server in
            let client = try await neighbour(of: server)
            let ping: [UInt8] = [0x89, 0x80, 0, 0, 0, 0]
            for _ in 0..<50 {
                let socket = try await RawSocket.webSocket(port: server.port)
                socket.send((0..<40_000).flatMap { _ in ping })
                _ = await socket.read(until: "\u{fffd}")
                socket.reset()
            }
            #expect(try await client.emit("echo", ["on"], timeout: .seconds(90)).first?.string == "on")
            await client.disconnect()
        }
    }

    /// Pongs that nobody asked for, and parts of a message that never ends, both without content.
    @Test(arguments: [10, 0] as [UInt8])
    func `frames that deliver nothing are a flood as well`(opcode: UInt8) async throws {
        try await TestServer.run(Self.flooding) { server in
            let socket = try await RawSocket.webSocket(port: server.port)
            socket.sendFrame("40")
            socket.sendFrame("4", isLast: false)
            for _ in 0..<30 { socket.sendFrame("", opcode: opcode, isLast: opcode == 10) }
            socket.sendFrame("", opcode: 8)
            #expect(await socket.readToEnd().contains("Too many messages a second."))
            #expect(server.server.statistics.closedByReason == ["flood": 1])
        }
    }

    @Test func `probes of a WebSocket that never takes over are a flood as well`() async throws {
        try await TestServer.run(Self.flooding) { server in
            let opened = try await RawSocket.get("/socket.io/?EIO=4&transport=polling", port: server.port)
            let sid = try #require(opened.firstMatch(of: /"sid":"([^"]+)"/)?.1)
            let socket = try await RawSocket.webSocket(
                port: server.port, sid: String(sid), reading: "101 Switching Protocols")
            for _ in 0..<30 { socket.sendFrame("2probe") }
            #expect(await socket.readToEnd().contains("Too many messages a second."))
            #expect(server.server.statistics.closedByReason == ["flood": 1])
        }
    }

    @Test func `fragments are put together, unmasked frames are refused`() async throws {
        try await TestServer.run { server in
            let socket = try await RawSocket.webSocket(port: server.port)
            socket.sendFrame("40")
            _ = await socket.read(until: "40{")
            socket.sendFrame("421[\"ec", isLast: false)
            socket.sendFrame("keep-alive", opcode: 9)
            socket.sendFrame("ho\",\"whole\"]", opcode: 0)
            #expect(await socket.read(until: "431").contains(#"431["whole"]"#))
            socket.send([0x81, 1, 0x33])
            #expect(await socket.read(until: "masking").contains("wrong masking"))
        }
    }

    @Test func `a connection joins so many namespaces and no more`() async throws {
        try await TestServer.run({ $0.namespaceLimit = 2 }) { server in
            for name in ["/one", "/two"] { _ = server.server.namespace(name) }
            let socket = try await RawSocket.webSocket(port: server.port)
            socket.sendFrame("40")
            #expect(await socket.read(until: "40{").contains("40{"))
            socket.sendFrame("40/one,")
            #expect(await socket.read(until: "40/one,{").contains("40/one,{"))
            socket.sendFrame("40/two,")
            let refusal = #"44/two,{"message":"Too many namespaces"}"#
            #expect(await socket.read(until: refusal).contains(refusal))
        }
    }

    @Test func `a client that joins no namespace is closed`() async throws {
        try await TestServer.run({ $0.connectTimeout = .milliseconds(20) }) { server in
            _ = try await RawSocket.webSocket(port: server.port, reading: "No namespace was joined in time.")
        }
    }

    @Test func `a client that does not read is dropped before it costs memory`() async throws {
        try await TestServer.run({ $0.outboundLimit = 200_000 }) { server in
            let slow = try await RawSocket.webSocket(port: server.port)
            slow.sendFrame("40")
            slow.setReading(false)
            let text = RawJSON(string: String(repeating: "z", count: 100_000))
            let main = server.server.namespace("/")
            while server.server.statistics.closedByReason["slow_consumer"] == nil {
                main.emit("news", [.json(text)])
                await Task.yield()
            }
            #expect(server.server.statistics.connections == 0)
        }
    }
}
