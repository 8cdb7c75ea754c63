import Foundation
import NIOCore
import NIOPosix
import SocketIO

/// A TCP connection of a test: sends any bytes and collects what comes back.
final class RawSocket: Sendable {
    private let channel: any Channel
    let chunks: AsyncStream<[UInt8]>

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let continuation: AsyncStream<[UInt8]>.Continuation

        init(_ continuation: AsyncStream<[UInt8]>.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            continuation.yield(Array(unwrapInboundIn(data).readableBytesView))
        }

        func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    init(port: Int) async throws {
        let (chunks, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        self.chunks = chunks
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.minutes(2))
            .channelInitializer { channel in channel.pipeline.addHandler(Collector(continuation)) }
            .connect(host: "127.0.0.1", port: port).get()
    }

    func send(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    func readToEnd() async -> [UInt8] {
        var bytes: [UInt8] = []
        for await chunk in chunks { bytes += chunk }
        return bytes
    }

    /// Back when the system has taken them.
    func sendSlowly(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get() }

    /// Whether what comes is read, or left with whoever sends it.
    func setReading(_ isReading: Bool) async throws { try await channel.setOption(.autoRead, value: isReading).get() }

    func close() { channel.close(promise: nil) }

    deinit { channel.close(promise: nil) }
}

/// A WebSocket of a test, or the response that it was refused with.
actor TestWebSocket {
    private let socket: RawSocket
    private var chunks: AsyncStream<[UInt8]>.AsyncIterator
    private var reader = WebSocketReader(side: .client, limit: 4 << 20)
    private var messages: [WebSocketReader.Message] = []
    /// What the server said before the first frame: the head, and a refusal's body.
    let answer: String

    var isOpen: Bool { answer.hasPrefix("HTTP/1.1 101") }

    init(_ target: String, port: Int, headers: [String: String]) async throws {
        socket = try await RawSocket(port: port)
        var head = """
            GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n
            """
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        socket.send(Array((head + "\r\n").utf8))
        var iterator = socket.chunks.makeAsyncIterator()
        var bytes: [UInt8] = []
        var end: Range<Int>?
        while end == nil, let chunk = await iterator.next() {
            bytes += chunk
            end = bytes.firstRange(of: Array("\r\n\r\n".utf8))
        }
        let body = end?.upperBound ?? bytes.count
        chunks = iterator
        var text = String(decoding: bytes[..<body], as: UTF8.self)
        if text.hasPrefix("HTTP/1.1 101") {
            var first: [WebSocketReader.Message] = []
            let rest = Array(bytes[body...])
            try reader.receive(rest.span.bytes) { first.append($0) }
            messages = first
        } else {
            text += String(decoding: bytes[body...], as: UTF8.self)
        }
        answer = text
    }

    /// The next message that is no control frame; nil at the end.
    func next() async throws -> WebSocketReader.Message? {
        while true {
            while !messages.isEmpty {
                switch messages.removeFirst() {
                case .ping, .pong, .fragment: continue
                case let message: return message
                }
            }
            // One reader at a time: nobody else asks meanwhile.
            var iterator = chunks
            guard let chunk = await iterator.next(isolation: self) else { return nil }
            chunks = iterator
            try reader.receive(chunk.span.bytes) { messages.append($0) }
        }
    }

    /// A masked frame, as a client sends it. The masking key is zero, which the protocol allows.
    func send(_ payload: [UInt8], isText: Bool = false) { socket.send(Self.frame(payload, opcode: isText ? 1 : 2)) }

    /// Back when the system has taken it.
    nonisolated func sendSlowly(_ payload: [UInt8]) async throws {
        try await socket.sendSlowly(Self.frame(payload, opcode: 2))
    }

    /// A close frame with a code and a reason, or with neither.
    func sendClose(code: UInt16? = nil, reason: String = "") {
        let payload = code.map { [UInt8($0 >> 8), UInt8($0 & 0xff)] + reason.utf8 } ?? []
        socket.send(Self.frame(payload, opcode: 8))
    }

    func setReading(_ isReading: Bool) async throws { try await socket.setReading(isReading) }

    private static func frame(_ payload: [UInt8], opcode: UInt8) -> [UInt8] {
        var frame: [UInt8] = [0x80 | opcode]
        if payload.count < 126 {
            frame.append(0x80 | UInt8(payload.count))
        } else if payload.count < 65_536 {
            frame += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xff)]
        } else {
            frame.append(0x80 | 127)
            frame += (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
        }
        return frame + [0, 0, 0, 0] + payload
    }

    func close() { socket.close() }
}
