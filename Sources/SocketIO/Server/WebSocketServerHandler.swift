import NIOCore

/// The receiving end of one WebSocket of the server: bytes in, packets to the session.
final class WebSocketServerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private enum Phase {
        case open
        /// A close frame or a fault came; whatever follows is dropped.
        case closing
    }

    private let connection: ServerConnection
    private let link: WebSocketLink
    /// Whether the session lives on this channel's loop; only one that began by polling may not.
    private let isLocal: Bool
    private var reader: WebSocketReader
    private var phase = Phase.open
    private let reads = ReadsInTurn()

    init(connection: ServerConnection, link: WebSocketLink, limit: Int) {
        self.connection = connection
        self.link = link
        isLocal = link.channel.eventLoop === connection.context.loop
        self.reader = WebSocketReader(side: .server, limit: limit)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reads.take(unwrapInboundIn(data)) { receive($0) }
    }

    private func receive(_ buffer: ByteBuffer) {
        guard case .open = phase else { return }
        do throws(WebSocketFault) {
            try reader.receive(buffer.readableBytesSpan) { received($0) }
        } catch {
            switch error {
            case .tooLarge: end(.payloadTooLarge)
            case .notUTF8: end(.malformedText)
            case .violation(let text): end(.transportError(text))
            }
        }
    }

    private func received(_ message: WebSocketReader.Message) {
        // What came in one piece with the end of the connection came too late.
        guard case .open = phase else { return }
        let link = link
        switch message {
        case .text(let bytes):
            do throws(EngineIOPacketError) {
                deliver(try EngineIOPacket(textFrame: bytes[...]))
            } catch {
                end(.parseError("\(error)"))
            }
        case .binary(let bytes): deliver(.binary(bytes[...]))
        case .ping(let payload): connection.run { $0.webSocketPinged(payload, on: link) }
        case .pong, .fragment: connection.run { $0.webSocketFrameArrived(on: link) }
        case .close(let code, _):
            link.answerClose(code)
            end(.transportClosed)
        }
    }

    private func deliver(_ packet: EngineIOPacket) {
        if isLocal { return connection.webSocketReceived(packet, on: link) }
        let link = link
        connection.run { $0.webSocketReceived(packet, on: link) }
    }

    private func end(_ reason: EngineIOCloseReason) {
        phase = .closing
        let link = link
        connection.run { $0.webSocketEnded(link, because: reason) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // RFC 6455 §7.1.1: it ends in both directions at once.
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.transportClosed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(.transportClosed)
        context.close(promise: nil)
    }
}
