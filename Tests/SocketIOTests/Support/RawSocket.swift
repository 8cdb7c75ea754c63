import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// A TCP connection of a test: sends any bytes and collects what comes back.
final class RawSocket: Sendable {
    private let channel: any Channel
    private let chunks: AsyncStream<[UInt8]>

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let continuation: AsyncStream<[UInt8]>.Continuation

        init(_ continuation: AsyncStream<[UInt8]>.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            continuation.yield(Array(unwrapInboundIn(data).readableBytesView))
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event as? ChannelEvent == .inputClosed { continuation.finish() }
        }

        func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// The connection was closed before this text had come.
    struct Missing: Error {
        let text: String
    }

    /// - Parameters:
    ///   - keepsSending: goes on when the other side says that it will send no more.
    ///   - context: for TLS.
    init(port: Int, keepsSending: Bool = false, context: NIOSSLContext? = nil) async throws {
        let (chunks, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        self.chunks = chunks
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.minutes(2))
            .channelOption(.allowRemoteHalfClosure, value: keepsSending)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let context {
                        try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil))
                    }
                    try pipeline.addHandler(Collector(continuation))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    /// Sends it, and waits until the system has taken all of it.
    func sendAll(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get() }

    /// Reads until `text` has come, or the connection is closed; all that was read.
    func read(until text: String) async -> String {
        var bytes: [UInt8] = []
        for await chunk in chunks {
            bytes += chunk
            if String(decoding: bytes, as: UTF8.self).contains(text) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads until the other side closes.
    func readToEnd() async -> String { await read(until: "no text has this \u{0}") }

    /// Reads so many bytes, or all until the other side closes; how many that were.
    func read(count: Int) async -> Int {
        var read = 0
        for await chunk in chunks {
            read += chunk.count
            if read >= count { break }
        }
        return read
    }

    /// Takes nothing off the socket, or goes on.
    func setReading(_ isWanted: Bool) { channel.setOption(.autoRead, value: isWanted).whenComplete { _ in } }

    /// Says that nothing more will be sent, and reads on.
    func closeOutput() { channel.close(mode: .output, promise: nil) }

    /// Closes with a reset instead of an end.
    func reset() {
        let channel = channel
        guard let options = channel as? any SocketOptionProvider else { return close() }
        options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in channel.close(promise: nil) }
    }

    func close() { channel.close(promise: nil) }

    deinit { channel.close(promise: nil) }

    /// Asks for a path and returns the whole response.
    static func get(_ target: String, port: Int, method: String = "GET", headers: String = "", body: String = "")
        async throws -> String
    {
        let socket = try await RawSocket(port: port)
        let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
        socket.send(
            "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\(headers)\(length)\r\n\(body)"
        )
        return await socket.readToEnd()
    }

    /// Opens a WebSocket by hand, and reads until `text` has come (the handshake's end, if nothing else is asked).
    static func webSocket(port: Int, sid: String? = nil, reading text: String = "\"sid\"") async throws -> RawSocket {
        let socket = try await RawSocket(port: port)
        socket.send(webSocketRequest(port: port, sid: sid))
        guard await socket.read(until: text).contains(text) else { throw Missing(text: text) }
        return socket
    }

    /// The request for a WebSocket, of a session that polls if there is a `sid`.
    static func webSocketRequest(port: Int, sid: String?) -> String {
        """
        GET /socket.io/?EIO=4&transport=websocket\(sid.map { "&sid=" + $0 } ?? "") HTTP/1.1\r\n\
        Host: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
        """
    }

    /// A masked frame as a client sends it. The masking key is zero, which the protocol allows.
    func sendFrame(_ payload: String, opcode: UInt8 = 1, isLast: Bool = true) {
        let bytes = Array(payload.utf8)
        var frame: [UInt8] = [(isLast ? 0x80 : 0) | opcode]
        if bytes.count < 126 {
            frame.append(0x80 | UInt8(bytes.count))
        } else {
            frame += [0x80 | 126, UInt8(bytes.count >> 8 & 0xff), UInt8(bytes.count & 0xff)]
        }
        send(frame + [0, 0, 0, 0] + bytes)
    }
}
