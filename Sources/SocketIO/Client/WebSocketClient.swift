import NIOCore
import NIOHTTP1

/// The WebSocket transport of a client. Lives on one event loop.
final class WebSocketClient: @unchecked Sendable {
    enum Fact {
        case connected
        case packet(EngineIOPacket)
        case closed(EngineIOClientCloseReason)
    }

    private let loop: any EventLoop
    private let report: (WebSocketClient, Fact) -> Void
    private var channel: (any Channel)?
    private var isOpen = false
    private var isClosed = false

    init(
        endpoint: ClientEndpoint, target: String, loop: any EventLoop, limit: Int,
        report: @escaping (WebSocketClient, Fact) -> Void
    ) {
        self.loop = loop
        self.report = report
        let head = endpoint.head(.GET, target)
        endpoint.connect(on: loop) { [weak self] channel in
            let report: (Fact) -> Void = { self?.received($0) }
            try WebSocketHandshakeHandler.install(on: channel, endpoint: endpoint, request: head) { outcome in
                switch outcome {
                case .accepted:
                    try channel.pipeline.syncOperations.addHandler(
                        WebSocketClientHandler(endpoint: endpoint, limit: limit, report: report))
                    report(.connected)
                case .refused(let head, let body): report(.closed(.refusal(Int(head.status.code), body)))
                case .failed(let reason): report(.closed(reason))
                }
            }
        }.whenComplete { result in
            switch result {
            case .success(let channel):
                self.channel = channel
                if self.isClosed { channel.close(promise: nil) }
            case .failure(let error): self.ended(endpoint.closeReason(error))
            }
        }
    }

    private func received(_ fact: Fact) {
        guard !isClosed else { return }
        switch fact {
        case .connected:
            isOpen = true
            report(self, .connected)
        case .packet: report(self, fact)
        case .closed(let reason): ended(reason)
        }
    }

    private func ended(_ reason: EngineIOClientCloseReason) {
        guard !isClosed else { return }
        isClosed = true
        report(self, .closed(reason))
    }

    /// Sends packets, one frame each, in one write.
    func send(_ packets: [EngineIOPacket]) {
        guard let channel, isOpen, !isClosed else { return }
        var frames = channel.allocator.buffer(capacity: packets.reduce(0) { $0 + $1.count + 15 })
        for packet in packets { WebSocketFraming.write(packet, mask: .random(in: 0...UInt32.max), into: &frames) }
        channel.writeAndFlush(frames, promise: nil)
    }

    /// Closes; nothing is reported afterwards. Done when the connection is closed. A server that does not read holds
    /// nobody up for longer than `limit`.
    @discardableResult
    func close(saying packet: EngineIOPacket? = nil, within limit: TimeAmount = .seconds(3)) -> EventLoopFuture<Void> {
        if let packet { send([packet]) }
        let wasOpen = isOpen && !isClosed
        isClosed = true
        guard let channel else { return loop.makeSucceededVoidFuture() }
        guard wasOpen, channel.isActive else {
            channel.close(promise: nil)
            return channel.closeFuture
        }
        var frame = channel.allocator.buffer(capacity: 8)
        let payload = WebSocketFraming.closePayload(1000, "")
        WebSocketFraming.write(
            payload[...], opcode: WebSocketOpcode.close, mask: .random(in: 0...UInt32.max), into: &frame)
        let patience = loop.scheduleTask(in: limit) { channel.close(promise: nil) }
        channel.writeAndFlush(frame).whenComplete { _ in
            patience.cancel()
            channel.close(promise: nil)
        }
        return channel.closeFuture
    }
}

/// The receiving end of a client's WebSocket.
private final class WebSocketClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private enum Phase {
        case open
        /// The end has been reported; whatever follows is dropped.
        case ended
    }

    private let endpoint: ClientEndpoint
    private var reader: WebSocketReader
    private var phase = Phase.open
    private let reads = ReadsInTurn()
    private let report: (WebSocketClient.Fact) -> Void

    init(endpoint: ClientEndpoint, limit: Int, report: @escaping (WebSocketClient.Fact) -> Void) {
        self.endpoint = endpoint
        reader = WebSocketReader(side: .client, limit: limit)
        self.report = report
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reads.take(unwrapInboundIn(data)) { receive($0, context) }
    }

    private func receive(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        guard case .open = phase else { return }
        do throws(WebSocketFault) {
            try reader.receive(buffer.readableBytesSpan) { received($0, context) }
        } catch {
            end(.protocolError(error.text), code: error.code, context)
        }
    }

    private func received(_ message: WebSocketReader.Message, _ context: ChannelHandlerContext) {
        guard case .open = phase else { return }
        switch message {
        case .text(let bytes):
            do throws(EngineIOPacketError) {
                report(.packet(try EngineIOPacket(textFrame: bytes[...])))
            } catch {
                end(.protocolError("\(error)"), code: 1002, context)
            }
        case .binary(let bytes): report(.packet(.binary(bytes[...])))
        case .ping(let payload):
            var frame = context.channel.allocator.buffer(capacity: payload.count + 6)
            WebSocketFraming.write(
                payload[...], opcode: WebSocketOpcode.pong, mask: .random(in: 0...UInt32.max), into: &frame)
            context.writeAndFlush(NIOAny(frame), promise: nil)
        case .pong, .fragment: break
        case .close(let code, _): end(.serverClosed, code: code ?? 1000, context)
        }
    }

    private func end(_ reason: EngineIOClientCloseReason, code: UInt16, _ context: ChannelHandlerContext) {
        guard case .open = phase else { return }
        phase = .ended
        report(.closed(reason))
        var frame = context.channel.allocator.buffer(capacity: 8)
        WebSocketFraming.write(
            WebSocketFraming.closePayload(code, "")[...], opcode: WebSocketOpcode.close,
            mask: .random(in: 0...UInt32.max), into: &frame)
        context.writeAndFlush(NIOAny(frame), promise: nil)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        report(.closed(.serverClosed))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        report(.closed(endpoint.closeReason(error)))
        context.close(promise: nil)
    }
}
