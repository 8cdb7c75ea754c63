import NIOCore
import NIOWebSocket

/// The receiving end of one WebSocket of the server.
final class WebSocketServerHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private enum Phase {
        case open
        /// We sent or received a close frame; whatever comes is dropped.
        case closing
    }

    private let connection: ServerConnection
    private let link: WebSocketLink
    private var assembler: WebSocketAssembler
    private var phase = Phase.open

    init(connection: ServerConnection, link: WebSocketLink, limit: Int) {
        self.connection = connection
        self.link = link
        self.assembler = WebSocketAssembler(limit: limit, expectsMask: true)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch phase {
        case .open: receive(assembler.receive(unwrapInboundIn(data)), context)
        case .closing: break
        }
    }

    private func receive(_ outcome: WebSocketAssembler.Outcome, _ context: ChannelHandlerContext) {
        switch outcome {
        case .nothing: break
        case .text(let bytes):
            do {
                deliver(try EngineIOPacket(textFrame: bytes[...]))
            } catch {
                end(.parseError("\(error)"))
            }
        case .binary(let bytes): deliver(.binary(bytes[...]))
        case .ping(let payload):
            var frame = ByteBuffer()
            WebSocketFraming.write(payload[...], opcode: .pong, into: &frame)
            context.writeAndFlush(NIOAny(frame), promise: nil)
        case .close(let code):
            phase = .closing
            var frame = ByteBuffer()
            let payload = code.map { WebSocketFraming.closePayload($0, "") } ?? []
            WebSocketFraming.write(payload[...], opcode: .connectionClose, into: &frame)
            context.writeAndFlush(NIOAny(frame), promise: nil)
            end(.transportClosed)
            context.close(promise: nil)
        case .violation(let code, let text):
            end(code == 1009 ? .payloadTooLarge : .transportError(text))
        }
    }

    private func deliver(_ packet: EngineIOPacket) {
        let link = link
        connection.run { $0.webSocketReceived(packet, on: link) }
    }

    private func end(_ reason: EngineIOCloseReason) {
        phase = .closing
        let link = link
        connection.run { $0.webSocketEnded(link, because: reason) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.transportClosed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength: end(.payloadTooLarge)
        case is NIOWebSocketError: end(.transportError("malformed WebSocket frame"))
        default:
            end(.transportClosed)
            context.close(promise: nil)
        }
    }
}
