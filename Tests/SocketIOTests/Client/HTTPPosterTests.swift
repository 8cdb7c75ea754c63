import NIOCore
import NIOPosix
import SocketIO
import Testing

/// Posts that come to nothing, or whose answers do not end, with real sockets on loopback.
@Suite(.timeLimit(.minutes(2))) struct HTTPPosterTests {
    @Test func `a post that is called off does not wait for its connection to be made`() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        // It takes nobody: two may wait for that, and whoever comes then hears nothing.
        let deaf = try await ServerBootstrap(group: group)
            .serverChannelOption(ChannelOptions.backlog, value: 1)
            .serverChannelOption(ChannelOptions.autoRead, value: false)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(deaf.localAddress?.port)
        var callers: [any Channel] = []
        for _ in 0..<2 {
            callers.append(try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: port).get())
        }
        let poster = try HTTPPoster(url: "http://127.0.0.1:\(port)/", timeout: .seconds(60))
        let began = ContinuousClock.now
        let post = Task { try await poster.post([1], headers: []) }
        try await Task.sleep(for: .milliseconds(100))
        post.cancel()
        await #expect(throws: CancellationError.self) { try await post.value }
        #expect(ContinuousClock.now - began < .seconds(30))
        await poster.close()
        for channel in callers + [deaf] { try await channel.close() }
    }

    @Test func `the head of an answer is the answer, whatever becomes of its body`() async throws {
        // Too large, cut off, and never there; and one that is whole.
        for (announced, sent, staysOpen) in [(3 << 20, 3 << 20, true), (9, 1, false), (9, 0, true), (9, 9, true)] {
            let body = String(repeating: "x", count: sent)
            let text = "HTTP/1.1 202 Accepted\r\nContent-Length: \(announced)\r\n\r\n\(body)"
            try await RawServer.run(text, staysOpen: staysOpen) { server in
                let poster = try HTTPPoster(url: "http://127.0.0.1:\(server.port)/", timeout: .seconds(60))
                for _ in 0..<2 {
                    let status = try await poster.post([1], headers: [])
                    #expect(status == 202, "\(announced), \(sent)")
                    #expect(await poster.isConnected == (announced == 9 && sent == 9))
                }
                await poster.close()
            }
        }
    }

    @Test func `an answer without a head is none`() async throws {
        try await RawServer.run("HTTP/1.1 202 Accepted\r\nContent-Le") { server in
            let poster = try HTTPPoster(url: "http://127.0.0.1:\(server.port)/", timeout: .seconds(60))
            await #expect(throws: (any Error).self) { try await poster.post([1], headers: []) }
            await poster.close()
        }
    }
}
