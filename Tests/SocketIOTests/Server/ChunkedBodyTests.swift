import Foundation
import SocketIO
import Synchronization
import Testing

/// Bodies that come in chunks, each when it is asked for.
struct ChunkedBodyTests {
    /// So many chunks of so many bytes; how many were asked for.
    private final class Source: Sendable {
        let count: Int
        let size: Int
        private let state = Mutex(0)

        init(count: Int, size: Int) {
            self.count = count
            self.size = size
        }

        var asked: Int { state.withLock { $0 } }

        var chunks: AsyncThrowingStream<[UInt8], any Error> {
            AsyncThrowingStream { [self] in
                let number = state.withLock { number in
                    number += 1
                    return number
                }
                return number <= count ? [UInt8](repeating: UInt8(ascii: "x"), count: size) : nil
            }
        }
    }

    private func answer(_ source: Source, length: Int) -> @Sendable (SocketIOHTTPRequest) async -> SocketIOHTTPResponse
    {
        { _ in SocketIOHTTPResponse(body: .chunks(source.chunks, length: length)) }
    }

    @Test func `chunks are one body, with its length before it`() async throws {
        let source = Source(count: 3, size: 5)
        let answer = answer(source, length: 15)
        try await TestServer.run({ $0.fallback = answer }) { server in
            let response = try await RawSocket.get("/file", port: server.port)
            #expect(response.contains("Content-Length: 15\r\n") && response.hasSuffix("\r\n\r\nxxxxxxxxxxxxxxx"))
        }
    }

    @Test func `of an answer to HEAD no chunk is asked for`() async throws {
        let source = Source(count: 3, size: 5)
        let answer = answer(source, length: 15)
        try await TestServer.run({ $0.fallback = answer }) { server in
            let response = try await RawSocket.get("/file", port: server.port, method: "HEAD")
            #expect(response.contains("Content-Length: 15\r\n") && response.hasSuffix("\r\n\r\n"))
            #expect(source.asked == 0)
        }
    }

    @Test func `chunks that end too early break the connection, and too long ones do not leave`() async throws {
        for length in [16, 12] {
            let answer = answer(Source(count: 3, size: 5), length: length)
            try await TestServer.run({ $0.fallback = answer }) { server in
                // Up to the end of the connection, which is what tells the client.
                let response = try await RawSocket.get("/file", port: server.port)
                #expect(response.contains("Content-Length: \(length)\r\n"))
                #expect((response.components(separatedBy: "\r\n\r\n").last ?? "").count < length)
            }
        }
    }

    @Test func `a body that is too large is answered as the configuration says`() async throws {
        try await TestServer.run({
            $0.fallbackBodyLimit = 10
            $0.bodyTooLarge = { request in
                request.path == "/own" ? .text("own words", status: 400, contentType: "text/x-own") : nil
            }
        }) { server in
            let body = String(repeating: "x", count: 11)
            let own = try await RawSocket.get("/own", port: server.port, method: "POST", body: body)
            #expect(own.hasPrefix("HTTP/1.1 413") && own.contains("text/x-own") && own.hasSuffix("own words"))
            let usual = try await RawSocket.get("/other", port: server.port, method: "POST", body: body)
            #expect(usual.hasPrefix("HTTP/1.1 413") && usual.hasSuffix("The request's body is too large.\n"))
        }
    }
}
