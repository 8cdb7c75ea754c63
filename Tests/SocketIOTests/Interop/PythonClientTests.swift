import SocketIO
import Testing

/// python-socketio's client against our server.
struct PythonClientTests {
    static let transports = ["polling", "websocket", "polling+websocket"]

    /// python-socketio may leave by polling without a word; then its last poll is answered by the next ping, which
    /// comes after 25 s otherwise.
    private static func pingingOften(_ configuration: inout SocketIOServerConfiguration) {
        configuration.session.pingInterval = .milliseconds(500)
    }

    @Test(arguments: transports)
    func `python-socketio's client gets its echoes, acknowledgements and binary`(transports: String) async throws {
        try await TestServer.run(Self.pingingOften) { server in
            let lines = try await PythonPeer.run("client.py", [server.url, transports, "echo"])
            let transport = transports == "polling" ? "polling" : "websocket"
            #expect(lines == ["echoed \(transport)", "forty-two [0, 255]", "done"])
        }
    }

    @Test(arguments: transports)
    func `python-socketio's client joins namespaces, and learns why it may not`(transports: String) async throws {
        try await TestServer.run(Self.pingingOften) { server in
            let lines = try await PythonPeer.run("client.py", [server.url, transports, "namespaces"])
            #expect(lines.last == "done")
        }
    }

    @Test(arguments: transports)
    func `python-socketio's clients hear each other in a room`(transports: String) async throws {
        try await TestServer.run(Self.pingingOften) { server in
            let lines = try await PythonPeer.run("client.py", [server.url, transports, "rooms"])
            #expect(lines == ["done"])
        }
    }

    @Test(arguments: transports)
    func `python-socketio's client gets many events at once`(transports: String) async throws {
        try await TestServer.run(Self.pingingOften) { server in
            let lines = try await PythonPeer.run("client.py", [server.url, transports, "burst"])
            #expect(lines == ["done"])
        }
    }

    @Test(arguments: transports)
    func `python-socketio's client answers pings and is told when the server goes`(transports: String) async throws {
        let peer = try await TestServer.run {
            $0.session.pingInterval = .milliseconds(50)
            $0.session.pingTimeout = .seconds(60)
        } _: { server in
            let peer = try PythonPeer("client.py", [server.url, transports, "hold"])
            #expect(try await peer.line() == "connected")
            // A ping goes out only after the answer to the one before it.
            #expect(try await peer.line() == "3 pings")
            #expect(server.server.statistics.connections == 1)
            return peer
        }
        _ = try await peer.line()
        #expect(try await peer.line() == "done")
    }
}
