import NIOCore

/// The receiving end of one WebSocket outside the Socket.IO path: bytes in, messages to its peer.
final class WebSocketPeerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private enum Phase {
        case open
        /// A close frame or a fault came, and whatever follows is dropped.
        case closing
        case closed
    }

    private let peer: any WebSocketPeer
    private let link: WebSocketLink
    private let terms: WebSocketTerms
    private var reader: WebSocketReader
    private var phase = Phase.open
    private let reads = ReadsInTurn()
    private var messageBucket: TokenBucket
    private var byteBucket: TokenBucket
    private let pings: PingRound
    /// In that round, while it is open.
    private var turn: Int?
    /// Pings since anything was last heard.
    private var unanswered = 0

    /// A client that is silent for so many pings has gone.
    private static let patience = 3

    init(peer: any WebSocketPeer, link: WebSocketLink, on loop: LoopContext, terms: WebSocketTerms) {
        self.peer = peer
        self.link = link
        self.terms = terms
        pings = loop.pings(every: TimeAmount(terms.pingInterval))
        reader = WebSocketReader(side: .server, limit: terms.messageLimit)
        let flood = terms.flood
        messageBucket = TokenBucket(perSecond: flood.messagesPerSecond, burst: flood.messageBurst, at: .now)
        byteBucket = TokenBucket(perSecond: flood.bytesPerSecond, burst: flood.byteBurst, at: .now)
    }

    /// RFC 6455 §5.5.2: a ping without content.
    private static let pingFrame = {
        var frame = ByteBuffer()
        WebSocketFraming.write([], opcode: WebSocketOpcode.ping, into: &frame)
        return frame
    }()

    func handlerAdded(context: ChannelHandlerContext) { turn = pings.add(self) }

    /// It is this one's turn.
    func ping() {
        let channel = link.channel
        guard unanswered < Self.patience else { return channel.close(promise: nil) }
        // Of a client that is not read from, no answer is seen.
        let isReading = (try? channel.syncOptions?.getOption(.autoRead)) ?? true
        if isReading { unanswered += 1 }
        channel.writeAndFlush(Self.pingFrame, promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reads.take(unwrapInboundIn(data)) { receive($0) }
    }

    private func receive(_ buffer: ByteBuffer) {
        guard case .open = phase else { return }
        unanswered = 0
        guard byteBucket.take(Double(buffer.readableBytes), at: .now) else { return endFlood() }
        do throws(WebSocketFault) {
            try reader.receive(buffer.readableBytesSpan) { received($0) }
        } catch {
            phase = .closing
            link.close(code: error.code, reason: error.text)
        }
    }

    private func received(_ message: WebSocketReader.Message) {
        // What came in one piece with the end of the connection came too late.
        guard case .open = phase else { return }
        guard messageBucket.take(1, at: .now) else { return endFlood() }
        switch message {
        case .text(let bytes): peer.webSocketReceived(bytes, isText: true)
        case .binary(let bytes): peer.webSocketReceived(bytes, isText: false)
        case .ping(let payload):
            // A client that pings and reads nothing would have us hold its pongs.
            guard link.hasRoom(for: payload.count, limit: terms.outboundLimit) else {
                return link.channel.close(promise: nil)
            }
            link.pong(payload)
        case .pong, .fragment: break
        case .close(let code, let reason):
            phase = .closing
            peer.webSocketSaidGoodbye(code: code, reason: reason)
            link.answerClose(code)
        }
    }

    private func endFlood() {
        phase = .closing
        link.close(code: 1008, reason: "flood")
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // RFC 6455 §7.1.1: it ends in both directions at once.
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
        if event is ServerShutdownEvent { link.close(code: 1001, reason: "The server is going down.") }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
        if let turn { pings.remove(self, from: turn) }
        turn = nil
        if case .closed = phase { return }
        phase = .closed
        peer.webSocketClosed()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
