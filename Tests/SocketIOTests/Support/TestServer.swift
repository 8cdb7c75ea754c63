import SocketIO

/// A server on a free port of 127.0.0.1 with the handlers that the peers' scripts expect.
struct TestServer {
    let server: SocketIOServer
    let port: Int

    var url: String { "http://127.0.0.1:\(port)" }

    /// Runs `body` with a server and shuts it down afterwards.
    static func run<Result>(
        _ change: (inout SocketIOServerConfiguration) -> Void = { _ in },
        _ body: (TestServer) async throws -> Result
    ) async throws -> Result {
        var configuration = SocketIOServerConfiguration()
        change(&configuration)
        let server = SocketIOServer(configuration: configuration)
        install(on: server)
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        do {
            let result = try await body(TestServer(server: server, port: port))
            await server.shutdown()
            return result
        } catch {
            await server.shutdown()
            throw error
        }
    }

    private static func install(on server: SocketIOServer) {
        let main = server.namespace("/")
        for namespace in [main, server.namespace("/chat"), server.namespace("/private")] {
            namespace.on("where") { socket, event in
                event.acknowledge?(SocketIOArguments(RawJSON(string: socket.namespace)))
            }
        }
        main.on("echo") { _, event in event.acknowledge?(event.arguments) }
        main.on("join") { socket, event in
            socket.join(event.arguments.first?.string ?? "")
            event.acknowledge?()
        }
        main.on("leave") { socket, event in
            socket.leave(event.arguments.first?.string ?? "")
            event.acknowledge?()
        }
        main.on("say") { socket, event in
            socket.broadcastSaid(event)
        }
        main.on("burst") { socket, event in
            for number in 0..<(event.arguments.first?.int ?? 0) {
                socket.emit("number", SocketIOArguments(RawJSON(string: "\(number)")))
            }
        }
        main.on("relay") { socket, event in socket.relay(event, to: "relay") }
        main.onAsync("ask me") { socket, _ in
            let answer = try? await socket.emit("question", ["what?", .binary([7])], timeout: .seconds(90))
            socket.userData = answer
        }
        main.on("what was answered") { socket, event in
            let answer = socket.userData as? SocketIOArguments
            let text = (answer?.first?.string ?? "nothing") + " \(answer?.binary(at: 1) ?? [])"
            event.acknowledge?(SocketIOArguments(RawJSON(string: text)))
        }
        server.namespace("/private").authorize { handshake in
            handshake.auth?["token"]?.string == "right"
                ? .accept()
                : .refuse(
                    message: "Not with this token", data: RawJSON(object: ["hint": RawJSON(string: "try right")]))
        }
    }
}

extension SocketIOSocket {
    /// The event under another name, to the kitchen.
    fileprivate func broadcastSaid(_ event: SocketIOEvent) { broadcast("said", event.arguments, to: "kitchen") }
}
